"""How many instances keep a definition from going."""

from kro_gitops.source.controllers.deletion import instance_counts
from kro_gitops.source.plan.prune import Candidate
from kro_gitops.source.plan.stages import Stage
from kube_objects.refs import Kind, KubeObject, ObjectRef

DEFINITION: KubeObject = {
    "apiVersion": "kro.run/v1alpha1",
    "kind": "ResourceGraphDefinition",
    "metadata": {"name": "shop", "uid": "1"},
    "spec": {"schema": {"apiVersion": "v1alpha1", "kind": "Shop", "group": "example.org"}},
}
SHOP = Kind("example.org", "v1alpha1", "Shop")


def candidate(obj: KubeObject, stage: Stage) -> Candidate:
    return Candidate(ObjectRef.of(obj), obj["metadata"]["uid"], stage, obj)


def instance(name: str) -> Candidate:
    metadata = {"name": name, "namespace": "shop", "uid": name}
    return candidate(
        {"apiVersion": SHOP.api_version, "kind": SHOP.kind, "metadata": metadata}, Stage.OBJECTS
    )


async def counted(instances: list[Candidate], known: int, there: int) -> tuple[int, bool]:
    """Return what is counted, and whether the cluster was asked."""
    asked: list[Kind] = []

    async def ask(kind: Kind) -> int:
        asked.append(kind)
        return there

    candidates = [candidate(DEFINITION, Stage.DEFINITIONS), *instances]
    counts = await instance_counts(candidates, lambda _: known, ask)
    return counts[SHOP], bool(asked)


async def test_instances_that_go_with_it_are_counted_without_asking() -> None:
    assert await counted([instance("a"), instance("b")], known=2, there=2) == (2, False)


async def test_instances_that_are_remembered_only_keep_no_definition() -> None:
    assert await counted([], known=2, there=0) == (0, True)


async def test_instances_that_nobody_told_of_keep_it() -> None:
    assert await counted([], known=0, there=3) == (3, True)


async def test_instances_of_others_keep_it() -> None:
    assert await counted([instance("a")], known=2, there=2) == (2, True)
