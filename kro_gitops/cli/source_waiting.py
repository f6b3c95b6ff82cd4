"""
Wait for a source with a watch, and show the progress: on a terminal one line that is updated,
elsewhere a line for each change. What is printed, and when it ends, is decided in
`web.source_waiting`.
"""

import argparse
import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, aclosing, nullcontext, suppress
from datetime import UTC, datetime, timedelta

from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from kro_gitops.cli.cluster_reading import rejected
from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.messages import Style, is_live, say, style_of
from kro_gitops.cli.terminal_tables import console_for
from kro_gitops.errors import ClusterUnavailable
from kro_gitops.inspect.views.instances import age
from kro_gitops.inspect.views.source_progress import Goal, Outcome, Seen, step, timed_out
from kro_gitops.kube.access_review import Permission
from kro_gitops.kube.api import EventType, Reader, Selection
from kro_gitops.kube.responses import Expired, Forbidden
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject, ObjectRef

_REFRESHES = 8  # per second
_RETRY_DELAY = 1.0  # seconds before a watch that broke off is started again
_EPOCH = datetime.min.replace(tzinfo=UTC)
_GREEN, _RED, _BLUE = "32", "31", "34"


async def wait_if_asked(
    session: Session, args: argparse.Namespace, source: KubeObject, goal: Goal
) -> int:
    """With --wait, wait until a source has reached a goal; print the outcome, return the code."""
    if not args.wait:
        return 0
    try:
        shows_live = is_live(sys.stderr, no_color=args.no_color)
        outcome = await _wait(session.cluster, source, goal, args.timeout, shows_live=shows_live)
    except Forbidden as error:
        ref = ObjectRef.of(source)
        resource = await session.reading.own_resource(ref.kind)
        raise rejected(error, Permission("watch", resource, ref.namespace)) from None
    except asyncio.CancelledError:
        say(f"stopped waiting; {ObjectRef.of(source).place} continues in the cluster")
        raise
    sys.stdout.write(outcome_text(outcome, style_of(args)))
    return 0 if outcome.is_good else PROBLEMS


async def _wait(
    cluster: Reader, source: KubeObject, goal: Goal, seconds: float, *, shows_live: bool
) -> Outcome:
    """Follow a source until the outcome is known or the time is up."""
    last, seen = source, Seen()
    text, begun = "", datetime.now(UTC)
    console = console_for(sys.stderr)
    spinner = Spinner("dots" if console.encoding.startswith("utf") else "line")

    def line() -> Spinner:
        shown = f"{text} · {age(begun, datetime.now(UTC))}"
        spinner.update(text=Text(shown, no_wrap=True, overflow="ellipsis"))
        return spinner

    live: AbstractContextManager[object] = (
        Live(
            get_renderable=line,
            console=console,
            transient=True,
            refresh_per_second=_REFRESHES,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        if shows_live
        else nullcontext()
    )
    with live:
        try:
            async with asyncio.timeout(seconds), aclosing(follow(cluster, last)) as states:
                async for state in states:
                    found = step(seen, goal, state)
                    seen, last, text = found.seen, state or last, printable(found.live)
                    for change in () if shows_live else found.lines:
                        say(printable(change))
                    if found.outcome is not None:
                        return found.outcome
        except TimeoutError:
            pass
    return timed_out(last, age(_EPOCH, _EPOCH + timedelta(seconds=seconds)))


async def follow(cluster: Reader, source: KubeObject) -> AsyncGenerator[KubeObject | None, None]:
    """Yield a source as it is and after each change; `None` when it is deleted."""
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
            await asyncio.sleep(_RETRY_DELAY)
        # A watch ends after a while, or breaks off: list to see what changed meanwhile.
        with suppress(ClusterUnavailable):
            listing = await cluster.list(selection)
            since = listing.resource_version
            yield listing.items[0] if listing.items else None


def outcome_text(outcome: Outcome, style: Style) -> str:
    """Format an outcome."""
    colour = _GREEN if outcome.is_good else _RED
    lines = [style.paint(printable(outcome.headline), colour)]
    lines += map(printable, outcome.failures)
    if outcome.hint:
        lines.append(f"{style.paint('hint:', _BLUE)} {printable(outcome.hint)}")
    return "".join(f"{line}\n" for line in lines)
