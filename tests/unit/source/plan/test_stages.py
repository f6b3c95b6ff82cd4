from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.engine.definition import is_definition
from kro_gitops.errors import UserError
from kro_gitops.metadata import DEPENDS_ON, WAVE
from kro_gitops.source.files.manifests import read
from kro_gitops.source.plan.stages import (
    ObjectKey,
    Order,
    Stage,
    definition_waves,
    deletion_order,
    depends_on,
    generated_kind,
    object_order,
    stage_of,
    wave_of,
)
from kube_objects.refs import Kind, KubeObject, ObjectRef

EXAMPLES = Path(__file__).parents[4] / "examples" / "repo" / "rgds"


def definition(name: str, *uses: str, kind: str = "", group: str = "") -> KubeObject:
    """Return a definition that generates a kind of its own name, and uses kinds of others."""
    schema: dict[str, Any] = {"apiVersion": "v1alpha1", "kind": kind or name.title()}
    if group:
        schema["group"] = group
    return {
        "apiVersion": "kro.run/v1alpha1",
        "kind": "ResourceGraphDefinition",
        "metadata": {"name": name},
        "spec": {
            "schema": schema,
            "resources": [
                {"id": f"r{number}", "template": {"apiVersion": "kro.run/v1alpha1", "kind": used}}
                for number, used in enumerate(uses)
            ],
        },
    }


def thing(
    name: str, kind: str = "v1 ConfigMap", namespace: str = "prod", **said: str
) -> KubeObject:
    """Return an object; `wave` and `after` are its annotations."""
    keys = {"wave": WAVE, "after": DEPENDS_ON}
    metadata: dict[str, Any] = {
        "name": name,
        "annotations": {keys[word]: text for word, text in said.items()},
    }
    if namespace:
        metadata["namespace"] = namespace
    version, kind = kind.split()
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def names(layers: tuple[tuple[ObjectRef, ...], ...]) -> list[list[str]]:
    return [[ref.name for ref in layer] for layer in layers]


def codes(order: Order) -> dict[str, str]:
    return {ref.name: problem.code for ref, problem in order.problems}


@pytest.mark.parametrize(
    ("kind", "stage"),
    [
        ("v1 Namespace", Stage.NAMESPACES),
        ("apiextensions.k8s.io/v1 CustomResourceDefinition", Stage.NAMESPACES),
        ("rbac.authorization.k8s.io/v1 ClusterRole", Stage.NAMESPACES),
        ("scheduling.k8s.io/v1 PriorityClass", Stage.NAMESPACES),
        ("storage.k8s.io/v1 StorageClass", Stage.NAMESPACES),
        ("kro.run/v1alpha1 ResourceGraphDefinition", Stage.DEFINITIONS),
        ("kro.run/v1alpha1 WebApp", Stage.OBJECTS),
        ("example.io/v1 Namespace", Stage.OBJECTS),
        ("v1 ConfigMap", Stage.OBJECTS),
        ("admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", Stage.OBJECTS),
    ],
)
def test_kinds_have_stages(kind: str, stage: Stage) -> None:
    assert stage_of(Kind.of(*kind.split())) is stage


def test_a_definition_says_what_it_generates() -> None:
    assert generated_kind(definition("shop")) == Kind("kro.run", "v1alpha1", "Shop")
    own = definition("shop", group="shops.example")
    assert generated_kind(own) == Kind("shops.example", "v1alpha1", "Shop")
    assert generated_kind({"spec": {"schema": {"kind": 3}}}) is None
    assert generated_kind({}) is None


def test_the_examples_come_in_the_order_they_need_each_other() -> None:
    files = [(file.name, file.read_bytes()) for file in sorted(EXAMPLES.glob("*.yaml"))]
    found = [each.object for each in read(files).manifests if is_definition(each.object)]
    waves = definition_waves(found)
    assert waves.cycles == ()
    where = {ref.name: number for number, wave in enumerate(waves.waves) for ref in wave}
    assert len(where) == len(found)
    assert where["shop"] > where["database"]
    assert where["shop"] > where["webapp"]


def test_definitions_wait_for_the_kinds_they_use() -> None:
    waves = definition_waves(
        [definition("top", "Middle", "Base"), definition("middle", "Base"), definition("base")]
    )
    assert names(waves.waves) == [["base"], ["middle"], ["top"]]
    needs = {ref.name: {each.name for each in needed} for ref, needed in waves.needs.items()}
    assert needs == {"top": {"middle", "base"}, "middle": {"base"}, "base": set()}


def test_an_external_reference_is_a_use() -> None:
    reader = definition("reader")
    external = {"apiVersion": "kro.run/v1beta1", "kind": "Base", "metadata": {"name": "x"}}
    reader["spec"]["resources"] = [{"id": "base", "externalRef": external}]
    assert names(definition_waves([reader, definition("base")]).waves) == [["base"], ["reader"]]


