"""Where Go keeps the sources of Kubernetes, in the version that the catalogue describes."""

import subprocess
from argparse import ArgumentParser
from pathlib import Path

from kube_objects.builtins.catalog import catalog
from tools.cluster.parts import ToolError


def add_flag(parser: ArgumentParser) -> None:
    """Let people say where the modules are."""
    parser.add_argument("--modules", type=Path, help="where Go keeps modules, if it is not asked")


def module(modules: Path | None, name: str) -> Path:
    """Return the folder of a module of Kubernetes."""
    # The modules of a release are numbered alike, but only Kubernetes itself begins with 1.
    version = catalog.version if name == "kubernetes" else f"0.{catalog.version.partition('.')[2]}"
    found = (modules or module_cache()) / "k8s.io" / f"{name}@v{version}"
    if not found.is_dir():
        raise ToolError(f"{found} is missing; `go mod download` in tools/kube fetches it")
    return found


def module_cache() -> Path:
    """Return where Go keeps modules."""
    try:
        answer = subprocess.run(
            ["go", "env", "GOMODCACHE"], capture_output=True, check=True, text=True
        )
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        raise ToolError("Go is not installed (see https://go.dev/dl/)") from error
    return Path(answer.stdout.strip())
