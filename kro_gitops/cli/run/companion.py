"""
Runs beside the controllers: shows the progress, prints when everything is ready, ends `--once`,
and checks that the embedded API is still running.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from kro_gitops.app.companions import ControllerView
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.messages import Style
from kro_gitops.cli.run.progress import ClusterState, outcome, reasons, rows, summary
from kro_gitops.cli.run.views import NoView, View
from kro_gitops.cli.run.watcher import Watcher
from kro_gitops.cli.tables import TREE_HEADER, flatten, format_table, guides_for
from kro_gitops.errors import KroGitopsError
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import ObjectRef

_POLL_INTERVAL = 0.3  # seconds between two reads while something changes
_MAX_POLL_INTERVAL = 5.0  # when nothing does
_READ_SHARE = 5  # reading takes at most a fifth of the time
_CHECK_INTERVAL = 0.2  # seconds between two checks of the embedded API
_GREEN, _RED = "32", "31"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run is asked to do."""

    once: bool
    timeout: float  # seconds, with `once`
    expected: ObjectRef | None  # the source that must exist before anything can be over
    check: Callable[[], None]  # raises when the embedded API has ended
    advice: Callable[[ClusterState], str]  # the next commands, when everything is ready
    follows: bool = True  # sources are reconciled, so they can be asked to sync


class RunCompanion:
    """Accompanies one run."""

    def __init__(self, plan: Plan, view: View | None) -> None:
        self._plan = plan
        self._is_watching = view is not None
        self._view = view or NoView()
        self._state = ClusterState()
        self._changed = 0.0
        self._is_announced = False
        self._is_good: bool | None = None  # whether all is ready, as soon as that is known
        self._trouble = ""  # why the last read failed
        self.ending = ""  # to be printed when everything has stopped

    async def accompany(self, running: ControllerView) -> int:
        """Stay until the end, and return the exit code."""
        works = (self._show(running), self._check_api())
        tasks = tuple(map(asyncio.create_task, works))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return await done.pop()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _check_api(self) -> int:
        while True:
            self._plan.check()
            await asyncio.sleep(_CHECK_INTERVAL)

    async def _show(self, running: ControllerView) -> int:
        """Read again and again; with `once`, return when it is known whether all is ready."""
        if not self._is_watching:
            await asyncio.Event().wait()
        begun, is_good = _now(), False
        watcher = Watcher(running.cluster, running.discovery)
        pause, is_requested = _POLL_INTERVAL, False
        with self._view.running(), suppress(TimeoutError):
            async with asyncio.timeout(self._plan.timeout if self._plan.once else None):
                while True:
                    started = _now()
                    try:
                        if self._plan.once and self._plan.follows and not is_requested:
                            # To the microsecond: no two requests are the same.
                            await watcher.request_sync(datetime.now(UTC).isoformat())
                            is_requested = True
                        is_same = await self._read(watcher, running)
                        is_quiet = is_same and not self._plan.once
                        pause = min(pause * 1.5, _MAX_POLL_INTERVAL) if is_quiet else _POLL_INTERVAL
                    except KroGitopsError as error:
                        # Our kinds may not be served yet, or the API may be busy: read again.
                        self._trouble = error.full_text
                    if self._plan.once and self._is_good is not None:
                        is_good = self._is_good
                        break
                    await asyncio.sleep(max(pause, (_now() - started) * _READ_SHARE))
        seconds = f"{_now() - begun:.1f} s"
        self.ending = ending(self._state, seconds, self._plan.advice, is_good=is_good)
        if self._trouble and not is_good:
            self.ending += f"the cluster could not be read: {printable(self._trouble)}\n"
        return 0 if is_good else PROBLEMS

    async def _read(self, watcher: Watcher, running: ControllerView) -> bool:
        """Read once and show it; return whether everything is as before."""
        was_idle = running.is_idle()
        state = await watcher.read()
        is_same = state.items == self._state.items and self._changed > 0
        if not is_same:
            self._changed = _now()
        self._state, self._trouble = state, ""
        self._view.show(state)
        found = outcome(state, _now() - self._changed)
        expected = self._plan.expected
        is_missing = expected is not None and all(each.ref != expected for each in state.sources)
        # What was ready in an earlier run of the controllers may not be any more.
        is_stale = found and not (was_idle and running.is_idle())
        self._is_good = None if is_missing or is_stale else found
        if self._is_good and not self._plan.once and not self._is_announced and state.items:
            self._is_announced = True
            self._view.tell(f"ready: {summary(state)}\n{self._plan.advice(state)}")
        return is_same


def ending(
    state: ClusterState, seconds: str, advice: Callable[[ClusterState], str], *, is_good: bool
) -> str:
    """Format the result of a run; the tree comes first, because the last lines are read first."""
    if not state.items:
        what = "there is nothing to reconcile" if is_good else f"no objects after {seconds}"
        return f"{what}: --repo names a repository to follow\n"
    lines = flatten(rows(state, datetime.now(UTC)), guides_for(sys.stdout.encoding))
    tree = format_table(TREE_HEADER, lines) if lines else ""
    colour, word = (_GREEN, "ready") if is_good else (_RED, "not ready")
    text = [Style(sys.stdout).paint(f"{word} after {seconds}: {summary(state)}", colour)]
    text += (
        [advice(state)] if is_good else map(printable, reasons(state, is_short=sys.stdout.isatty()))
    )
    return tree + "\n" + "".join(f"{line}\n" for line in text if line)


def _now() -> float:
    return asyncio.get_running_loop().time()
