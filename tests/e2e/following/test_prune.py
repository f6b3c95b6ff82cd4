"""
What is deleted because git no longer has it, what is not, and what holds it back.
"""

from typing import Any

from kro_gitops.metadata import PRUNE, PRUNE_APPROVED
from kube_objects.refs import Kind, KubeObject, ObjectRef
from tests.e2e.following.objects import edit, marked, named, placed, stays
from tests.e2e.following.world import SourceWorld, config_map
from tests.e2e.scenarios.world import condition

NAMESPACE = Kind("", "v1", "Namespace")
ALLOWED = "Clean up\n\nkro-gitops: allow-prune\n"


def maps(*numbers: int) -> dict[str, KubeObject]:
    """Build a file for each of some ConfigMaps."""
    return {f"{number}.yaml": config_map(f"m{number}", number=str(number)) for number in numbers}


def without(*numbers: int) -> dict[str, None]:
    """Leave their files out."""
    return {f"{number}.yaml": None for number in numbers}


async def left(world: SourceWorld, *numbers: int) -> None:
    """Fail unless exactly these of ten ConfigMaps are there."""
    found = [n for n in range(10) if await world.find(named(world, f"m{n}"))]
    assert found == list(numbers)


async def following(world: SourceWorld, count: int, **spec: Any) -> None:
    """Follow a repository of some ConfigMaps."""
    world.commit({**maps(*range(count)), "README.md": "x"})
    await world.follow(**spec)
    await world.ready()


def types(source: KubeObject) -> set[str]:
    return {each["type"] for each in source["status"]["conditions"]}


# Brakes


async def test_many_deletions_at_once_are_held_back_until_a_commit_says_so(
    world: SourceWorld,
) -> None:
    await following(world, 10)
    commit = world.commit(without(*range(6)))
    source = await world.reported("PruneBlocked", commit=commit)
    said = condition(source, "PruneBlocked")["message"]
    assert "6 of 10" in said
    assert "kro-gitops: allow-prune" in said
    assert source["status"]["phase"] == "Degraded"
    assert source["status"]["history"][0]["pruned"] == 0
    await left(world, *range(10))
    source = await world.ready(world.commit({"README.md": "y"}, ALLOWED))
    await left(world, *range(6, 10))
    assert "PruneBlocked" not in types(source)
    assert source["status"]["history"][0]["pruned"] == 6


async def test_few_deletions_are_not_held_back(world: SourceWorld) -> None:
    await following(world, 10)
    await world.ready(world.commit(without(*range(5))))  # half, but not more than five
    await left(world, *range(5, 10))


async def test_what_is_put_back_into_git_releases_the_brake(world: SourceWorld) -> None:
    await following(world, 10)
    world.commit(without(*range(6)))
    await world.reported("PruneBlocked")
    source = await world.ready(world.commit(maps(*range(6))))
    assert "PruneBlocked" not in types(source)
    await left(world, *range(10))


async def test_a_source_sets_its_own_brake(world: SourceWorld) -> None:
    await following(world, 4, maxPrune={"percent": 10, "count": 1})
    world.commit(without(0, 1))
    await world.reported("PruneBlocked", text="2 of 4")
    await left(world, 0, 1, 2, 3)
    await world.respec(maxPrune={"percent": 50, "count": 1})  # both must be exceeded
    await world.ready()
    await left(world, 2, 3)


async def test_an_empty_repository_may_be_meant(world: SourceWorld) -> None:
    await following(world, 10, allowEmpty=True)
    await world.ready(world.commit(without(*range(10))))
    await left(world)


# Objects that say no

NO = {
    "ours": {"annotations": {PRUNE: "disabled"}},
    "argocd": {"annotations": {"argocd.argoproj.io/sync-options": "Validate=false, Prune=false"}},
    "flux": {"annotations": {"kustomize.toolkit.fluxcd.io/prune": "disabled"}},
    "flux-label": {"labels": {"kustomize.toolkit.fluxcd.io/prune": "disabled"}},
    "helm": {"annotations": {"helm.sh/resource-policy": "keep"}},
}


async def test_objects_that_do_not_want_to_be_pruned_stay(world: SourceWorld) -> None:
    objects = [marked(config_map(f"in-git-{name}"), **marks) for name, marks in NO.items()]
    plain = [config_map(f"by-hand-{name}") for name in NO]
    world.commit({"a.yaml": objects, "b.yaml": plain, "c.yaml": config_map("c")})
    await world.follow()
    await world.ready()
    for name, marks in NO.items():
        await edit(world, named(world, f"by-hand-{name}"), {"metadata": marks})
    source = await world.ready(world.commit({"a.yaml": None, "b.yaml": None}, ALLOWED))
    for name in NO:
        for how in ("in-git", "by-hand"):
            assert await world.find(named(world, f"{how}-{name}")), (how, name)
    warnings = {each["object"].rpartition("/")[2]: each for each in source["status"]["warnings"]}
    assert len(warnings) == 2 * len(NO)
    assert {each["code"] for each in warnings.values()} == {"kept"}
    assert "helm.sh/resource-policy: keep" in warnings["in-git-helm"]["message"]
    assert source["status"]["inventory"]["objects"] == 2 * len(NO) + 1


