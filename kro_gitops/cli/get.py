"""`get`: list definitions, instances, revisions or sources of a cluster."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import compress

from kro_gitops.cli.argument_types import SourceName, Target
from kro_gitops.cli.arguments import LISTED
from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.messages import say, wrong_usage
from kro_gitops.cli.sources import find_source
from kro_gitops.cli.tables import Row, format_names, format_objects, format_table, print_table
from kro_gitops.cli.watching import watch
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
from kro_gitops.telemetry.printable import printable
from kube_objects.refs import KubeObject, ObjectRef

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
_AGES = ("AGE", "LAST SYNC")  # columns that change without a change of the object


@dataclass(frozen=True, slots=True)
class Listed:
    """Objects, and a row for each of them."""

    objects: Sequence[KubeObject]
    header: Sequence[str]
    rows: Sequence[Row]
    what: str  # what there is none of, if the list is empty


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    list_ = {
        "rgds": list_definitions,
        "instances": list_instances,
        "revisions": list_revisions,
        "sources": list_sources,
    }[LISTED[args.what]]
    if args.watch and args.output in ("json", "yaml"):
        return wrong_usage("get", "--watch prints rows: use -o text, wide or name")

    async def print_list(session: Session) -> int:
        if args.watch:
            await watch(session, lambda again: list_(again, args), ChangedRows(args).show)
        _print(await list_(session, args), args)
        return PROBLEMS if session.reading.notes else 0

    return run_on_cluster(args, print_list)


async def list_definitions(session: Session, args: argparse.Namespace) -> Listed:
    """Return definitions."""
    found = _named(in_order(await session.reading.definitions(args.selector)), args.name)
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
    return Listed(found, _DEFINITION_HEADER, rows, "definitions in this cluster")


async def list_revisions(session: Session, args: argparse.Namespace) -> Listed:
    """Return revisions of definitions."""
    listed = in_order(await session.reading.own(REVISION_KIND, labels=args.selector))
    name = args.name.kind if args.name else ""
    of_definition = [each for each in listed if revision_row(each).definition == name]
    found = of_definition or _named(listed, args.name)
    rows = []
    for revision in found:
        row = revision_row(revision)
        number = NONE if row.number is None else str(row.number)
        digest = row.hash if args.output == "wide" else ""
        which = (row.summary.ref.name, row.definition, number, digest)
        rows.append(Row((*which, row.summary.ready, _age(revision), row.summary.message)))
    return Listed(found, _REVISION_HEADER, rows, "revisions in this cluster")


async def list_instances(session: Session, args: argparse.Namespace) -> Listed:
    """Return instances."""
    offers = await session.reading.instance_offers()
    chosen, name = offers, ""
    if args.name is not None:
        offer = find_offer(args.name.kind, offers)
        if offer is None and args.name.name:
            raise unknown_kind(args.name.kind, offers)
        # A word that is no kind is the name of an instance.
        chosen = offers if offer is None else [offer]
        name = args.name.kind if offer is None else args.name.name
    listed = in_order(await session.reading.objects(chosen, session.searched, args.selector))
    found = [each for each in listed if not name or each["metadata"]["name"] == name]
    if name and not found:
        if not args.name.name:
            raise unknown_kind(args.name.kind, offers)
        text = f"there is no {args.name.kind} '{args.name.name}' in {session.place}"
        hint = "`kro-gitops get instances -A` lists all instances"
        raise UserError("no-such-object", text, hint=hint)
    rows = []
    for instance in found:
        row = summary(instance)
        place = written(instance) if args.output == "wide" else None
        more = (place.short if place else "", row.message if args.output == "wide" else "")
        named = (row.ref.kind.kind, row.ref.namespace or NONE, row.ref.name)
        state = (row.state, row.ready, row.reason or NONE, _age(instance))
        rows.append(Row((*named, *state, *more)))
    return Listed(found, _INSTANCE_HEADER, rows, f"instances in {session.place}")


async def list_sources(session: Session, args: argparse.Namespace) -> Listed:
    """Return sources."""
    if args.name is not None and (args.name.name or not session.everywhere):
        found = [await find_source(session, SourceName.of(args.name.kind, args.name.name))]
    else:
        reading = session.reading
        listed = in_order(await reading.own(GIT_SOURCE_KIND, session.searched, args.selector))
        found = _named(listed, args.name)
    rows, now = [], datetime.now(UTC)
    for source in found:
        row = source_row(source)
        synced = age(row.synced, now) if row.synced else NONE
        named = (row.ref.namespace, row.ref.name)
        state = (row.ready, row.phase, row.revision, row.objects, age(row.created, now))
        more = (row.url, row.paths, synced, row.author) if args.output == "wide" else ("",) * 4
        rows.append(Row((*named, *state, *more, row.message)))
    return Listed(found, _SOURCE_HEADER, rows, f"sources in {session.place}")


class ChangedRows:
    """Prints a list, and then each row that is new, changed or gone."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._args = args
        self._rows: dict[ObjectRef, Row] | None = None
        self._header = ""

    def show(self, listed: Listed) -> None:
        """Print what has changed since the last call."""
        former, rows = (
            self._rows,
            dict(zip(map(ObjectRef.of, listed.objects), listed.rows, strict=True)),
        )
        self._rows = rows
        if former is None and not rows:
            say(_nothing(listed, self._args))
        gone = {} if former is None else {ref: former[ref] for ref in former.keys() - rows.keys()}
        is_steady = [name not in _AGES for name in listed.header]

        def steady(row: Row | None) -> list[str] | None:
            if row is None:
                return None
            return list(compress(row.cells, is_steady))

        is_new = [former is None or steady(former.get(ref)) != steady(rows[ref]) for ref in rows]
        changed = [*is_new, *(True for _ in gone)]
        if self._args.output == "name":
            lines = list(compress(format_names(listed.objects).splitlines(), is_new))
        else:
            # The columns fit all rows, those that are not printed again, too.
            ended = [replace(row, cells=(*row.cells[:-1], "deleted")) for row in gone.values()]
            header, *table = format_table(listed.header, [*rows.values(), *ended]).splitlines()
            lines = list(compress(table, changed))
            if lines and header.split() != self._header.split():
                lines, self._header = [header, *lines], header
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()


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


def _nothing(listed: Listed, args: argparse.Namespace) -> str:
    labels = f" with labels '{printable(args.selector)}'" if args.selector else ""
    return f"there are no {listed.what}{labels}"


def _print(listed: Listed, args: argparse.Namespace) -> None:
    """Print rows, or objects as kubectl does: one alone, several as a list, names one per line."""
    if args.output == "name":
        sys.stdout.write(format_names(listed.objects))
    elif args.output not in ("text", "wide"):
        is_one = len(listed.objects) == 1 and args.name is not None
        sys.stdout.write(format_objects(listed.objects, args.output, is_one=is_one))
    elif listed.rows:
        print_table(listed.header, listed.rows, args)
    else:
        say(_nothing(listed, args))
