"""
Record how real controllers roll out.

The control plane has kube-controller-manager, but neither scheduler nor nodes: the script itself
(`rollout_script.py` of the sandbox tests) marks Pods as ready.

    python -m tools.recording.rollouts
"""

import time
from pathlib import Path
from typing import Any

from sandbox_testing import rollout_script as script

from tools.recording.client import MERGE_PATCH, Client, Json
from tools.recording.command import TESTS, command_line, run

FILE = TESTS / "controllers" / "data" / "rollouts.json.zlib"


class RealCluster:
    """A cluster that is asked over HTTP."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @staticmethod
    def _path(bucket: str, name: str = "") -> str:
        plural, _, group = bucket.partition(".")
        root = f"/apis/{group}/v1" if group else "/api/v1"
        path = f"{root}/namespaces/{script.NAMESPACE}/{plural}"
        return f"{path}/{name}" if name else path

    def add(self, bucket: str, obj: dict[str, Any]) -> None:
        """Create an object."""
        self._client.create(self._path(bucket), obj)

    def change(self, bucket: str, name: str, spec: dict[str, Any]) -> None:
        """Merge into an object's spec."""
        self._client.ask("PATCH", self._path(bucket, name), {"spec": spec}, MERGE_PATCH)

    def set_status(self, bucket: str, name: str, status: dict[str, Any]) -> None:
        """Merge into an object's status."""
        path = f"{self._path(bucket, name)}/status"
        self._client.ask("PATCH", path, {"status": status}, MERGE_PATCH)

    def all(self, bucket: str) -> list[dict[str, Any]]:
        """Return the objects of a bucket."""
        found: list[dict[str, Any]] = self._client.ask("GET", self._path(bucket)).body["items"]
        return found

    def rest(self) -> None:
        """Wait until nothing happens any more."""
        before: Any = None
        for _ in range(40):
            time.sleep(0.8)
            buckets = ("deployments.apps", "replicasets.apps", "statefulsets.apps", "pods")
            now = [each["metadata"]["resourceVersion"] for b in buckets for each in self.all(b)]
            if now == before:
                return
            before = now

    def clear(self, bucket: str, name: str) -> None:
        """Delete an object and all that it owns."""
        self._client.ask("DELETE", f"{self._path(bucket, name)}?propagationPolicy=Foreground")
        while self.all("pods") or self.all("replicasets.apps") or self.all(bucket):
            time.sleep(0.3)


def record(client: Client) -> dict[Path, Json]:
    """Return what is seen after each step."""
    with client.namespace(script.NAMESPACE):
        time.sleep(2)
        cluster = RealCluster(client)
        found = {
            "deployments": [list(script.roll_deployment(cluster, *e)) for e in script.DEPLOYMENTS],
            "statefulsets": [
                list(script.roll_stateful_set(cluster, *each)) for each in script.STATEFUL_SETS
            ],
        }
    return {FILE: found}


def main() -> None:
    """Record, and write the file."""
    run(record, command_line(__doc__).parse_args(), controllers=True)


if __name__ == "__main__":
    main()
