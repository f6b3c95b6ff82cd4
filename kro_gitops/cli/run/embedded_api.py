"""
The embedded API of a `run`, started as a process of its own.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from kro_gitops.cli.messages import say
from kro_gitops.local.api_process import (
    EmbeddedApi,
    EmbeddedApiOptions,
    Workloads,
    default_folder,
    run_embedded_api,
)
from kro_gitops.local.files import expand_home
from kro_gitops.settings.settings import Settings


@contextmanager
def embedded_api(settings: Settings, meanwhile: Callable[[], object]) -> Iterator[EmbeddedApi]:
    """Start an embedded API and print its address; `meanwhile` is called while it starts."""
    folder, snapshot = None, settings.snapshot
    if not settings.ephemeral:
        named = settings.data_dir
        folder = expand_home(named) if named else default_folder(os.environ, Path.home())
    workloads: Workloads | None = None
    if settings.embedded_workloads:
        workloads = Workloads(settings.embedded_step, outcomes=dict(settings.embedded_outcome))
    wanted = EmbeddedApiOptions(
        folder,
        settings.embedded_host,
        settings.embedded_port,
        workloads,
        expand_home(snapshot) if snapshot else None,
    )
    with run_embedded_api(wanted, meanwhile) as api:
        say(announcement(api.url, folder, os.environ))
        say(f"for kubectl: export KUBECONFIG={typed_path(api.kubeconfig)}")
        yield api


def announcement(url: str, folder: Path | None, environment: Mapping[str, str]) -> str:
    """Return a line about the API in use, and the cluster that is not."""
    kept = f"data in {short_path(folder)}" if folder else "data is discarded at the end"
    unused = "no cluster is accessed"
    if environment.get("KUBECONFIG"):
        unused = "KUBECONFIG is set but ignored: use --kubeconfig or --context for a cluster"
    return f"embedded API at {url}, {kept}; {unused}"


def short_path(path: Path) -> str:
    """Format a path with `~` for the home directory."""
    home, whole = Path.home(), path.absolute()
    return f"~/{whole.relative_to(home)}" if whole.is_relative_to(home) else str(whole)


def typed_path(path: Path) -> str:
    """Format a path for a shell; `~` is expanded only outside of quotes."""
    short = short_path(path)
    home = "~/" if short.startswith("~/") else ""
    return home + shlex.quote(short.removeprefix("~/"))
