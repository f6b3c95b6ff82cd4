"""
Show an instance with everything it made, instances within it too, and how each part is; or a
source with what it applied, and what failed there.
"""

import argparse
import sys
from typing import TYPE_CHECKING, TypeVar

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
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from kro_gitops.cli.source_tree import SourceTree
    from kro_gitops.cli.tables import Line, Strokes
    from kro_gitops.inspect.views.instances import Branch
    from kube_objects.refs import KubeObject

    Tree = TypeVar("Tree", Branch, SourceTree)
    Draw = Callable[[Tree, Strokes, datetime], Iterator[Line]]

EXAMPLES = """\
examples:
  kro-gitops tree webapp/front -n shop
  kro-gitops tree -A
  kro-gitops tree webapp -n shop -o json
  kro-gitops tree source/shop -n gitops

exit codes: 0 shown, 1 not found or not to be read, 64 wrong command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `tree`."""
    parser.add_argument(
        "target",
        nargs="?",
        type=target,
        metavar="KIND/NAME",
        help="the instance, or source/NAME; KIND alone for all of a kind (default: all instances)",
    )
    add_output(parser, "text", "json", "yaml")
    add_cluster_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print the trees."""
    from kro_gitops.inspect.kind_lookup import means_source

    is_source = args.target is not None and means_source(args.target.kind)
    show = _show_sources if is_source else _show
    return run_on_cluster(args, lambda session: show(session, args))


async def _show_sources(session: Session, args: argparse.Namespace) -> int:
    from kro_gitops.cli.exits import PROBLEMS
    from kro_gitops.cli.output import say
    from kro_gitops.cli.source_tree import source_tree_lines, source_trees

    trees = await source_trees(session, args.target)
    if trees or args.output != "text":
        sys.stdout.write(_printed(trees, source_tree_lines, args))
    else:
        what = f"source '{args.target.name}'" if args.target.name else "source"
        say(f"there is no {what} in {session.place}")
    is_missing = bool(args.target.name and not trees)
    return PROBLEMS if is_missing or session.reading.notes else 0


async def _show(session: Session, args: argparse.Namespace) -> int:
    from kro_gitops.cli.exits import PROBLEMS
    from kro_gitops.cli.output import say
    from kro_gitops.cli.tables import tree_lines
    from kro_gitops.inspect.views.instances import by_kind_made, grow, outermost

    listed = await session.reading.definitions()
    definitions = by_kind_made(listed)
    roots = await _roots(session, listed, args.target)
    family = await session.reading.family(roots, definitions)
    shown = roots if args.target else outermost(roots, family)
    trees = [grow(root, family, definitions) for root in shown]
    if trees or args.output != "text":
        sys.stdout.write(_printed(trees, tree_lines, args))
    else:
        say(f"there are no instances in {session.place}")
    return PROBLEMS if session.reading.notes else 0


async def _roots(
    session: Session, definitions: "list[KubeObject]", wanted: Target | None
) -> "list[KubeObject]":
    from kro_gitops.cli.instances import find_instances
    from kro_gitops.inspect.views.instances import in_order

    if wanted is not None:
        return in_order((await find_instances(session, definitions, wanted)).objects)
    offers = await session.reading.offers(definitions)
    return in_order(await session.reading.objects(offers, session.searched))


def _printed(trees: "Sequence[Tree]", draw: "Draw[Tree]", args: argparse.Namespace) -> str:
    from datetime import UTC, datetime

    from kro_gitops.cli.tables import TREE_HEADER, format_table, strokes_for
    from kro_gitops.telemetry.printable import to_json
    from kube_objects.yaml_writer import to_yaml

    if args.output != "text":
        data = [tree.to_json() for tree in trees]
        return to_json(data) if args.output == "json" else to_yaml(data)
    strokes, now = strokes_for(sys.stdout.encoding), datetime.now(UTC)
    lines = [line for tree in trees for line in draw(tree, strokes, now)]
    return format_table(TREE_HEADER, lines, style_of(args))