def test_a_kind_of_another_group_is_another_kind() -> None:
    waves = definition_waves([definition("a", "Base"), definition("base", group="other.io")])
    assert names(waves.waves) == [["a", "base"]]


def test_a_ring_of_definitions_is_shown_as_a_path() -> None:
    waves = definition_waves(
        [
            definition("a", "B"),
            definition("b", "C"),
            definition("c", "A"),
            definition("behind", "A"),
            definition("free"),
        ]
    )
    assert names(waves.cycles) == [["a", "b", "c", "a"]]
    assert names(waves.waves) == [["free"]]


def test_a_definition_that_uses_its_own_kind_waits_for_nobody() -> None:
    waves = definition_waves([definition("a", "A")])
    assert names(waves.waves) == [["a"]]
    assert waves.cycles == ()


def test_of_two_that_claim_a_kind_the_first_makes_it() -> None:
    found = definition_waves(
        [definition("one", kind="X"), definition("two", kind="X"), definition("user", "X")]
    )
    assert names(found.waves) == [["one", "two"], ["user"]]
    assert {ref.name for ref in found.needs[found.waves[1][0]]} == {"one"}


@pytest.mark.parametrize(
    "broken",
    [
        {"spec": {"resources": [3, {"template": {"apiVersion": [], "kind": {}}}]}},
        {"spec": None},
        {},
    ],
)
def test_a_broken_definition_is_ordered_all_the_same(broken: KubeObject) -> None:
    broken = {**definition("broken"), **broken}
    assert names(definition_waves([broken, definition("a")]).waves) == [["a", "broken"]]


def test_without_annotations_there_is_one_layer_in_the_order_of_kinds() -> None:
    objects = [
        thing("hook", "admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration", ""),
        thing("front", "kro.run/v1alpha1 WebApp"),
        thing("api", "apps/v1 Deployment"),
        thing("b"),
        thing("a"),
        thing("z", namespace="dev"),
        thing("robot", "v1 ServiceAccount"),
    ]
    order = object_order(objects)
    assert names(order.layers) == [["robot", "z", "a", "b", "api", "front", "hook"]]
    assert order.problems == ()


def test_nothing_is_no_layer() -> None:
    assert object_order([]) == Order()


def test_waves_come_one_after_the_other() -> None:
    order = object_order(
        [
            thing("later", wave="10"),
            thing("now"),
            thing("zero", wave="0"),
            thing("first", wave="-1"),
        ]
    )
    assert names(order.layers) == [["first"], ["now", "zero"], ["later"]]


def test_an_object_waits_for_those_it_depends_on() -> None:
    order = object_order(
        [
            thing("app", after="ConfigMap/prod/db, ConfigMap/prod/cache"),
            thing("cache", after="ConfigMap/prod/db"),
            thing("db"),
            thing("free"),
        ]
    )
    assert names(order.layers) == [["db", "free"], ["cache"], ["app"]]


def test_to_depend_on_an_earlier_wave_or_stage_adds_no_layer() -> None:
    namespace = ObjectRef(Kind("", "v1", "Namespace"), "", "prod")
    order = object_order(
        [
            thing("app", wave="1", after="ConfigMap/prod/db,Namespace/prod"),
            thing("other", wave="1"),
            thing("db"),
        ],
        earlier=[namespace],
    )
    assert names(order.layers) == [["db"], ["app", "other"]]


def test_a_later_wave_cannot_be_waited_for() -> None:
    order = object_order([thing("app", after="ConfigMap/prod/db"), thing("db", wave="1")])
    assert names(order.layers) == [["db"]]
    [(ref, problem)] = order.problems
    assert (ref.name, problem.code) == ("app", "later-dependency")
    assert "at least wave 1" in problem.hint


def test_a_ring_of_objects_is_shown_as_a_path_and_blocks_what_is_behind_it() -> None:
    order = object_order(
        [
            thing("a", after="ConfigMap/prod/b"),
            thing("b", after="ConfigMap/prod/a"),
            thing("behind", after="ConfigMap/prod/a"),
            thing("self", after="ConfigMap/prod/self"),
            thing("free"),
        ]
    )
    assert names(order.layers) == [["free"]]
    assert codes(order) == {
        "a": "object-cycle",
        "b": "object-cycle",
        "behind": "blocked-dependency",
        "self": "object-cycle",
    }
    texts = {problem.summary for _, problem in order.problems}
    ring = "ConfigMap prod/a -> ConfigMap prod/b -> ConfigMap prod/a"
    assert f"objects wait for each other: {ring}" in texts


@pytest.mark.parametrize("wave", ["two", "", "1.5", "1e3", "9" * 30])
def test_a_wave_is_a_whole_number(wave: str) -> None:
    order = object_order([thing("a", wave=wave), thing("b")])
    assert codes(order) == {"a": "invalid-wave"}
    assert names(order.layers) == [["b"]]
    with pytest.raises(UserError, match="not a whole number"):
        wave_of(thing("a", wave=wave))


