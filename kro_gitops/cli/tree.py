"""`tree`: an instance with its children, or a source with the objects it applied."""

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import Any

from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.instances import find_instances
from kro_gitops.cli.messages import is_live, say, wrong_usage
from kro_gitops.cli.source_tree import source_tree_row, source_trees
from kro_gitops.cli.tables import (
    TREE_HEADER,
    Row,
    branch_row,
    flatten,
    format_data,
    guides_for,
    print_table,
)
from kro_gitops.cli.watching import watch
from kro_gitops.inspect.kind_lookup import means_source
from kro_gitops.inspect.views.instances import by_kind_made, grow, in_order, outermost


@dataclass(frozen=True, slots=True)
class Trees:
    """Trees as data, as rows, and what to print if there are none."""

    data: Sequence[dict[str, Any]]
    rows: Callable[[datetime], list[Row]]  # with ages at some time
    nothing: str
    is_missing: bool = False


def run(args: argparse.Namespace) -> int:
    """Print the trees."""
    is_source = args.target is not None and means_source(args.target.kind)
    read = read_sources if is_source else read_instances
    if args.watch and args.output != "text":
        return wrong_usage("tree", "--watch shows the tree: use -o text")

    async def print_trees(session: Session) -> int:
        if args.watch:
            with _view(args) as show:
                await watch(session, lambda again: read(again, args), show)
        trees = await read(session, args)
        if args.output != "text":
            sys.stdout.write(format_data(trees.data, args.output))
        elif trees.data:
            print_table(TREE_HEADER, trees.rows(datetime.now(UTC)), args)
        else:
            say(trees.nothing)
        return PROBLEMS if trees.is_missing or session.reading.notes else 0

    return run_on_cluster(args, print_trees)


async def read_sources(session: Session, args: argparse.Namespace) -> Trees:
    """Return sources with the objects they applied."""
    trees = await source_trees(session, args.target)
    what = f"source '{args.target.name}'" if args.target.name else "source"
    return Trees(
        [tree.to_json() for tree in trees],
        lambda now: [source_tree_row(tree, now) for tree in trees],
        f"there is no {what} in {session.place}",
        is_missing=bool(args.target.name and not trees),
    )


async def read_instances(session: Session, args: argparse.Namespace) -> Trees:
    """Return instances with their children."""
    listed = await session.reading.definitions()
    definitions = by_kind_made(listed)
    if args.target is not None:
        roots = in_order((await find_instances(session, listed, args.target)).objects)
    else:
        offers = await session.reading.offers(listed)
        roots = in_order(await session.reading.objects(offers, session.searched))
    family = await session.reading.family(roots, definitions)
    shown = roots if args.target else outermost(roots, family)
    trees = [grow(root, family, definitions) for root in shown]
    return Trees(
        [tree.to_json() for tree in trees],
        lambda now: [branch_row(tree, now) for tree in trees],
        f"there are no instances in {session.place}",
    )


@contextmanager
def _view(args: argparse.Namespace) -> Iterator[Callable[[Trees], None]]:
    """Yield a function that shows trees: in place on a terminal, one after the other elsewhere."""
    if is_live(sys.stdout, no_color=args.no_color):
        terminal_tables = import_module("kro_gitops.cli.terminal_tables")
        shown: list[Trees] = []

        def lines() -> list[Row]:
            if not shown:
                return []
            nothing = [Row((shown[-1].nothing, "", "", ""))]
            rows = shown[-1].rows(datetime.now(UTC)) or nothing
            return flatten(rows, guides_for(sys.stdout.encoding))

        with terminal_tables.in_place(TREE_HEADER, lines):
            yield shown.append
        return
    last: list[object] = [None]

    def print_again(trees: Trees) -> None:
        if trees.data == last[0]:
            return
        if last[0] is not None:
            sys.stdout.write("\n")
        last[0] = trees.data
        if trees.data:
            print_table(TREE_HEADER, trees.rows(datetime.now(UTC)), args)
        else:
            say(trees.nothing)
        sys.stdout.flush()

    yield print_again
