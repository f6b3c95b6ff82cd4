"""`explain`: the status of an instance, the child that blocks it, and what to do."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from textwrap import wrap

from kro_gitops.cli.argument_types import Target
from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.instances import find_instances
from kro_gitops.cli.messages import Style, style_of
from kro_gitops.cli.tables import format_data
from kro_gitops.engine.applyset import GroupKind
from kro_gitops.errors import UserError
from kro_gitops.inspect.explain.explanation import (
    Case,
    Explanation,
    blockers,
    explain,
    explain_definition,
    troubled_pods,
)
from kro_gitops.inspect.views.instances import by_kind_made, grow, text_at
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject

_WIDTH = 100
_BOLD = "1"
_DEFINITION = (
    *("rgd", "resourcegraphdefinition", "resourcegraphdefinitions"),
    "resourcegraphdefinitions.kro.run",
)


def run(args: argparse.Namespace) -> int:
    """Print the explanation; the exit code is 1 unless the instance is healthy."""

    async def work(session: Session) -> int:
        listed = await session.reading.definitions()
        if args.target.kind.lower() in _DEFINITION:
            by_name = {each["metadata"]["name"]: each for each in listed}
            if args.target.name not in by_name:
                text = f"there is no definition '{args.target.name}'"
                hint = f"there are: {', '.join(by_name) or 'none'}"
                raise UserError("no-such-object", text, hint=hint)
            found = explain_definition(by_name[args.target.name], datetime.now(UTC))
        else:
            found = explain(await read_case(session, listed, args.target))
        if args.output == "text":
            sys.stdout.write(explanation_text(found, style_of(args)))
        else:
            sys.stdout.write(format_data(found.to_json(), args.output))
        return 0 if found.is_healthy else PROBLEMS

    return run_on_cluster(args, work)


async def read_case(session: Session, listed: list[KubeObject], target: Target) -> Case:
    """Read the tree of an instance, then pods and events of the objects that block it."""
    reading = session.reading
    found = await find_instances(session, listed, target)
    (instance,) = found.objects
    definitions = by_kind_made(listed)
    tree = grow(instance, await reading.family([instance], definitions), definitions)
    troubled = [branch.object for branch in blockers(tree)]
    pods = await _by_uid(reading.pods, troubled)
    about = [
        instance,
        *troubled,
        *troubled_pods(pod for listed in pods.values() for pod in listed),
    ]
    events = await _by_uid(reading.events, [] if tree.is_healthy else about)
    definition = definitions.get(GroupKind.of(found.offer.resource.kind))
    return Case(tree, found.offer.full_name, definition, datetime.now(UTC), events, pods)


async def _by_uid(
    read: Callable[[KubeObject], Awaitable[list[KubeObject]]], objects: list[KubeObject]
) -> dict[str, list[KubeObject]]:
    """Read something about each of some objects, concurrently."""
    uids = [text_at(obj, "metadata", "uid") for obj in objects]
    return dict(zip(uids, await asyncio.gather(*map(read, objects)), strict=True))


def explanation_text(found: Explanation, style: Style) -> str:
    """Format an explanation; one line is enough for an instance that is healthy."""
    if found.is_healthy:
        return "\n".join(wrap(printable(found.headline), _WIDTH)) + "\n"
    lines = [style.paint(printable(found.headline), _BOLD)]
    for section in found.sections:
        lines += ["", style.paint(printable(section.title), _BOLD)]
        lines += [f"  {printable(line)}" for line in section.lines]
    lines += ["", style.paint("What to do next", _BOLD)]
    lines += [f"  {number}. {printable(step)}" for number, step in enumerate(found.steps, 1)]
    return "\n".join(lines) + "\n"