def test_problems_stand_at_their_annotation() -> None:
    [(_, problem)] = object_order([thing("a", wave="x")]).problems
    assert problem.spot.path == ("metadata", "annotations", WAVE)
    [(_, problem)] = object_order([thing("a", after="x")]).problems
    assert problem.spot.path == ("metadata", "annotations", DEPENDS_ON)


def test_dependencies_are_named_as_people_write_kinds() -> None:
    written = (
        "Deployment.apps/prod/api, Secret/prod/key,\n  ClusterRole.rbac.authorization.k8s.io/x,"
    )
    assert depends_on(thing("a", after=written)) == (
        ObjectKey("apps", "Deployment", "prod", "api"),
        ObjectKey("", "Secret", "prod", "key"),
        ObjectKey("rbac.authorization.k8s.io", "ClusterRole", "", "x"),
    )
    assert depends_on(thing("a")) == ()


@pytest.mark.parametrize(
    "text", ["api", "/prod/api", "a/b/c/d", "Secret/", "Secret/prod/", "A b/c"]
)
def test_a_dependency_that_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="names no object") as caught:
        depends_on(thing("a", after=text))
    assert caught.value.code == "invalid-depends-on"
    assert codes(object_order([thing("a", after=text)])) == {"a": "invalid-depends-on"}


def test_an_unknown_dependency_is_refused_with_what_is_near() -> None:
    order = object_order(
        [thing("app", after="deployment.apps/prod/api"), thing("api", "apps/v1 Deployment")]
    )
    [(_, problem)] = order.problems
    assert problem.code == "unknown-dependency"
    assert problem.hint == "did you mean Deployment.apps/prod/api?"


def test_another_source_is_waited_for_in_another_way() -> None:
    [(_, problem)] = object_order([thing("app", after="Secret/vault/key")]).problems
    assert "spec.dependsOn" in problem.hint


def test_a_text_that_a_key_prints_is_one_it_is_read_from() -> None:
    for key in (ObjectKey("apps", "Deployment", "prod", "api"), ObjectKey("", "Node", "", "n")):
        assert depends_on(thing("a", after=str(key))) == (key,)


def test_many_rings_leave_nobody_without_a_word() -> None:
    objects = [
        thing(f"{number}-{side}", after=f"ConfigMap/prod/{number}-{other}")
        for number in range(30)
        for side, other in (("a", "b"), ("b", "a"))
    ]
    order = object_order(objects)
    assert order.layers == ()
    assert len(order.problems) == len(objects)


def test_deletion_goes_backwards_and_passes_over_nonsense() -> None:
    layers = deletion_order(
        [
            thing("base", wave="-1"),
            thing("db"),
            thing("app", after="ConfigMap/prod/db, ConfigMap/prod/stays"),
            thing("odd", wave="x"),
            thing("ring-a", after="ConfigMap/prod/ring-b"),
            thing("ring-b", after="ConfigMap/prod/ring-a"),
        ]
    )
    assert names(layers) == [["app"], ["ring-b", "ring-a", "odd", "db"], ["base"]]


_NAMES = st.sampled_from("abcdefgh")


@st.composite
def _objects(draw: st.DrawFn) -> list[KubeObject]:
    found = []
    for name in draw(st.lists(_NAMES, unique=True, min_size=1)):
        said = {}
        if draw(st.booleans()):
            said["wave"] = str(draw(st.integers(-2, 2)))
        if draw(st.booleans()):
            said["after"] = ",".join(f"ConfigMap/prod/{n}" for n in draw(st.lists(_NAMES)))
        found.append(thing(name, **said))
    return found


@given(_objects())
def test_every_object_is_in_one_layer_or_has_a_problem(objects: list[KubeObject]) -> None:
    order = object_order(objects)
    listed = [ref for layer in order.layers for ref in layer]
    listed += [ref for ref, _ in order.problems]
    assert sorted(listed) == sorted(map(ObjectRef.of, objects))


@given(_objects())
def test_layers_obey_waves_and_dependencies(objects: list[KubeObject]) -> None:
    layers = object_order(objects).layers
    where = {ref.name: number for number, layer in enumerate(layers) for ref in layer}
    for obj in objects:
        name = obj["metadata"]["name"]
        if name in where:
            assert all(where[key.name] < where[name] for key in depends_on(obj))
            for other in objects:
                earlier = wave_of(other) < wave_of(obj) and other["metadata"]["name"] in where
                assert not earlier or where[other["metadata"]["name"]] < where[name]


@given(_objects(), st.randoms())
def test_the_order_of_files_does_not_matter(objects: list[KubeObject], random: Any) -> None:
    shuffled = list(objects)
    random.shuffle(shuffled)
    assert object_order(shuffled) == object_order(objects)


@given(_objects())
def test_deletion_forgets_nobody(objects: list[KubeObject]) -> None:
    layers = deletion_order(objects)
    assert sorted(ref for layer in layers for ref in layer) == sorted(map(ObjectRef.of, objects))
