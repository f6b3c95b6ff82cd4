"""
One `run`: the controllers, and the view of their progress.
"""

import json
import logging
import sys
from dataclasses import replace
from pathlib import Path
from signal import SIGINT
from typing import TextIO

from kro_gitops.app.process import run as run_controllers
from kro_gitops.cli.exit_codes import KILLED_BY
from kro_gitops.cli.messages import is_live, say
from kro_gitops.cli.run.companion import Plan, RunCompanion
from kro_gitops.cli.run.embedded_api import short_path, typed_path
from kro_gitops.cli.run.progress import ClusterState
from kro_gitops.cli.run.views import Lines, LiveView, View
from kro_gitops.local.api_process import EmbeddedApi
from kro_gitops.local.files import write_private
from kro_gitops.local.repositories import repository_url
from kro_gitops.settings.settings import LocalSource, LogFormat, Settings
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kro_gitops.telemetry import logs
from kube_objects.refs import ObjectRef

log = logging.getLogger(__name__)

_FOLLOWED_FOLDER = "followed-folder.json"


def run_session(settings: Settings, api: EmbeddedApi | None) -> int:
    """Run until a signal, or until `--once` has its outcome; return the exit code."""
    if api is not None:
        if not settings.ephemeral:
            settings = with_followed_folder(settings, api.kubeconfig.parent)
        settings = replace(settings, kubeconfig=api.kubeconfig)
    stream: TextIO = sys.stderr
    view: View | None = None
    # A user who chooses a log format wants to read the log.
    if settings.log_format is LogFormat.AUTO and is_live(sys.stderr):
        live = LiveView(sys.stderr)
        stream, view = live.log, live
    elif settings.once or sys.stderr.isatty():
        view = Lines()
    logs.configure(settings.log_format, settings.log_level, stream)
    if settings.ignored:
        log.info("flags of kro without effect", extra={"flags": ", ".join(settings.ignored)})
    if view is None and api is None:
        return run_controllers(settings)

    def advice(state: ClusterState) -> str:
        return next_commands(state.plural, api.kubeconfig if api else None, settings)

    def check() -> None:
        if api is not None:
            api.check()

    expected = None
    if settings.repo:
        expected = ObjectRef(GIT_SOURCE_KIND, settings.repo_namespace, settings.repo_name)
    plan = Plan(settings.once, settings.timeout, expected, check, advice, settings.sources)
    companion = RunCompanion(plan, view)
    try:
        code = run_controllers(settings, companion.accompany)
    finally:
        # The live view ends with the companion.
        logs.configure(settings.log_format, settings.log_level, sys.stderr)
    sys.stdout.write(companion.ending)
    if code == KILLED_BY + SIGINT and api is not None and not settings.ephemeral:
        say(f"stopped; the data is kept in {short_path(api.kubeconfig.parent)}")
    return code


def next_commands(plural: str, kubeconfig: Path | None, settings: Settings) -> str:
    """Return the commands to look at the objects with."""
    verbs = [f"  kubectl get {plural} -A"] if plural else []
    verbs.append("  kro-gitops tree -A")
    if kubeconfig is None:
        return "\n".join(["next:", *verbs])
    if settings.once and settings.ephemeral:
        return "the data is discarded; without --once it is served until Ctrl-C"
    head = "next, in another terminal:"
    if settings.once:
        again = f" --data-dir {typed_path(kubeconfig.parent)}" if settings.data_dir else ""
        head = f"next: `kro-gitops run{again}` serves it again; then, in another terminal,"
    return "\n".join([head, f"  export KUBECONFIG={typed_path(kubeconfig)}", *verbs])


def with_followed_folder(settings: Settings, folder: Path) -> Settings:
    """
    Store the local folder of `--repo` beside the store, or return settings with the stored one.

    Sources may not read local folders, except the one that the user named. A later run without
    `--repo` continues with the same source. The file is writable by the user only, so that no
    object or snapshot of another person can name a folder.
    """
    file = folder / _FOLLOWED_FOLDER
    if not settings.repo:
        try:
            found = json.loads(file.read_bytes())
            return replace(settings, remembered=LocalSource(found["source"], found["url"]))
        except (OSError, ValueError, TypeError, KeyError):
            return settings  # then it has to be named again
    url = repository_url(settings.repo)
    if url.startswith("file://"):
        place = f"{settings.repo_namespace}/{settings.repo_name}"
        write_private(file, json.dumps({"source": place, "url": url}).encode())
    else:
        file.unlink(missing_ok=True)
    return settings
