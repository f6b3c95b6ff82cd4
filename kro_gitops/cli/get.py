"""List definitions, their instances or revisions, or sources in a cluster, and how they are."""

import argparse
import sys
from typing import TYPE_CHECKING

from kro_gitops.cli.cluster_options import (
    Session,
    Target,
    add_cluster_options,
    add_output,
    run_on_cluster,
    style_of,
    target,
)

if TYPE_CHECKING:
    from kro_gitops.cli.tables import Line
    from kro_gitops.inspect.kind_lookup import Offer
    from kube_objects.refs import KubeObject

EXAMPLES = """\
examples:
  kro-gitops get rgds
  kro-gitops get instances -A
  kro-gitops get instances webapp/front -n shop -o yaml
  kro-gitops get revisions webapp
  kro-gitops get sources -A -o wide

exit codes: 0 listed, 1 not found or not to be read, 64 wrong command line
"""

DEFINITIONS, INSTANCES, REVISIONS, SOURCES = "rgds", "instances", "revisions", "sources"
_ALIASES = {
    **dict.fromkeys((DEFINITIONS, "rgd", "definitions", "definition"), DEFINITIONS),
    **dict.fromkeys((INSTANCES, "instance"), INSTANCES),
    **dict.fromkeys((REVISIONS, "revision", "gr"), REVISIONS),
    **dict.fromkeys((SOURCES, "source", "gs", "gitsource", "gitsources"), SOURCES),
}
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


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `get`."""
    parser.add_argument(
        "what",
        choices=_ALIASES,
        metavar="WHAT",
        help="rgds, instances, revisions or sources",
    )
    parser.add_argument(
        "name",
        nargs="?",
        type=target,
        metavar="NAME",
        help="only this one; for instances KIND, KIND/NAME or NAME; for revisions also an RGD's; "
        "for sources NAME or NAMESPACE/NAME",
    )
    add_output(parser, "text", "wide", "json", "yaml", "name")
    add_cluster_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    work = {
        DEFINITIONS: _definitions,
        INSTANCES: _instances,
        REVISIONS: _revisions,
        SOURCES: _sources,
    }
    return run_on_cluster(args, lambda session: work[_ALIASES[args.what]](session, args))


async def _definitions(session: Session, args: argparse.Namespace) -> int:
    from kro_gitops.inspect.views.instances import in_order

    listed = in_order(await session.reading.definitions())
    found = _named(listed, args.name)
    if args.output not in ("text", "wide"):
        return _print_objects(found, args)
    counts = await _counts(session, found) if args.output == "wide" else [""] * len(found)
    lines = [_definition_line(each, count) for each, count in zip(found, counts, strict=True)]
    return _print_table(_DEFINITION_HEADER, lines, args, "definitions in this cluster")


async def _counts(session: Session, definitions: "list[KubeObject]") -> list[str]:
    """Count the instances of each definition; one whose kind is not served has none to count."""
    found = []
    for definition in definitions:
        offers = await session.reading.offers([definition])
        found.append(str(await session.reading.count(offers[0])) if offers else "-")
    return found


def _definition_line(definition: "KubeObject", count: str) -> "Line":
    from kro_gitops.cli.tables import Line
    from kro_gitops.inspect.views.instances import definition_row

    row = definition_row(definition)
    about = row.summary
    revision = "-" if row.revision is None else str(row.revision)
    kind = (row.makes.api_version, row.makes.kind)
    state = (about.state, about.ready, revision, count)
    return Line((about.ref.name, *kind, *state, _age(definition), about.message))


async def _revisions(session: Session, args: argparse.Namespace) -> int:
    from kro_gitops.engine.revision import REVISION_KIND
    from kro_gitops.inspect.views.instances import in_order, revision_row

    listed = in_order(await session.reading.own(REVISION_KIND))
    wanted = args.name.kind if args.name else ""
    of_definition = [each for each in listed if revision_row(each).definition == wanted]
    found = of_definition or _named(listed, args.name)
    if args.output not in ("text", "wide"):
        return _print_objects(found, args)
    lines = [_revision_line(each, wide=args.output == "wide") for each in found]
    return _print_table(_REVISION_HEADER, lines, args, "revisions in this cluster")


def _revision_line(revision: "KubeObject", *, wide: bool) -> "Line":
    from kro_gitops.cli.tables import Line
    from kro_gitops.inspect.views.instances import revision_row

    row = revision_row(revision)
    number = "-" if row.number is None else str(row.number)
    which = (row.summary.ref.name, row.definition, number, row.hash if wide else "")
    return Line((*which, row.summary.ready, _age(revision), row.summary.message))


async def _instances(session: Session, args: argparse.Namespace) -> int:
    from kro_gitops.cli.exits import PROBLEMS
    from kro_gitops.inspect.views.instances import in_order

    offers = await session.reading.offers(await session.reading.definitions())
    chosen, name = _chosen(offers, args.name)
    listed = in_order(await session.reading.objects(chosen, session.searched))
    found = [each for each in listed if not name or each["metadata"]["name"] == name]
    if name and not found:
        raise _not_found(args.name, offers, session)
    if args.output not in ("text", "wide"):
        return _print_objects(found, args)
    lines = [_instance_line(each, wide=args.output == "wide") for each in found]
    code = _print_table(_INSTANCE_HEADER, lines, args, f"instances in {session.place}")
    return PROBLEMS if session.reading.notes else code


def _chosen(offers: "list[Offer]", wanted: Target | None) -> "tuple[list[Offer], str]":
    """Return the kinds and the name that are asked for; a word that is no kind is a name."""
    from kro_gitops.inspect.kind_lookup import find_offer, unknown_kind

    if wanted is None:
        return offers, ""
    offer = find_offer(wanted.kind, offers)
    if offer is not None:
        return [offer], wanted.name
    if wanted.name:
        raise unknown_kind(wanted.kind, offers)
    return offers, wanted.kind


def _instance_line(instance: "KubeObject", *, wide: bool) -> "Line":
    from kro_gitops.cli.tables import Line
    from kro_gitops.inspect.views.instances import summary, written

    row = summary(instance)
    place = written(instance) if wide else None
    more = (place.short if place else "", row.message if wide else "")
    named = (row.ref.kind.kind, row.ref.namespace or "-", row.ref.name)
    return Line((*named, row.state, row.ready, row.reason or "-", _age(instance), *more))


async def _sources(session: Session, args: argparse.Namespace) -> int:
    from kro_gitops.cli.source_options import SourceName, find_source
    from kro_gitops.inspect.views.instances import in_order
    from kro_gitops.source.api import GIT_SOURCE_KIND

    wanted = args.name
    if wanted is not None and (wanted.name or not session.everywhere):
        name = SourceName.of(wanted.kind, wanted.name)
        found = [await find_source(session, name)]
    else:
        listed = in_order(await session.reading.own(GIT_SOURCE_KIND, session.searched))
        found = _named(listed, wanted)
    if args.output not in ("text", "wide"):
        return _print_objects(found, args)
    lines = [_source_line(each, wide=args.output == "wide") for each in found]
    return _print_table(_SOURCE_HEADER, lines, args, f"sources in {session.place}")


def _source_line(source: "KubeObject", *, wide: bool) -> "Line":
    from datetime import UTC, datetime

    from kro_gitops.cli.tables import Line
    from kro_gitops.inspect.views.instances import NONE, age
    from kro_gitops.inspect.views.sources import source_row

    row, now = source_row(source), datetime.now(UTC)
    synced = age(row.synced, now) if row.synced else NONE
    named = (row.ref.namespace, row.ref.name)
    state = (row.ready, row.phase, row.revision, row.objects, age(row.created, now))
    more = (row.url, row.paths, synced, row.author) if wide else ("", "", "", "")
    return Line((*named, *state, *more, row.message))


def _not_found(wanted: Target, offers: "list[Offer]", session: Session) -> Exception:
    from kro_gitops.errors import UserError
    from kro_gitops.inspect.kind_lookup import unknown_kind

    if not wanted.name:
        return unknown_kind(wanted.kind, offers)
    return UserError(
        "no-such-object",
        f"there is no {wanted.kind} '{wanted.name}' in {session.place}",
        hint="`kro-gitops get instances -A` lists all there are",
    )


def _named(objects: "list[KubeObject]", wanted: Target | None) -> "list[KubeObject]":
    from kro_gitops.errors import UserError

    if wanted is None:
        return objects
    name = wanted.name or wanted.kind
    found = [each for each in objects if each["metadata"]["name"] == name]
    if not found:
        names = ", ".join(each["metadata"]["name"] for each in objects[:10]) or "none"
        raise UserError("no-such-object", f"there is no '{name}'", hint=f"there are: {names}")
    return found


def _age(obj: "KubeObject") -> str:
    from datetime import UTC, datetime

    from kro_gitops.inspect.views.instances import age, created

    return age(created(obj), datetime.now(UTC))


def _print_table(
    header: tuple[str, ...], lines: "list[Line]", args: argparse.Namespace, what: str
) -> int:
    from kro_gitops.cli.output import say
    from kro_gitops.cli.tables import format_table

    if not lines:
        say(f"there are no {what}")
        return 0
    sys.stdout.write(format_table(header, lines, style_of(args)))
    return 0


def _print_objects(objects: "list[KubeObject]", args: argparse.Namespace) -> int:
    """Print objects as kubectl does: one as itself, several as a list, names one a line."""
    from kro_gitops.cli.tables import format_names, format_objects

    if args.output == "name":
        sys.stdout.write(format_names(objects))
    else:
        is_one = len(objects) == 1 and args.name is not None
        sys.stdout.write(format_objects(objects, args.output, is_one=is_one))
    return 0
