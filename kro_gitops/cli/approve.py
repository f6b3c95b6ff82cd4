"""`approve`: delete children, or objects of a source, that a limit keeps."""

import argparse
import sys
from collections.abc import Iterable, Mapping
from typing import Any

from kro_gitops.cli.argument_types import SourceName, Target
from kro_gitops.cli.cluster_reading import rejected
from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.instances import find_definition, find_instances
from kro_gitops.cli.messages import counted, say
from kro_gitops.cli.sources import MANAGER, find_source
from kro_gitops.engine.plan.prune_limit import PRUNE_BLOCKED, Held
from kro_gitops.inspect.kind_lookup import find_offer, means_definition, means_source
from kro_gitops.inspect.views.instances import kind_made_by
from kro_gitops.inspect.views.sources import commit_of, entries
from kro_gitops.kube.access_review import Permission
from kro_gitops.kube.api import MergePatch, WriteOptions
from kro_gitops.kube.responses import Forbidden
from kro_gitops.metadata import HELD_CHILDREN, PRUNE_APPROVED
from kro_gitops.telemetry.printable import printable
from kube_objects.conditions import parse_conditions
from kube_objects.refs import KubeObject, ObjectRef


def run(args: argparse.Namespace) -> int:
    """Show what would be deleted, ask, and write the approval."""

    async def work(session: Session) -> int:
        target: Target = args.target
        if means_source(target.kind):
            obj = await find_source(session, SourceName(target.name))
            value = commit_of(obj.get("status", {}).get("lastAttemptedRevision") or "")
            lines = []
            if text := _message(obj):
                lines = [text, *_lines(await _held_of_source(session, obj))]
            what = f"commit {value[:12]} of source {target.name}"
        elif means_definition(target.kind):
            obj, held = await _definition(session, target.name)
            value = max((each.revision for each in held.values()), default="")
            lines = list(_lines(held))
            what = f"{counted(_children(held), 'child')} for {value}".replace("childs", "children")
        else:
            listed = await session.reading.definitions()
            (obj,) = (await find_instances(session, listed, target)).objects
            held = {ObjectRef.of(obj): each} if (each := held_of(obj)) else {}
            value, lines = (each.token if each else ""), list(_lines(held))
            what = f"{counted(_children(held), 'child')} of {ObjectRef.of(obj)}"
            what = what.replace("childs", "children")
        if not value or not any(lines):
            say(f"{printable(str(ObjectRef.of(obj)))}: nothing waits for approval")
            return PROBLEMS
        for line in lines:
            print(printable(line))
        if not args.yes and not _confirmed(what):
            say("nothing was approved")
            return PROBLEMS
        await _approve(session, obj, value)
        say(f"approved: {printable(what)}; they are deleted now")
        return 0

    return run_on_cluster(args, work)


def held_of(instance: KubeObject) -> Held | None:
    """Return the children of an instance that wait for approval."""
    annotations = instance["metadata"].get("annotations") or {}
    return Held.parse(annotations.get(HELD_CHILDREN, ""))


async def _definition(session: Session, name: str) -> tuple[KubeObject, dict[ObjectRef, Held]]:
    """Return a definition, and what is held of its instances in all namespaces."""
    definition = find_definition(await session.reading.definitions(), name)
    offers = await session.reading.offers([definition])
    made = kind_made_by(definition)
    offer = find_offer(f"{made.kind}.{made.group}", offers)
    instances = await session.reading.objects([offer] if offer else [], "")
    found = {ObjectRef.of(each): held for each in instances if (held := held_of(each))}
    # What one instance alone may not lose is approved there.
    return definition, {ref: held for ref, held in found.items() if held.instances > 1}


async def _held_of_source(session: Session, source: KubeObject) -> dict[ObjectRef, Held]:
    """Return what is held of the instances that a source applied."""
    listed = entries(await session.reading.inventories(source))
    applied = await session.reading.applied(listed)
    return {ObjectRef.of(each): held for each in applied.values() if (held := held_of(each))}


def _lines(held: Mapping[ObjectRef, Held]) -> Iterable[str]:
    """Yield a line for each child that would be deleted."""
    for ref, each in sorted(held.items()):
        yield from (f"delete {child} of {ref}" for child in each.children)


def _children(held: Mapping[ObjectRef, Held]) -> int:
    return sum(len(each.children) for each in held.values())


def _message(source: KubeObject) -> str:
    found = (each for each in parse_conditions(source) if each.type == PRUNE_BLOCKED)
    return next((each.message or "" for each in found), "")


def _confirmed(what: str) -> bool:
    """Ask the user; without a terminal the answer is no."""
    if not sys.stdin.isatty():
        say("add --yes to approve this without a terminal")
        return False
    sys.stdout.flush()
    print(f"Approve {printable(what)}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


async def _approve(session: Session, obj: KubeObject, value: str) -> None:
    ref = ObjectRef.of(obj)
    metadata: dict[str, Any] = {
        "uid": obj["metadata"]["uid"],
        "annotations": {PRUNE_APPROVED: value},
    }
    try:
        await session.cluster.patch(ref, MergePatch({"metadata": metadata}), WriteOptions(MANAGER))
    except Forbidden as error:
        resource = await session.reading.own_resource(ref.kind)
        raise rejected(error, Permission("patch", resource, ref.namespace)) from None
