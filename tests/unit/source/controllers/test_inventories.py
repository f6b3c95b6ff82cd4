"""Shards and whose they are."""

from typing import cast

import pytest

from kro_gitops.engine.labels import label_value
from kro_gitops.kube.api import Cluster
from kro_gitops.kube.cache import Change
from kro_gitops.metadata import SOURCE_NAME
from kro_gitops.source.controllers.inventories import Inventories
from kube_objects.refs import KubeObject


def going(source: str) -> KubeObject:
    metadata = {
        "name": f"{source}-0",
        "namespace": "team",
        "labels": {SOURCE_NAME: label_value(source)},
        "deletionTimestamp": "2026-01-01T00:00:00Z",
    }
    return {"metadata": metadata}


@pytest.mark.parametrize("name", ["repo", "re.po", "r" * 250])
def test_a_shard_that_goes_stays_as_long_as_its_source(name: str) -> None:
    inventories = Inventories(cast("Cluster", None))  # nothing is asked
    shard = going(name)
    assert inventories.abandoned(Change(None, shard), [f"team/{name}"]) is None
    assert inventories.abandoned(Change(None, shard), [f"other/{name}"]) is shard
    assert inventories.abandoned(Change(None, shard), []) is shard
