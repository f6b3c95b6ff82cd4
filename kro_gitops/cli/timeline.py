"""`timeline`: what happened to an instance, a definition or a source, oldest first."""

import argparse
import asyncio
import sys
from datetime import UTC, datetime, timedelta
from itertools import compress

from kro_gitops.cli.argument_types import SourceName, Target
from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.instances import find_definition, find_instances
from kro_gitops.cli.messages import say, wrong_usage
from kro_gitops.cli.sources import find_source
from kro_gitops.cli.tables import Row, format_data, format_table, print_table
from kro_gitops.cli.watching import watch
from kro_gitops.engine.applyset import GroupKind
from kro_gitops.inspect.kind_lookup import means_definition, means_source
from kro_gitops.inspect.timeline.assembly import Material, timeline
from kro_gitops.inspect.timeline.entries import Entry
from kro_gitops.inspect.views.instances import age, by_kind_made
from kro_gitops.inspect.views.sources import entries
from kube_objects.refs import KubeObject, ObjectRef

_HEADER = ("TIME", "AGE", "WHAT", "OBJECT", "DETAIL", "BY")


def run(args: argparse.Namespace) -> int:
    """Print the timeline; with --watch also what happens from now on."""
    if args.watch and args.output != "text":
        return wrong_usage("timeline", "--watch prints rows: use -o text")

    async def entries_since(session: Session) -> list[Entry]:
        material = await read(session, args.target)
        since = timedelta(seconds=args.since) if args.since else None
        return timeline(material, datetime.now(UTC) - since if since else None)

    async def work(session: Session) -> int:
        if args.watch:
            await watch(session, entries_since, NewEntries().show)
        found = await entries_since(session)
        if args.output != "text":
            sys.stdout.write(format_data([entry.to_json() for entry in found], args.output))
        elif found:
            now = datetime.now(UTC)
            print_table(_HEADER, [entry_row(entry, now) for entry in found], args)
        else:
            say("nothing happened in that time")
        return 0

    return run_on_cluster(args, work)


class NewEntries:
    """Prints a timeline, and then each entry that was not printed."""

    def __init__(self) -> None:
        self._printed: set[Entry] = set()

    def show(self, found: list[Entry]) -> None:
        """Print what is new since the last call."""
        # The columns fit all rows, those that are not printed again, too.
        rows = [entry_row(entry, datetime.now(UTC)) for entry in found]
        header, *table = format_table(_HEADER, rows).splitlines()
        is_new = (entry not in self._printed for entry in found)
        lines = list(compress(table, is_new))
        lines = lines if self._printed else [header, *lines]
        sys.stdout.write("".join(f"{line}\n" for line in lines))
        sys.stdout.flush()
        self._printed |= set(found)


async def read(session: Session, target: Target) -> Material:
    """Read everything that belongs to an object."""
    reading = session.reading
    if means_source(target.kind):
        source = await find_source(session, SourceName(target.name))
        applied = list((await reading.applied(entries(await reading.inventories(source)))).values())
        return await _with_pods(session, Material(applied, [source]))
    listed = await reading.definitions()
    definition: KubeObject | None
    if means_definition(target.kind):
        objects: list[KubeObject] = []
        definition = find_definition(listed, target.name)
    else:
        found = await find_instances(session, listed, target)
        definitions = by_kind_made(listed)
        definition = definitions.get(GroupKind.of(found.offer.resource.kind))
        family = await reading.family(found.objects, definitions)
        objects = [*found.objects, *(child for uid in family for child in family[uid])]
    named = [obj for obj in (definition, *objects[:1]) if obj is not None]
    sources = [await reading.source_of(obj) for obj in named]
    by_place = {ObjectRef.of(each).place: each for each in sources if each}
    revisions = await reading.revisions(ObjectRef.of(definition).name) if definition else []
    objects += [definition] if definition is not None else []
    return await _with_pods(session, Material(objects, list(by_place.values()), revisions))


async def _with_pods(session: Session, material: Material) -> Material:
    """Add the Pods of workloads, and the Events of all namespaces that objects are in."""
    reading = session.reading
    pods = [
        pod for each in await asyncio.gather(*map(reading.pods, material.objects)) for pod in each
    ]
    known = (*material.objects, *material.sources)
    namespaces = dict.fromkeys(ObjectRef.of(obj).namespace for obj in known)
    events = [
        event
        for each in await asyncio.gather(*map(reading.events_in, namespaces))
        for event in each
    ]
    return Material(material.objects, material.sources, material.revisions, pods, events)


def entry_row(entry: Entry, now: datetime) -> Row:
    """Return the row of an entry, in local time."""
    count = ""
    if entry.count > 1:
        lasting = f" over {age(entry.first, entry.time)}" if entry.first else ""
        count = f" ({entry.count} times{lasting})"
    return Row(
        (
            f"{entry.time.astimezone():%Y-%m-%d %H:%M:%S}",
            age(entry.time, now),
            f"{entry.what}{'!' if entry.is_bad else ''}",
            entry.object,
            f"{entry.text}{count}",
            entry.by,
        )
    )
