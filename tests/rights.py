"""
Exactly the rights an installation gives the controller, as a kubeconfig.

    with controller_rights(plane, "aggregation", tmp_path, roles=[role]) as kubeconfig:
        ...

The service account, roles and bindings of `deploy/kustomize` (which are those of the chart) are
applied, and a token is asked for as a Pod's would be. Whoever uses the kubeconfig may do what the
controller may do in a cluster, and nothing else. `roles` are ClusterRoles that users add for their
definitions; with `aggregation` a control plane with controllers is needed, since one of them adds
roles up. Everything is taken away at the end.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from kube_objects.refs import KubeObject
from tools.cluster.commands import find_binary
from tools.cluster.plane import Plane
from tools.update_deploy import DEPLOY, NAMESPACE, RELEASE

CONTROLLER_ROLE = f"{RELEASE}:controller"
LIMIT = 30.0  # seconds until rights must have arrived

_RIGHTS = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")


@dataclass(frozen=True, slots=True)
class Kubectl:
    """The real kubectl, with the rights of a kubeconfig."""

    kubeconfig: Path

    def __call__(self, *words: str, stdin: str = "") -> str:
        """Run a command and return what it prints; say what it complained of if it fails."""
        done = self.attempt(*words, stdin=stdin)
        assert done.returncode == 0, f"kubectl {' '.join(words)}\n{done.stderr}"
        return done.stdout

    def attempt(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Run a command that may fail."""
        command = [find_binary("kubectl"), f"--kubeconfig={self.kubeconfig}", *words]
        return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)

    def may(self, verb: str, resource: str, *words: str) -> bool:
        """Ask whether we may."""
        return self.attempt("auth", "can-i", verb, resource, *words).stdout.strip() == "yes"


def overlay(mode: str) -> list[KubeObject]:
    """Render the kustomization of a mode of access."""
    folder = DEPLOY / "kustomize" / "overlays" / mode
    command = [find_binary("kubectl"), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return list(yaml.safe_load_all(done.stdout))


@contextmanager
def controller_rights(
    plane: Plane, mode: str, folder: Path, roles: Sequence[KubeObject] = ()
) -> Iterator[Path]:
    """Give a kubeconfig with the controller's rights, for as long as the block lasts."""
    admin = Kubectl(plane.kubeconfig)
    admin(*_apply(), stdin=_documents([obj for obj in overlay(mode) if obj["kind"] == "Namespace"]))
    granted = [*(obj for obj in overlay(mode) if obj["kind"] in _RIGHTS), *roles]
    admin(*_apply(), stdin=_documents(granted))
    try:
        token = admin("create", "token", RELEASE, f"--namespace={NAMESPACE}").strip()
        kubeconfig = _with_token(plane, token, folder / f"{mode}.kubeconfig")
        if mode == "aggregation":
            _wait(lambda: _adds_up(plane, granted))
        _wait(lambda: Kubectl(kubeconfig).may("list", "customresourcedefinitions"))
        yield kubeconfig
    finally:
        admin("delete", "--filename=-", "--wait=false", stdin=_documents(granted))


def _apply() -> tuple[str, ...]:
    return ("apply", "--server-side", "--force-conflicts", "--filename=-")


def _documents(objects: Sequence[KubeObject]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})


def _with_token(plane: Plane, token: str, path: Path) -> Path:
    """Write the administrator's kubeconfig for somebody else."""
    config: dict[str, Any] = json.loads(plane.kubeconfig.read_text())
    config["users"][0]["user"] = {"token": token}
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path


def _adds_up(plane: Plane, granted: Sequence[KubeObject]) -> bool:
    """Say whether the controller's role holds the rules of all roles that add to it."""
    role = plane.get(f"apis/rbac.authorization.k8s.io/v1/clusterroles/{CONTROLLER_ROLE}")
    (selector,) = role["aggregationRule"]["clusterRoleSelectors"]
    wanted = selector["matchLabels"].items()
    adding = [obj for obj in granted if wanted <= obj["metadata"].get("labels", {}).items()]
    found = role.get("rules") or []
    return all(rule in found for obj in adding for rule in obj["rules"])


def _wait(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, "the rights did not arrive"
        time.sleep(0.1)
