"""`get`: list definitions, instances, revisions or sources of a cluster."""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

from kro_gitops.cli.argument_types import SourceName, Target
from kro_gitops.cli.arguments import LISTED
from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.messages import say
from kro_gitops.cli.sources import find_source
from kro_gitops.cli.tables import Row, format_names, format_objects, print_table
from kro_gitops.engine.kinds import REVISION_KIND
from kro_gitops.errors import UserError
from kro_gitops.inspect.kind_lookup import find_offer, unknown_kind
from kro_gitops.inspect.views.instances import (
    NONE,
    age,
    created,
    definition_row,
    in_order,
    revision_row,
    summary,
    written,
)
from kro_gitops.inspect.views.sources import source_row
from kro_gitops.source.kinds import GIT_SOURCE_KIND
from kube_objects.refs import KubeObject

_DEFINITION_HEADER = (
    *("NAME", "APIVERSION", "KIND", "STATE", "READY", "REVISION", "INSTANCES"),
    *("AGE", "MESSAGE"),
)
_REVISION_HEADER = ("NAME", "RGD", "REVISION", "HASH", "READY", "AGE", "MESSAGE")
_INSTANCE_HEADER = (
    *("KIND", "NAMESPACE", "NAME", "STATE", "READY", "REASON", "AGE"),
    *("WRITTEN IN", "MESSAGE"),
)
_SOURCE_HEADER = (
    *("NAMESPACE", "NAME", "READY", "PHASE", "REVISION", "OBJECTS", "AGE"),
    *("URL", "PATHS", "LAST SYNC", "AUTHOR", "MESSAGE"),
)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    work = {
        "rgds": list_definitions,
        "instances": list_instances,
        "revisions": list_revisions,
        "sources": list_sources,
    }[LISTED[args.what]]
    return run_on_cluster(args, lambda session: work(session, args))


async def list_definitions(session: Session, args: argparse.Namespace) -> int:
    """Print definitions."""
    listed = in_order(await session.reading.definitions())
    found = _named(listed, args.name)
    if args.output not in ("text", "wide"):
        return _print_objects(found, args)
    rows = []
    for definition in found:
        count = ""
        if args.output == "wide":
            # A definition whose kind is not served has no instances to count.
            offers = await session.reading.offers([definition])
            count = str(await session.reading.count(offers[0])) if offers else NONE
        row = definition_row(definition)
        about, revision = row.summary, NONE if row.revision is None else str(row.revision)
        kind = (row.makes.api_version, row.makes.kind)
        state = (about.state, about.ready, revision, count)
        rows.append(Row((about.ref.name, *kind, *state, _age(definition), about.message)))
    return _print_rows(_DEFINITION_HEADER, rows, args, "definitions in this cluster")


async def list_revisions(session: Session, args: argparse.Namespace) -> int:
    """Print revisions of definitions."""
    listed = in_order(await session.reading.own(REVISION_KIND))
    name = args.name.kind if args.name else ""
    of_definition = [each for each in listed if revision_row(each).definition == name]
    found = of_definition or _named(listed, args.name)
    if args.output not in ("text", "wide"):
        return _print_objects(found, args)
    rows = []
    for revision in found:
        row = revision_row(revision)
        number = NONE if row.number is None else str(row.number)
        digest = row.hash if args.output == "wide" else ""
        which = (row.summary.ref.name, row.definition, number, digest)
        rows.append(Row((*which, row.summary.ready, _age(revision), row.summary.message)))
    return _print_rows(_REVISION_HEADER, rows, args, "revisions in this cluster")


async def list_instances(session: Session, args: argparse.Namespace) -> int:
    """Print instances."""
    offers = await session.reading.offers(await session.reading.definitions())
    chosen, name = offers, ""
    if args.name is not None:
        offer = find_offer(args.name.kind, offers)
        if offer is None and args.name.name:
            raise unknown_kind(args.name.kind, offers)
        # A word that is no kind is the name of an instance.
        chosen = offers if offer is None else [offer]
        name = args.name.kind if offer is None else args.name.name
    listed = in_order(await session.reading.objects(chosen, session.searched))
    found = [each for each in listed if not name or each["metadata"]["name"] == name]
    if name and not found:
        if not args.name.name:
            raise unknown_kind(args.name.kind, offers)
        text = f"there is no {args.name.kind} '{args.name.name}' in {session.place}"
        hint = "`kro-gitops get instances -A` lists all instances"
        raise UserError("no-such-object", text, hint=hint)
    if args.output not in ("text", "wide"):
        return _print_objects(found, args)
    rows = []
    for instance in found:
        row = summary(instance)
        place = written(instance) if args.output == "wide" else None
        more = (place.short if place else "", row.message if args.output == "wide" else "")
        named = (row.ref.kind.kind, row.ref.namespace or NONE, row.ref.name)
        state = (row.state, row.ready, row.reason or NONE, _age(instance))
        rows.append(Row((*named, *state, *more)))
    code = _print_rows(_INSTANCE_HEADER, rows, args, f"instances in {session.place}")
    return PROBLEMS if session.reading.notes else code


async def list_sources(session: Session, args: argparse.Namespace) -> int:
    """Print sources."""
    if args.name is not None and (args.name.name or not session.everywhere):
        found = [await find_source(session, SourceName.of(args.name.kind, args.name.name))]
    else:
        listed = in_order(await session.reading.own(GIT_SOURCE_KIND, session.searched))
        found = _named(listed, args.name)
    if args.output not in ("text", "wide"):
        return _print_objects(found, args)
    rows, now = [], datetime.now(UTC)
    for source in found:
        row = source_row(source)
        synced = age(row.synced, now) if row.synced else NONE
        named = (row.ref.namespace, row.ref.name)
        state = (row.ready, row.phase, row.revision, row.objects, age(row.created, now))
        more = (row.url, row.paths, synced, row.author) if args.output == "wide" else ("",) * 4
        rows.append(Row((*named, *state, *more, row.message)))
    return _print_rows(_SOURCE_HEADER, rows, args, f"sources in {session.place}")


def _named(objects: list[KubeObject], target: Target | None) -> list[KubeObject]:
    if target is None:
        return objects
    name = target.name or target.kind
    found = [each for each in objects if each["metadata"]["name"] == name]
    if not found:
        names = ", ".join(each["metadata"]["name"] for each in objects[:10]) or "none"
        raise UserError("no-such-object", f"there is no '{name}'", hint=f"there are: {names}")
    return found


def _age(obj: KubeObject) -> str:
    return age(created(obj), datetime.now(UTC))


def _print_rows(
    header: Sequence[str], rows: Sequence[Row], args: argparse.Namespace, what: str
) -> int:
    if rows:
        print_table(header, rows, args)
    else:
        say(f"there are no {what}")
    return 0


def _print_objects(objects: Sequence[KubeObject], args: argparse.Namespace) -> int:
    """Print objects as kubectl does: one alone, several as a list, names one per line."""
    if args.output == "name":
        sys.stdout.write(format_names(objects))
    else:
        is_one = len(objects) == 1 and args.name is not None
        sys.stdout.write(format_objects(objects, args.output, is_one=is_one))
    return 0
