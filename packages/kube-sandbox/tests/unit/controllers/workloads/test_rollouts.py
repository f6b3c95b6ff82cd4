"""Rollouts, step by step as the real controllers did them."""

import json
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from sandbox_testing import rollout_script as script
from sandbox_testing.simulated_cluster import World

from kube_sandbox.controllers.client_interface import Target
from kube_sandbox.controllers.workloads.plan_steps import Settings

RECORDED = Path(__file__).parents[1] / "data" / "rollouts.json.zlib"


@cache
def recorded() -> Any:
    """Return what was recorded."""
    return json.loads(zlib.decompress(RECORDED.read_bytes()))


class PretendedCluster:
    """A cluster in which no node looks after pods."""

    def __init__(self) -> None:
        self.world = World(Settings(), nodes=False)

    def add(self, bucket: str, obj: dict[str, Any]) -> None:
        """Create an object."""
        obj["metadata"]["namespace"] = script.NAMESPACE
        self.world.create("test", bucket, obj)

    def change(self, bucket: str, name: str, spec: dict[str, Any]) -> None:
        """Merge into an object's spec."""
        found = self.world.find(bucket, name, script.NAMESPACE)
        self.world.change({**found, "spec": {**found["spec"], **spec}})

    def set_status(self, bucket: str, name: str, status: dict[str, Any]) -> None:
        """Merge into an object's status."""
        found = self.world.find(bucket, name, script.NAMESPACE)
        self.world.set_status("test", bucket, {**found, "status": status})

    def all(self, bucket: str) -> list[dict[str, Any]]:
        """Return the objects of a bucket."""
        return self.world.all(bucket)

    def rest(self) -> None:
        """Let everything happen that is due."""
        self.world.run(1)

    def clear(self, bucket: str, name: str) -> None:
        """Delete an object."""
        uid = self.world.find(bucket, name, script.NAMESPACE)["metadata"]["uid"]
        self.world.delete(bucket, Target(script.NAMESPACE, name, uid))
        self.rest()


def compare(steps: Iterator[Any], expected: list[Any]) -> None:
    """Compare what is seen, step by step."""
    for index, seen in enumerate(steps):
        assert json.loads(json.dumps(seen)) == expected[index], f"step {index}"


@pytest.mark.parametrize("case", range(len(script.DEPLOYMENTS)))
def test_deployments_roll_out_as_real_ones_do(case: int) -> None:
    expected = recorded()["deployments"][case]
    assert len(expected) > 5
    steps = list(script.roll_deployment(PretendedCluster(), *script.DEPLOYMENTS[case]))
    compare(iter(steps), expected)
    assert len(steps) == len(expected)


@pytest.mark.parametrize("case", range(len(script.STATEFUL_SETS)))
def test_stateful_sets_roll_out_as_real_ones_do(case: int) -> None:
    expected = recorded()["statefulsets"][case]
    steps = list(script.roll_stateful_set(PretendedCluster(), *script.STATEFUL_SETS[case]))
    compare(iter(steps), expected)
    assert len(steps) == len(expected)
