"""Say why an instance is as it is: its definition, conditions, the child in the way, what to do."""

import argparse
import asyncio
import sys
from textwrap import wrap
from typing import TYPE_CHECKING

from kro_gitops.cli.cluster_options import (
    Session,
    add_cluster_options,
    add_output,
    full_target,
    run_on_cluster,
    style_of,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from kro_gitops.inspect.explain.explanation import Case, Explanation
    from kube_objects.refs import KubeObject

EXAMPLES = """\
examples:
  kro-gitops explain webapp/front -n shop
  kro-gitops explain webapps.kro.run/front -n shop -o json
  kro-gitops explain rgd/webapp

exit codes: 0 healthy, 1 not healthy or not to be read, 64 wrong command line
"""

WIDTH = 100
_BOLD = "1"
_DEFINITION = (
    *("rgd", "resourcegraphdefinition", "resourcegraphdefinitions"),
    "resourcegraphdefinitions.kro.run",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `explain`."""
    parser.add_argument(
        "target", type=full_target, metavar="KIND/NAME", help="the instance, or rgd/NAME"
    )
    add_output(parser, "text", "json", "yaml")
    add_cluster_options(parser, everywhere=False)


def run(args: argparse.Namespace) -> int:
    """Print the explanation; 1 if something is to be done."""
    return run_on_cluster(args, lambda session: _explain(session, args))


async def _explain(session: Session, args: argparse.Namespace) -> int:
    from datetime import UTC, datetime

    from kro_gitops.cli.exits import PROBLEMS
    from kro_gitops.inspect.explain.explanation import explain, explain_definition

    if args.target.kind.lower() in _DEFINITION:
        now = datetime.now(UTC)
        found = explain_definition(await _definition(session, args.target.name), now)
    else:
        found = explain(await _case(session, args))
    sys.stdout.write(_printed(found, args))
    return 0 if found.is_healthy else PROBLEMS


async def _definition(session: Session, name: str) -> "KubeObject":
    from kro_gitops.errors import UserError

    listed = await session.reading.definitions()
    found = next((each for each in listed if each["metadata"]["name"] == name), None)
    if found is None:
        names = ", ".join(each["metadata"]["name"] for each in listed) or "none"
        text = f"there is no definition '{name}'"
        raise UserError("no-such-object", text, hint=f"there are: {names}")
    return found


async def _case(session: Session, args: argparse.Namespace) -> "Case":
    """Fetch all that may matter: the tree first, then what happened to the parts in the way."""
    from datetime import UTC, datetime

    from kro_gitops.cli.instances import find_instances
    from kro_gitops.engine.applyset import GroupKind
    from kro_gitops.inspect.explain.explanation import Case, blockers, troubled_pods
    from kro_gitops.inspect.views.instances import by_kind_made, grow

    reading = session.reading
    listed = await reading.definitions()
    found = await find_instances(session, listed, args.target)
    (instance,) = found.objects
    definitions = by_kind_made(listed)
    tree = grow(instance, await reading.family([instance], definitions), definitions)
    troubled = [branch.object for branch in blockers(tree)]
    pods = await _by_uid(reading.pods, troubled)
    about = [
        instance,
        *troubled,
        *troubled_pods(each for listed in pods.values() for each in listed),
    ]
    events = await _by_uid(reading.events, [] if tree.is_healthy else about)
    definition = definitions.get(GroupKind.of(found.offer.resource.kind))
    return Case(tree, found.offer.full_name, definition, datetime.now(UTC), events, pods)


async def _by_uid(
    read: "Callable[[KubeObject], Awaitable[list[KubeObject]]]", objects: "list[KubeObject]"
) -> "dict[str, list[KubeObject]]":
    """Read something about each of some objects, at the same time."""
    from kro_gitops.inspect.views.instances import text_at

    uids = [text_at(each, "metadata", "uid") for each in objects]
    return dict(zip(uids, await asyncio.gather(*map(read, objects)), strict=True))


def _printed(found: "Explanation", args: argparse.Namespace) -> str:
    from kro_gitops.telemetry.printable import to_json
    from kube_objects.yaml_writer import to_yaml

    if args.output == "text":
        return _text(found, args)
    data = found.to_json()
    return to_json(data) if args.output == "json" else to_yaml(data)


def _text(found: "Explanation", args: argparse.Namespace) -> str:
    from kro_gitops.telemetry.printable import printable

    style = style_of(args)
    if found.is_healthy:
        return "\n".join(wrap(printable(found.headline), WIDTH)) + "\n"
    lines = [style.paint(printable(found.headline), _BOLD)]
    for section in found.sections:
        lines += ["", style.paint(printable(section.title), _BOLD)]
        lines += [f"  {printable(line)}" for line in section.lines]
    lines += ["", style.paint("What to do next", _BOLD)]
    lines += [f"  {number}. {printable(step)}" for number, step in enumerate(found.steps, 1)]
    return "\n".join(lines) + "\n"
