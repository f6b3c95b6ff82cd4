"""
In which order the objects of one commit are applied, and what stands in the way of others.
"""

from typing import Any

from kube_objects.refs import KubeObject, ObjectRef
from tests.e2e.following.watching import holding, map_ref
from tests.e2e.following.world import SourceWorld, config_map

WAVE = "gitops.kro.run/wave"
DEPENDS_ON = "gitops.kro.run/depends-on"


def claim(name: str, **annotations: str) -> KubeObject:
    """Build an object that becomes healthy when a test says so."""
    storage = {"requests": {"storage": "1Mi"}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": storage},
    }


def marked(name: str, key: str, value: str) -> KubeObject:
    """Build a ConfigMap with an annotation."""
    made = config_map(name, a="1")
    made["metadata"]["annotations"] = {key: value}
    return made


async def bind(world: SourceWorld, name: str) -> None:
    """Let a claim be healthy."""
    ref = world.ref("v1", "PersistentVolumeClaim", name)
    await world.merge(ref, {"status": {"phase": "Bound"}}, subresource="status")


def using(world: SourceWorld, kind: str, used: str, name: str) -> KubeObject:
    """Build a definition of a kind whose instances make an instance of another kind."""
    body: dict[str, Any] = {
        "apiVersion": f"{world.group}/v1alpha1",
        "kind": used,
        "metadata": {"name": "${schema.metadata.name}"},
        "spec": {"color": "${schema.spec.color}"},
    }
    resources = [{"id": "inner", "template": body}]
    name = f"{name}-{world.token}"
    return world.definition(kind, {"color": "string"}, resources=resources, name=name)


async def test_a_definition_that_uses_the_kind_of_another(world: SourceWorld) -> None:
    # By its name, the one that is needed comes last.
    mall = using(world, "Mall", "Shop", "a-mall")
    instance = world.instance("Mall", "big", {"color": "green"})
    commit = world.commit({"a.yaml": [instance, mall], "z.yaml": world.shop()})
    await world.follow()
    source = await world.ready(commit)
    counts = source["status"]["inventory"]
    assert (counts["objects"], counts["definitions"], counts["instances"]) == (3, 2, 1)
    await world.data({"color": "green"}, "big")
    commit = world.commit({"a.yaml": None, "z.yaml": None, "keep.yaml": config_map("keep")})
    await world.gone(instance)
    await world.gone(mall)
    await world.gone(ObjectRef.of(world.shop()))
    await world.ready(commit)


async def test_definitions_in_a_ring_are_named_and_the_rest_is_applied(world: SourceWorld) -> None:
    one, other = using(world, "One", "Other", "one"), using(world, "Other", "One", "other")
    behind = using(world, "Behind", "One", "behind")
    commit = world.commit(
        {
            "ring.yaml": [one, other],
            "behind.yaml": behind,
            "instance.yaml": world.instance("Behind", "mine", {"color": "red"}),
            "map.yaml": config_map("map", a="1"),
        }
    )
    await world.follow()
    source = await world.reported("Ready", "False", text="need each other", commit=commit)
    ring = [each for each in source["status"]["failures"] if each["code"] == "definition-cycle"]
    [failure] = ring
    first, second = one["metadata"]["name"], other["metadata"]["name"]
    assert failure["message"].endswith(f"{first} → {second} → {first}")
    assert failure["file"] == "ring.yaml"
    told = "\n".join(each["message"] for each in source["status"]["failures"])
    assert behind["metadata"]["name"] in told
    await holding(world, "map", a="1")
    for definition in (one, other, behind):
        assert await world.find(definition) is None
    # The ring is opened: everything comes.
    commit = world.commit({"ring.yaml": [using(world, "One", "Shop", "one"), world.shop()]})
    await world.ready(commit)
    await world.data({"color": "red"}, "mine")


async def test_a_wave_waits_for_the_one_before(world: SourceWorld) -> None:
    commit = world.commit(
        {
            "a.yaml": marked("last", WAVE, "5"),
            "b.yaml": claim("middle", **{WAVE: "1"}),
            "c.yaml": claim("first"),
        }
    )
    await world.follow()
    waiting = "first: no volume is bound yet"
    await world.reported("Ready", "Unknown", text=waiting, commit=commit)
    assert await world.find(world.ref("v1", "PersistentVolumeClaim", "middle")) is None
    await bind(world, "first")
    await world.reported("Ready", "Unknown", text="middle: no volume is bound yet")
    assert await world.find(map_ref(world, "last")) is None
    await bind(world, "middle")
    source = await world.ready(commit)
    await holding(world, "last", a="1")
    assert source["status"]["inventory"]["ready"] == 3


async def test_an_object_waits_for_what_it_depends_on(world: SourceWorld) -> None:
    needed = f"PersistentVolumeClaim/{world.namespace}/needed"
    commit = world.commit(
        {
            "a.yaml": marked("late", DEPENDS_ON, needed),
            "b.yaml": claim("needed"),
            "c.yaml": config_map("free", a="1"),
        }
    )
    await world.follow()
    await holding(world, "free", a="1")
    await world.reported("Ready", "Unknown", text="needed: no volume", commit=commit)
    assert await world.find(map_ref(world, "late")) is None
    await bind(world, "needed")
    await world.ready(commit)
    await holding(world, "late", a="1")


async def test_what_depends_on_nothing_that_is_there_is_refused(world: SourceWorld) -> None:
    commit = world.commit(
        {
            "a.yaml": marked("lost", DEPENDS_ON, f"configmap/{world.namespace}/free"),
            "c.yaml": config_map("free", a="1"),
        }
    )
    await world.follow()
    hint = f"did you mean ConfigMap/{world.namespace}/free?"
    source = await world.reported("Ready", "False", text=hint, commit=commit)
    [failure] = source["status"]["failures"]
    assert (failure["code"], failure["file"], failure["line"]) == (
        "unknown-dependency",
        "a.yaml",
        6,
    )
    await holding(world, "free", a="1")
    assert await world.find(map_ref(world, "lost")) is None
