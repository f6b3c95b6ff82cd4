"""
Wait for a source by a watch, and show how it goes: on a terminal one line that changes, elsewhere
a line for each change. What is said, and when it ends, is decided in `web.source_waiting`.
"""

import argparse
import asyncio
import shutil
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import TextIO

from kro_gitops.cli.cluster_options import Session, style_of
from kro_gitops.cli.cluster_reading import refused
from kro_gitops.cli.exits import PROBLEMS
from kro_gitops.cli.output import Style, say
from kro_gitops.errors import ClusterUnavailable
from kro_gitops.inspect.views.instances import age
from kro_gitops.inspect.views.source_progress import Goal, Outcome, Seen, step, timed_out
from kro_gitops.kube.access_review import Permission
from kro_gitops.kube.api import EventType, Reader, Selection
from kro_gitops.kube.responses import Expired, Forbidden
from kro_gitops.telemetry.printable import columns, printable
from kube_objects.refs import KubeObject, ObjectRef

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
ASCII_FRAMES = "|/-\\"
TICK = 0.1  # seconds between two pictures
PAUSE = 1.0  # seconds before a watch that broke off is begun again
_START = datetime.min.replace(tzinfo=UTC)
_ERASE = "\r\x1b[K"
_GREEN, _RED, _BLUE = "32", "31", "34"


class Display:
    """What is shown while it lasts: a spinner on a terminal, lines in a log."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_live = stream.isatty()
        is_unicode = (stream.encoding or "").lower().replace("-", "") == "utf8"
        self._frames = FRAMES if is_unicode else ASCII_FRAMES
        self._text = ""

    def show(self, lines: tuple[str, ...], live: str) -> None:
        """Tell what changed."""
        self._text = printable(live)
        if not self._is_live:
            for line in lines:
                say(printable(line))

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Turn the spinner; whatever ends it, the line is left clean."""
        if not self._is_live:
            yield
            return
        spinning = asyncio.create_task(self._spin())
        try:
            yield
        finally:
            spinning.cancel()
            with suppress(asyncio.CancelledError):
                await spinning
            self._write(_ERASE)

    async def _spin(self) -> None:
        number = 0
        while True:
            self._write(_ERASE + self._picture(number))
            number += 1
            await asyncio.sleep(TICK)

    def _picture(self, number: int) -> str:
        width = shutil.get_terminal_size().columns - 3
        text = self._text
        while columns(text) > width:
            text = text[:-1]
        return f"{self._frames[number % len(self._frames)]} {text}"

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


async def wait_for(
    session: Session, args: argparse.Namespace, source: KubeObject, goal: Goal
) -> int:
    """Wait until a source is where it should be; print the outcome, return the exit code."""
    display = Display(sys.stderr)
    try:
        async with display.running():
            outcome = await _outcome(session.cluster, display, (source, goal), args.timeout)
    except Forbidden as error:
        ref = ObjectRef.of(source)
        resource = await session.reading.own_resource(ref.kind)
        raise refused(error, Permission("watch", resource, ref.namespace)) from None
    except asyncio.CancelledError:
        say(f"not waited for any longer; {ObjectRef.of(source).place} goes on in the cluster")
        raise
    sys.stdout.write(outcome_text(outcome, style_of(args)))
    return 0 if outcome.is_good else PROBLEMS


async def _outcome(
    cluster: Reader, display: Display, task: tuple[KubeObject, Goal], seconds: float
) -> Outcome:
    (last, goal), seen = task, Seen()
    try:
        async with asyncio.timeout(seconds), aclosing(follow(cluster, last)) as states:
            async for state in states:
                found = step(seen, goal, state)
                seen, last = found.seen, state or last
                display.show(found.lines, found.live)
                if found.outcome is not None:
                    return found.outcome
    except TimeoutError:
        pass
    return timed_out(last, age(_START, _START + timedelta(seconds=seconds)))


async def follow(cluster: Reader, source: KubeObject) -> AsyncGenerator[KubeObject | None, None]:
    """Give a source as it is, and each time it changes; `None` when it is gone."""
    ref, current = ObjectRef.of(source), source
    selection = Selection(ref.kind, ref.namespace, fields=f"metadata.name={ref.name}")
    yield current
    since = current["metadata"]["resourceVersion"]
    while True:
        try:
            async with cluster.watch(selection, since) as events:
                async for event in events:
                    since = event.resource_version
                    if event.type is not EventType.BOOKMARK:
                        yield None if event.type is EventType.DELETED else event.object
        except (Expired, ClusterUnavailable):
            await asyncio.sleep(PAUSE)
        # A watch ends after a while, or breaks off: what happened meanwhile is listed.
        with suppress(ClusterUnavailable):
            listing = await cluster.list(selection)
            since = listing.resource_version
            yield listing.items[0] if listing.items else None


def outcome_text(outcome: Outcome, style: Style) -> str:
    """Print how it ended."""
    colour = _GREEN if outcome.is_good else _RED
    lines = [style.paint(printable(outcome.headline), colour)]
    lines += map(printable, outcome.failures)
    if outcome.hint:
        lines.append(f"{style.paint('hint:', _BLUE)} {printable(outcome.hint)}")
    return "".join(f"{line}\n" for line in lines)
