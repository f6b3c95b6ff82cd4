"""Somebody with few rights, who can be given more while a test runs."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.e2e.scenarios.controllers import install
from tests.rights import Kubectl
from tools.cluster.plane import Plane

if TYPE_CHECKING:
    from kube_objects.refs import KubeObject

_RBAC = "rbac.authorization.k8s.io"
_PLACE = "default"

# What a controller needs whatever its definitions are about.
OWN_WORK = (
    {
        "apiGroups": ["kro.run", "internal.kro.run", "apiextensions.k8s.io", "events.k8s.io"],
        "resources": ["*"],
        "verbs": ["*"],
    },
    {"nonResourceURLs": ["*"], "verbs": ["get"]},
)


def rule(group: str, resource: str, *verbs: str) -> dict[str, Any]:
    """Write one right; without verbs it is every verb."""
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs) or ["*"]}


class Account:
    """A service account and what it may do."""

    def __init__(self, plane: Plane, name: str) -> None:
        self.name = name
        self._plane = plane

    def may(self, rules: Sequence[dict[str, Any]]) -> None:
        """Let it do this, and nothing else."""
        role: KubeObject = {"apiVersion": f"{_RBAC}/v1", "kind": "ClusterRole"}
        role |= {"metadata": {"name": self.name}, "rules": list(rules)}
        subject = {"kind": "ServiceAccount", "name": self.name, "namespace": _PLACE}
        binding = {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": self.name},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": self.name},
            "subjects": [subject],
        }
        place = {"name": self.name, "namespace": _PLACE}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": place}
        install(self._plane.kubeconfig, [account, role, binding])

    def kubeconfig(self, folder: Path) -> Path:
        """Return a kubeconfig with its rights."""
        admin = Kubectl(self._plane.kubeconfig)
        token = admin("create", "token", self.name, f"--namespace={_PLACE}").strip()
        config = json.loads(self._plane.kubeconfig.read_text())
        config["users"][0]["user"] = {"token": token}
        written = folder / f"{self.name}.kubeconfig"
        written.touch(mode=0o600)
        written.write_text(json.dumps(config))
        return written
