"""
Ask real controllers how they roll out: ``python -m tools.record_rollouts KUBECONFIG FILE``.

The control plane should have kube-controller-manager, but neither scheduler nor nodes: the script
(tests/unit/apiserver/workloads/rollout_script.py) says itself which pods are ready. The file is
JSON, compressed with zlib.
"""

import argparse
import json
import time
import zlib
from pathlib import Path
from typing import Any

from tests.unit.apiserver.workloads import rollout_script as script
from tools.record_patches import Api


class RealCluster:
    """A cluster that is asked over HTTP."""

    def __init__(self, api: Api) -> None:
        self._api = api

    @staticmethod
    def _path(bucket: str, name: str = "") -> str:
        plural, _, group = bucket.partition(".")
        root = f"/apis/{group}/v1" if group else "/api/v1"
        path = f"{root}/namespaces/{script.NAMESPACE}/{plural}"
        return f"{path}/{name}" if name else path

    def add(self, bucket: str, obj: dict[str, Any]) -> None:
        """Create an object."""
        code, answer = self._api.ask("POST", self._path(bucket), obj)
        if code != 201:
            raise SystemExit(answer["message"])

    def change(self, bucket: str, name: str, spec: dict[str, Any]) -> None:
        """Merge into an object's spec."""
        self._api.ask("PATCH", self._path(bucket, name), {"spec": spec}, "merge")

    def set_status(self, bucket: str, name: str, status: dict[str, Any]) -> None:
        """Merge into an object's status."""
        path = f"{self._path(bucket, name)}/status"
        self._api.ask("PATCH", path, {"status": status}, "merge")

    def all(self, bucket: str) -> list[dict[str, Any]]:
        """Return the objects of a bucket."""
        found: list[dict[str, Any]] = self._api.ask("GET", self._path(bucket))[1]["items"]
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
        self._api.ask("DELETE", f"{self._path(bucket, name)}?propagationPolicy=Foreground")
        while self.all("pods") or self.all("replicasets.apps") or self.all(bucket):
            time.sleep(0.3)


def main() -> None:
    """Record, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    api = Api(arguments.kubeconfig)
    api.ask("POST", "/api/v1/namespaces", {"metadata": {"name": script.NAMESPACE}})
    time.sleep(2)
    cluster = RealCluster(api)
    try:
        found = {
            "deployments": [list(script.roll_deployment(cluster, *e)) for e in script.DEPLOYMENTS],
            "statefulsets": [
                list(script.roll_stateful_set(cluster, *each)) for each in script.STATEFUL_SETS
            ],
        }
    finally:
        api.ask("DELETE", f"/api/v1/namespaces/{script.NAMESPACE}")
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    arguments.file.write_bytes(zlib.compress(text.encode(), 9))


if __name__ == "__main__":
    main()
