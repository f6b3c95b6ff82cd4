"""`tree`: an instance with its children, or a source with the objects it applied."""

import argparse
import sys
from datetime import UTC, datetime

from kro_gitops.cli.cluster_session import Session, run_on_cluster
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.instances import find_instances
from kro_gitops.cli.messages import say
from kro_gitops.cli.source_tree import source_tree_row, source_trees
from kro_gitops.cli.tables import TREE_HEADER, branch_row, format_data, print_table
from kro_gitops.inspect.kind_lookup import means_source
from kro_gitops.inspect.views.instances import by_kind_made, grow, in_order, outermost


def run(args: argparse.Namespace) -> int:
    """Print the trees."""
    is_source = args.target is not None and means_source(args.target.kind)
    show = show_sources if is_source else show_instances
    return run_on_cluster(args, lambda session: show(session, args))


async def show_sources(session: Session, args: argparse.Namespace) -> int:
    """Print sources with the objects they applied."""
    trees = await source_trees(session, args.target)
    if args.output != "text":
        sys.stdout.write(format_data([tree.to_json() for tree in trees], args.output))
    elif trees:
        now = datetime.now(UTC)
        print_table(TREE_HEADER, [source_tree_row(tree, now) for tree in trees], args)
    else:
        what = f"source '{args.target.name}'" if args.target.name else "source"
        say(f"there is no {what} in {session.place}")
    is_missing = bool(args.target.name and not trees)
    return PROBLEMS if is_missing or session.reading.notes else 0


async def show_instances(session: Session, args: argparse.Namespace) -> int:
    """Print instances with their children."""
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
    if args.output != "text":
        sys.stdout.write(format_data([tree.to_json() for tree in trees], args.output))
    elif trees:
        now = datetime.now(UTC)
        print_table(TREE_HEADER, [branch_row(tree, now) for tree in trees], args)
    else:
        say(f"there are no instances in {session.place}")
    return PROBLEMS if session.reading.notes else 0
