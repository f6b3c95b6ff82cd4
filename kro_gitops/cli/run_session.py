"""
One `run`: the embedded API if no cluster is named, the controllers, and what is shown of them.
"""

import logging
import os
import shlex
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO, cast

from kro_gitops.cli.exits import KILLED_BY
from kro_gitops.cli.output import say
from kro_gitops.settings.settings import LogFormat, Settings
from kro_gitops.telemetry import logs

if TYPE_CHECKING:
    from kro_gitops.cli.progress import Picture
    from kro_gitops.cli.run_companion import RunCompanion
    from kro_gitops.cli.run_views import View
    from kro_gitops.local.api_process import EmbeddedApi
    from kube_objects.refs import ObjectRef

log = logging.getLogger(__name__)

_SIGINT = 2


def run_session(settings: Settings) -> int:
    """Run until a signal says to stop, or `--once` has its outcome; return the exit code."""
    if not settings.is_embedded:
        return _run(settings, None)
    with _embedded(settings) as api:
        if not settings.ephemeral:
            from kro_gitops.cli.run_memory import with_memory

            settings = with_memory(settings, api.kubeconfig.parent)
        return _run(replace(settings, kubeconfig=api.kubeconfig), api)


def _run(settings: Settings, api: "EmbeddedApi | None") -> int:
    from kro_gitops.app.process import run as run_controllers

    stream, view = _view(settings)
    logs.configure(settings.log_format, settings.log_level, stream)
    _mention(settings.ignored)
    if view is None and api is None:
        return run_controllers(settings)
    companion = _companion(settings, api, view)
    try:
        code = run_controllers(settings, companion.accompany)
    finally:
        # The screen is gone with the companion.
        logs.configure(settings.log_format, settings.log_level, sys.stderr)
    sys.stdout.write(companion.ending)
    if code == KILLED_BY + _SIGINT and api is not None and not settings.ephemeral:
        say(f"stopped; everything is kept in {_short(api.kubeconfig.parent)}")
    return code


@contextmanager
def _embedded(settings: Settings) -> Iterator["EmbeddedApi"]:
    """Have an embedded API, and say so."""
    from kro_gitops.local.api_process import Wanted, Workloads, default_folder, serving
    from kro_gitops.settings.homes import at_home

    folder, snapshot = None, settings.snapshot
    if not settings.ephemeral:
        named = settings.data_dir
        folder = at_home(named) if named else default_folder(os.environ, Path.home())
    workloads: Workloads | None = None
    if settings.embedded_workloads:
        workloads = Workloads(settings.embedded_step, outcomes=dict(settings.embedded_outcome))
    wanted = Wanted(
        folder,
        settings.embedded_host,
        settings.embedded_port,
        workloads,
        at_home(snapshot) if snapshot else None,
    )
    with serving(wanted, _import_controllers) as api:
        say(announcement(api.url, folder, os.environ))
        yield api


def _import_controllers() -> None:
    """Import what takes longest, before it is needed."""
    import kro_gitops.app.process  # noqa: F401


def announcement(url: str, folder: Path | None, environment: Mapping[str, str]) -> str:
    """Say in a line what is used, and what is not."""
    kept = f"kept in {_short(folder)}" if folder else "gone when this ends"
    unused = "no cluster of yours is touched"
    if environment.get("KUBECONFIG"):
        unused = "KUBECONFIG is set and not used: --kubeconfig or --context names a cluster"
    return f"embedded API at {url}, {kept}; {unused}"


def _view(settings: Settings) -> "tuple[TextIO, View | None]":
    """Return where logs go, and what shows how far it is."""
    from kro_gitops.cli.run_views import Lines, Live
    from kro_gitops.cli.screen import Screen

    is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    # Who chooses a form of log wants to read the log.
    if is_terminal and settings.log_format is LogFormat.AUTO and "NO_COLOR" not in os.environ:
        screen = Screen(sys.stderr)
        live = Live(screen, sys.stderr, lambda: shutil.get_terminal_size().lines)
        return cast("TextIO", screen), live
    return sys.stderr, Lines() if settings.once or is_terminal else None


def _companion(
    settings: Settings, api: "EmbeddedApi | None", view: "View | None"
) -> "RunCompanion":
    from kro_gitops.cli.run_companion import Plan, RunCompanion

    def advice(picture: "Picture") -> str:
        return look_around(picture.plural, api.kubeconfig if api else None, settings)

    def check() -> None:
        if api is not None:
            api.check()

    expected = _expected(settings)
    plan = Plan(settings.once, settings.timeout, expected, check, advice, settings.sources)
    return RunCompanion(plan, view)


def _expected(settings: Settings) -> "ObjectRef | None":
    from kro_gitops.source.api import GIT_SOURCE_KIND
    from kube_objects.refs import ObjectRef

    if not settings.repo:
        return None
    return ObjectRef(GIT_SOURCE_KIND, settings.repo_namespace, settings.repo_name)


def look_around(plural: str, kubeconfig: Path | None, settings: Settings) -> str:
    """Say how to look at what is there."""
    verbs = [f"  kubectl get {plural} -A"] if plural else []
    verbs.append("  kro-gitops tree -A")
    if kubeconfig is None:
        return "\n".join(["look around:", *verbs])
    if settings.once and settings.ephemeral:
        return "nothing of it is kept; without --once it stays until Ctrl-C"
    head = "look around, in another terminal:"
    if settings.once:
        again = f" --data-dir {_typed(kubeconfig.parent)}" if settings.data_dir else ""
        head = f"look around: `kro-gitops run{again}` serves it again; then, in another terminal,"
    return "\n".join([head, f"  export KUBECONFIG={_typed(kubeconfig)}", *verbs])


def _short(path: Path) -> str:
    """Print a path as people write it."""
    home, whole = Path.home(), path.absolute()
    return f"~/{whole.relative_to(home)}" if whole.is_relative_to(home) else str(whole)


def _typed(path: Path) -> str:
    """Print a path as it can be typed into a shell; `~` is a home only if it is not quoted."""
    short = _short(path)
    home = "~/" if short.startswith("~/") else ""
    return home + shlex.quote(short.removeprefix("~/"))


def _mention(ignored: tuple[str, ...]) -> None:
    if ignored:
        log.info("flags of kro without effect", extra={"flags": ", ".join(ignored)})
