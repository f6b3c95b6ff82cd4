"""`explain`: the status of an instance, a definition or a source, its cause, and what to do."""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from itertools import chain
from textwrap import wrap

from kro_gitops.cli.argument_types import SourceName, Target
from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.instances import find_definition, find_instances
from kro_gitops.cli.messages import Style, style_of
from kro_gitops.cli.source_tree import source_branches
from kro_gitops.cli.sources import find_source
from kro_gitops.cli.tables import format_data
from kro_gitops.engine.applyset import GroupKind, has_inventory
from kro_gitops.errors import UserError
from kro_gitops.inspect.explain.causes import (
    controller_causes,
    definition_causes,
    deletion_causes,
    explain_command,
    held_back_causes,
    named_failures,
    rejection,
    source_causes,
)
from kro_gitops.inspect.explain.explanation import (
    Case,
    Explanation,
    Section,
    blockers,
    explain,
    explain_absent,
    explain_definition,
    troubled_pods,
)
from kro_gitops.inspect.explain.source_explanation import SourceCase, explain_source
from kro_gitops.inspect.kind_lookup import means_definition, means_source
from kro_gitops.inspect.views.instances import by_kind_made, grow, in_order, text_at
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject, ObjectRef

_WIDTH = 100
_BOLD = "1"


def run(args: argparse.Namespace) -> int:
    """Print the explanation; the exit code is 1 unless everything is healthy."""

    async def work(session: Session) -> int:
        if means_source(args.target.kind):
            found = await _explain_source(session, args.target.name)
        else:
            try:
                found = await _explain_object(session, args.target)
            except UserError as error:
                absent = await _explain_absent(session, args.target)
                if absent is None:
                    raise error from None
                found = absent
        if args.output == "text":
            sys.stdout.write(explanation_text(found, style_of(args)))
        else:
            sys.stdout.write(format_data(found.to_json(), args.output))
        return 0 if found.is_healthy else PROBLEMS

    return run_on_cluster(args, work)


async def _explain_object(session: Session, target: Target) -> Explanation:
    listed = await session.reading.definitions()
    if not means_definition(target.kind):
        return explain(await read_case(session, listed, target))
    definition, now = find_definition(listed, target.name), datetime.now(UTC)
    source, leases = await session.reading.source_of(definition), await session.reading.leases()
    causes = chain(
        source_causes(definition, source),
        deletion_causes(definition),
        held_back_causes(definition, source),
        controller_causes(definition, leases, now),
    )
    return explain_definition(definition, now, tuple(causes))


async def _explain_absent(session: Session, target: Target) -> Explanation | None:
    """Explain an object that does not exist, if a source rejected it."""
    for source in in_order(await session.reading.sources()):
        listed = named_failures(target.kind, target.name, session.namespace, source)
        if listed:
            steps = (f"see the whole source: {explain_command(source)}",)
            cause = rejection(ObjectRef.of(source).place, listed, *steps)
            return explain_absent(listed[0].object, [cause])
    return None


async def _explain_source(session: Session, name: str) -> Explanation:
    reading = session.reading
    source = await find_source(session, SourceName(name))
    tree = await source_branches(reading, source, by_kind_made(await reading.definitions()))
    branches = [part.branch for part in tree.parts if part.branch is not None]
    instances = [each for each in branches if has_inventory(each.object)]
    now = datetime.now(UTC)
    causes = controller_causes(source, await reading.leases(), now)
    case = SourceCase(
        source,
        now,
        tuple(branches),
        tuple(part.entry.label for part in tree.parts if part.branch is None),
        frozenset(text_at(each.object, "metadata", "uid") for each in instances),
        await reading.events(source),
        tuple(causes),
    )
    return explain_source(case)


async def read_case(session: Session, listed: list[KubeObject], target: Target) -> Case:
    """Read the tree of an instance, then pods and events of the objects that block it."""
    reading, now = session.reading, datetime.now(UTC)
    found = await find_instances(session, listed, target)
    (instance,) = found.objects
    definitions = by_kind_made(listed)
    tree = grow(instance, await reading.family([instance], definitions), definitions)
    definition = definitions.get(GroupKind.of(found.offer.resource.kind))
    source = await reading.source_of(instance)
    causes = chain(
        source_causes(instance, source),
        deletion_causes(instance),
        definition_causes(definition, await reading.source_of(definition or {})),
        held_back_causes(instance, source),
        controller_causes(instance, await reading.leases(), now),
    )
    listed_causes = tuple(causes)
    troubled = [branch.object for branch in blockers(tree)]
    pods = await _by_uid(reading.pods, troubled)
    about = [
        instance,
        *troubled,
        *troubled_pods(pod for listed in pods.values() for pod in listed),
    ]
    is_healthy = tree.is_healthy and not troubled and not listed_causes
    events = await _by_uid(reading.events, [] if is_healthy else about)
    return Case(tree, found.offer.full_name, definition, now, events, pods, listed_causes)


async def _by_uid(
    read: Callable[[KubeObject], Awaitable[list[KubeObject]]], objects: list[KubeObject]
) -> dict[str, list[KubeObject]]:
    """Read something about each of some objects, concurrently."""
    uids = [text_at(obj, "metadata", "uid") for obj in objects]
    return dict(zip(uids, await asyncio.gather(*map(read, objects)), strict=True))


def explanation_text(found: Explanation, style: Style) -> str:
    """Format an explanation: cause, next commands, details; one line if all is healthy."""
    if found.is_healthy:
        return "\n".join(wrap(printable(found.headline), _WIDTH)) + "\n"
    steps = tuple(f"{number}. {step}" for number, step in enumerate(found.steps, 1))
    first = (Section("Cause", found.cause), Section("What to do next", steps))
    lines = [style.paint(printable(found.headline), _BOLD)]
    for section in (*first, *found.sections):
        if section.lines:
            lines += ["", style.paint(printable(section.title), _BOLD)]
            lines += [f"  {printable(line)}" for line in section.lines]
    return "\n".join(lines) + "\n"