async def test_a_deletion_that_must_be_approved_waits_for_it(world: SourceWorld) -> None:
    world.commit(
        {"a.yaml": marked(config_map("a", color="blue"), annotations={PRUNE: "confirm"}), **maps(1)}
    )
    await world.follow()
    await world.ready()
    commit = world.commit({"a.yaml": None})
    source = await world.ready(commit)
    [warning] = source["status"]["warnings"]
    assert f"{PRUNE_APPROVED}: {commit}" in warning["message"]
    await edit(world, named(world, "a"), {"metadata": {"annotations": {PRUNE_APPROVED: "0" * 40}}})
    await stays(world, named(world, "a"), {"color": "blue"})
    await edit(world, named(world, "a"), {"metadata": {"annotations": {PRUNE_APPROVED: commit}}})
    await world.gone(named(world, "a"))

    async def told() -> None:
        assert "warnings" not in (await world.ready(commit))["status"]

    await world.until(told)


async def test_a_source_may_leave_everything(world: SourceWorld) -> None:
    await following(world, 3, prune=False)
    await world.ready(world.commit(without(0)))
    await left(world, 0, 1, 2)
    await world.respec(prune=True)
    await world.gone(named(world, "m0"))
    await left(world, 1, 2)


# Definitions and namespaces


async def test_a_definition_goes_after_its_last_instance(world: SourceWorld) -> None:
    world.commit({"shop.yaml": world.shop(), "front.yaml": world.front(), **maps(1)})
    await world.follow()
    await world.ready()
    by_hand = await world.create(world.front("by-hand"))
    await world.settled(by_hand)
    world.commit({"shop.yaml": None, "front.yaml": None})
    await world.gone(world.front())

    async def kept() -> None:
        [warning] = (await world.ready())["status"]["warnings"]
        assert warning["object"].endswith(f"shop-{world.token}")
        assert "1 instances of its kind are left" in warning["message"]

    await world.until(kept)
    assert await world.settled(by_hand)
    await world.delete(by_hand)
    await world.gone(world.shop())
    source = await world.ready()
    assert "warnings" not in source["status"]


async def test_a_namespace_stays_unless_it_says_otherwise(world: SourceWorld) -> None:
    names = [f"{world.namespace}-{word}" for word in ("stays", "goes")]
    spaces: list[KubeObject] = [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in names
    ]
    spaces[1] = marked(spaces[1], annotations={PRUNE: "enabled"})
    world.commit({"spaces.yaml": spaces, **maps(1)})
    await world.follow()
    await world.ready()
    world.commit({"spaces.yaml": None})

    async def decided() -> None:
        stays, goes = [await world.find(ObjectRef(NAMESPACE, "", name)) for name in names]
        assert stays is not None
        assert "deletionTimestamp" not in stays["metadata"]
        assert goes is None or "deletionTimestamp" in goes["metadata"]
        found = await world.get(world.source_ref())
        [warning] = found["status"]["warnings"]
        assert f"{PRUNE}: enabled" in warning["message"]

    await world.until(decided)
    for name in names:
        await world.delete(ObjectRef(NAMESPACE, "", name))


# What must never be deleted


async def test_a_file_that_cannot_be_read_prunes_nothing(world: SourceWorld) -> None:
    await following(world, 4)
    commit = world.commit({"0.yaml": "a: [1,\n", "1.yaml": None})
    source = await world.reported("Ready", "False", commit=commit)
    assert source["status"]["failures"][0]["file"] == "0.yaml"
    assert [each["code"] for each in source["status"]["warnings"]] == ["prune-postponed"]
    await left(world, 0, 1, 2, 3)
    await world.ready(world.commit(maps(0)))
    await left(world, 0, 2, 3)


async def test_an_object_made_anew_by_others_is_not_ours(world: SourceWorld) -> None:
    await following(world, 4)
    await world.respec(suspend=True)
    await world.reported("Suspended")
    former = await world.get(named(world, "m0"))
    await world.delete(named(world, "m0"))
    await world.gone(named(world, "m0"))
    again = placed(world, "m0", number="mine")
    for section in ("labels", "annotations"):  # as `kubectl replace --force` does
        again["metadata"][section] = former["metadata"][section]
    made = await world.create(again)
    world.commit(without(0, 1))
    await world.respec(suspend=False)
    await world.gone(named(world, "m1"))
    source = await world.ready()
    found = await world.get(named(world, "m0"))
    assert found["metadata"]["uid"] == made["metadata"]["uid"]
    assert source["status"]["inventory"]["objects"] == 2


async def test_a_path_that_leads_nowhere_prunes_nothing(world: SourceWorld) -> None:
    world.commit({"apps/a.yaml": config_map("a"), "other/b.yaml": config_map("b")})
    await world.follow(paths=["apps"])
    await world.ready()
    world.repository.move("apps", "app")
    await world.reported("Ready", "False", text="apps")
    assert await world.find(named(world, "a")) is not None
