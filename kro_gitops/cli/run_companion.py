"""
What `run` does beside the controllers: show how far everything is, say when it is ready, end with
`--once`, and see whether the embedded API is still there.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from kro_gitops.app.companions import Running
from kro_gitops.cli.exits import PROBLEMS
from kro_gitops.cli.output import Style
from kro_gitops.cli.progress import Picture, reasons, summary, verdict
from kro_gitops.cli.progress_reading import Watcher
from kro_gitops.cli.run_views import Nothing, View, printed, shown_by
from kro_gitops.errors import KroGitopsError
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import ObjectRef

_SOON, _LATE = 0.3, 5.0  # seconds between two looks: while things change, and when nothing does
_SHARE = 5  # a look takes at most a fifth of the time
_PULSE = 0.2  # seconds between two looks at the embedded API
_GREEN, _RED = "32", "31"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is wanted of a run."""

    once: bool
    timeout: float  # seconds, with `once`
    expected: ObjectRef | None  # the source that must be there before anything is over
    check: Callable[[], None]  # raises when the embedded API has ended
    advice: Callable[[Picture], str]  # how to look around, when all is ready
    follows: bool = True  # sources are worked on, so they can be asked to look


class RunCompanion:
    """Accompanies one run."""

    def __init__(self, plan: Plan, view: View | None) -> None:
        self._plan = plan
        self._is_watching = view is not None  # or nobody looks
        self._view = view or Nothing()
        self._picture = Picture()
        self._changed = 0.0
        self._is_told = False
        self._found: bool | None = None  # whether all is well, as soon as that is known
        self._trouble = ""  # why the last look failed
        self.ending = ""  # what is to be printed when all has stopped

    async def accompany(self, running: Running) -> int:
        """Stay until the end, and return the exit code."""
        works = (shown_by(self._view, self._until_the_end(running)), self._guard())
        tasks = tuple(map(asyncio.create_task, works))
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return await done.pop()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def _guard(self) -> int:
        while True:
            self._plan.check()
            await asyncio.sleep(_PULSE)

    async def _until_the_end(self, running: Running) -> int:
        if not self._is_watching:
            await asyncio.Event().wait()
        begun, is_good = _now(), False
        with suppress(TimeoutError):
            async with asyncio.timeout(self._plan.timeout if self._plan.once else None):
                is_good = await self._follow(running)
        seconds = f"{_now() - begun:.1f} s"
        self.ending = ending(self._picture, seconds, self._plan.advice, is_good=is_good)
        if self._trouble and not is_good:
            self.ending += f"the cluster could not be read: {printable(self._trouble)}\n"
        return 0 if is_good else PROBLEMS

    async def _follow(self, running: Running) -> bool:
        """Look again and again; with `once`, return whether all is well when that is known."""
        watcher, pause, asked = Watcher(running.cluster, running.discovery), _SOON, False
        while True:
            begun = _now()
            try:
                if self._plan.once and self._plan.follows and not asked:
                    await watcher.ask(_request())
                    asked = True
                is_same = await self._look(watcher, running)
                pause = min(pause * 1.5, _LATE) if is_same and not self._plan.once else _SOON
            except KroGitopsError as error:
                # Our kinds may not be served yet, the API may be busy: the next look will tell.
                self._trouble = error.full_text
            if self._found is not None and self._plan.once:
                return self._found
            await asyncio.sleep(max(pause, (_now() - begun) * _SHARE))

    async def _look(self, watcher: Watcher, running: Running) -> bool:
        """Look once; say whether everything is as before."""
        was_idle = running.is_idle()
        is_same = self._take(await watcher.look())
        self._trouble = ""
        self._found = self._outcome(is_idle=was_idle and running.is_idle())
        if self._found and not self._plan.once:
            self._tell_ready()
        return is_same

    def _take(self, picture: Picture) -> bool:
        """Take in what was seen; say whether it is as before."""
        is_same = picture.items == self._picture.items and self._changed > 0
        if not is_same:
            self._changed = _now()
        self._picture = picture
        self._view.show(picture)
        return is_same

    def _outcome(self, *, is_idle: bool) -> bool | None:
        expected = self._plan.expected
        if expected is not None and all(each.ref != expected for each in self._picture.sources):
            return None
        found = verdict(self._picture, _now() - self._changed)
        # What was ready in another life of the controllers may not be any more.
        return None if found and not is_idle else found

    def _tell_ready(self) -> None:
        if not self._is_told and self._picture.items:
            self._is_told = True
            self._view.tell(f"ready: {summary(self._picture)}\n{self._plan.advice(self._picture)}")


def ending(
    picture: Picture, seconds: str, advice: Callable[[Picture], str], *, is_good: bool
) -> str:
    """Say how it ended; the tree first, because people read the end."""
    if not picture.items:
        what = "there is nothing to reconcile" if is_good else f"nothing was there after {seconds}"
        return f"{what}: --repo names a repository to follow\n"
    colour, word = (_GREEN, "ready") if is_good else (_RED, "not ready")
    lines = [Style(sys.stdout).paint(f"{word} after {seconds}: {summary(picture)}", colour)]
    lines += [advice(picture)] if is_good else map(printable, reasons(picture))
    return printed(picture) + "\n" + "".join(f"{line}\n" for line in lines if line)


def _request() -> str:
    return datetime.now(UTC).isoformat()  # to the microsecond: no two are the same


def _now() -> float:
    return asyncio.get_running_loop().time()
