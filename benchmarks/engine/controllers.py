"""
The controllers that are measured: ours as it comes, and kro with its limits off.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import yaml

from benchmarks.peers.processes import ROOT, NotMeasuredError
from kube_objects.refs import KubeObject

OURS = "ours"
KRO = "kro"
WORKERS = 16


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a controller finds its cluster, and where it is found itself."""

    kubeconfig: Path
    metrics_port: int
    probe_port: int

    @property
    def ready_url(self) -> str:
        """Return where it says whether it is ready."""
        return f"http://127.0.0.1:{self.probe_port}/readyz"

    @property
    def arguments(self) -> list[str]:
        """Return what both controllers understand."""
        return [
            f"--kubeconfig={self.kubeconfig}",
            f"--metrics-bind-address=127.0.0.1:{self.metrics_port}",
            f"--health-probe-bind-address=127.0.0.1:{self.probe_port}",
        ]


def command_of(name: str, addresses: Addresses) -> list[str]:
    """Return the command line of a controller."""
    return _ours(addresses) if name == OURS else _kro(addresses)


def crds_of(name: str) -> list[KubeObject]:
    """Return the CRDs that come with a controller."""
    folder = (ROOT / "deploy" if name == OURS else kro_home()) / "crds"
    objects = [yaml.safe_load(path.read_bytes()) for path in sorted(folder.glob("*.yaml"))]
    found = [obj for obj in objects if obj["kind"] == "CustomResourceDefinition"]
    if not found:
        raise NotMeasuredError(f"there are no CRDs in {folder}")
    return found


def kro_home() -> Path:
    """Return where `tools/kro/build.sh` puts things."""
    default = Path.home() / ".cache" / "kro-gitops" / "kro"
    return Path(os.environ.get("KRO_HOME") or default)


def _ours(addresses: Addresses) -> list[str]:
    return [sys.executable, "-m", "kro_gitops", "run", *addresses.arguments]


def _kro(addresses: Addresses) -> list[str]:
    binary = kro_home() / "bin" / "kro-controller"
    if not binary.exists():
        raise NotMeasuredError(f"{binary} does not exist; tools/kro/build.sh builds it")
    unlimited = 100_000
    return [
        str(binary),
        *addresses.arguments,
        f"--dynamic-controller-concurrent-reconciles={WORKERS}",
        f"--client-qps={unlimited}",
        f"--client-burst={unlimited}",
        f"--dynamic-controller-rate-limiter-rate-limit={unlimited}",
        f"--dynamic-controller-rate-limiter-burst-limit={unlimited}",
        "--zap-log-level=error",  # as quiet as it can be had
    ]
