"""
The plan of a rollback: requested from the controller, printed, confirmed.

Only the controller has the repository with its credentials, the state of the cluster and the
planners, so it plans; a user needs no more rights than those to pin the source.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Mapping
from contextlib import aclosing, suppress
from typing import Any

from kro_gitops.cli.cluster_session import Session
from kro_gitops.cli.confirmation import confirm
from kro_gitops.cli.messages import counted, say
from kro_gitops.cli.source_waiting import follow
from kro_gitops.cli.sources import change, place
from kro_gitops.cli.tables import Row, format_data, print_table
from kro_gitops.errors import KroGitopsError, UserError
from kro_gitops.inspect.views.rollback_plan import Planned, RollbackPlan, parse_plan
from kro_gitops.inspect.views.sources import short_revision
from kro_gitops.metadata import PLAN_REQUEST
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject

_TIMEOUT = 60.0  # seconds for the controller to answer
_HEADER = ("OBJECT", "ACTION", "MESSAGE")


async def planned(session: Session, source: KubeObject, fields: Mapping[str, Any]) -> RollbackPlan:
    """Have the controller plan a source with other fields of its spec; raise if it cannot."""
    id_ = str(time.time_ns())
    request = json.dumps({"id": id_, **fields})
    annotation = {"metadata": {"annotations": {PLAN_REQUEST: request}}}
    changed = await change(session, source, annotation)
    try:
        async with (
            asyncio.timeout(_TIMEOUT),
            aclosing(follow(session.cluster, changed)) as states,
        ):
            async for state in states:
                plan = parse_plan(state) if state is not None else None
                if state is None:
                    raise UserError("no-such-object", f"source {place(source)} was deleted")
                if plan is not None and plan.request == id_:
                    return plan
    except TimeoutError:
        pass
    finally:
        with suppress(KroGitopsError):
            nothing = {"metadata": {"annotations": {PLAN_REQUEST: None}}}
            await change(session, source, nothing)
    raise UserError(
        "no-plan",
        f"the controller returned no plan for {place(source)} within {_TIMEOUT:g} s",
        hint="is it running, does it watch this namespace, and is it of this version?",
    )


def confirmed(args: argparse.Namespace, source: KubeObject, plan: RollbackPlan) -> int | None:
    """Print a plan; return None if it is to be executed, else the exit code."""
    if plan.error_message:
        raise UserError("no-plan", f"there is no plan: {plan.error_message}")
    name = printable(place(source))
    if args.output != "text":
        sys.stdout.write(format_data(plan.data, args.output))
    elif plan.changes:
        print_table(_HEADER, rows_of(plan), args)
    for text in plan.failures:
        say(f"would fail: {printable(text)}")
    for text in plan.notes:
        say(f"note: {printable(text)}")
    revision = printable(short_revision(plan.revision))
    say(f"{name} at {revision}: {summary(plan)}")
    if args.dry_run:
        return 0
    is_harmless = not plan.deleted and not plan.failures
    if is_harmless and not sys.stdin.isatty():
        return None
    return confirm(args, "Continue?") or None


def summary(plan: RollbackPlan) -> str:
    """Return the numbers of a plan: `1 created, 2 changed, 0 deleted`."""
    text = f"{plan.created} created, {plan.changed} changed, {plan.deleted} deleted"
    return f"{text}, {counted(len(plan.failures), 'failure')}" if plan.failures else text


def rows_of(plan: RollbackPlan) -> list[Row]:
    """Return the rows of a plan: objects of the source, with children below their instance."""
    own = [each for each in plan.changes if each.instance is None]
    below: dict[tuple[str, ...], list[Planned]] = {}
    for each in plan.changes:
        if each.instance is not None:
            below.setdefault(each.instance.key, []).append(each)
    shown = {each.key for each in own}
    others = {
        each.instance.key: each.instance
        for each in plan.changes
        if each.instance is not None and each.instance.key not in shown
    }
    nested = {each.key for each in plan.changes if each.instance is not None}
    roots = [*own, *(each for key, each in others.items() if key not in nested)]
    rows = [_row(root, below, frozenset()) for root in roots]
    if plan.omitted:
        rows.append(Row((f"and {plan.omitted} more", "", "")))
    return rows


def _row(
    each: Planned, below: Mapping[tuple[str, ...], list[Planned]], above: frozenset[tuple[str, ...]]
) -> Row:
    inner = () if each.key in above else tuple(below.get(each.key, ()))
    rows = tuple(_row(child, below, above | {each.key}) for child in inner)
    place = f" in {each.namespace}" if each.namespace else ""
    message = "depends on the cluster" if each.is_uncertain else each.file
    return Row((f"{each.kind}/{each.name}{place}", each.action, message), rows)
