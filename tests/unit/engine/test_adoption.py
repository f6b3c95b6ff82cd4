"""What an instance may adopt is the decision of the platform; its annotation reaches less far."""

import pytest

from kro_gitops.engine.adoption import may_adopt
from kro_gitops.metadata import ADOPT
from kro_gitops.settings.option import AdoptionPolicy
from kube_objects.refs import Kind, KubeObject, ObjectRef

CONFIG_MAP = Kind("", "v1", "ConfigMap")
OWN = ObjectRef(CONFIG_MAP, "team", "own")
FOREIGN = ObjectRef(CONFIG_MAP, "kube-system", "loot")
WIDE = ObjectRef(Kind("rbac.authorization.k8s.io", "v1", "ClusterRole"), "", "admin")


def instance(*, asks: bool, namespace: str = "team") -> KubeObject:
    annotations = {ADOPT: "true"} if asks else {}
    metadata = {"name": "front", "namespace": namespace, "annotations": annotations}
    return {"apiVersion": "kro.run/v1", "kind": "Shop", "metadata": metadata}


@pytest.mark.parametrize("child", [OWN, FOREIGN, WIDE])
@pytest.mark.parametrize("asks", [True, False])
def test_the_policy_wins_over_the_annotation(child: ObjectRef, asks: bool) -> None:
    assert not may_adopt(AdoptionPolicy.NEVER, instance(asks=asks), child)
    assert may_adopt(AdoptionPolicy.ADOPT, instance(asks=asks), child)


def test_the_annotation_reaches_the_namespace_of_the_instance_only() -> None:
    asking = instance(asks=True)
    assert may_adopt(AdoptionPolicy.REFUSE, asking, OWN)
    assert not may_adopt(AdoptionPolicy.REFUSE, asking, FOREIGN)
    assert not may_adopt(AdoptionPolicy.REFUSE, asking, WIDE)
    assert not may_adopt(AdoptionPolicy.REFUSE, instance(asks=True, namespace=""), WIDE)
    assert not may_adopt(AdoptionPolicy.REFUSE, instance(asks=False), OWN)
