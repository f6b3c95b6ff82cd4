"""
Show the children of each instance as YAML, in the order they would be applied.

What only a cluster can tell is shown as ⟨known after apply: …⟩ with its type, never guessed.
"""

import argparse
import sys
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

from kro_gitops.cli.options import add_build_options, add_timeout, deadline_in

if TYPE_CHECKING:
    from kro_gitops.cli.loading import Loaded
    from kro_gitops.preview.render import Rendering
    from kro_gitops.preview.sample_data import LiveData

EXAMPLES = """\
examples:
  kro-gitops render . --instance shop/front
  kro-gitops render rgds/ instances/ --out children
  kro-gitops render . --set-status live.yaml

--set-status takes objects as `kubectl get -o yaml` prints them, or a mapping of node ids:
  deployment:
    status: {availableReplicas: 3}

exit codes: 0 rendered, 1 problems found, 64 wrong command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `render`."""
    parser.add_argument(
        "paths", nargs="+", metavar="PATH", help="files or folders; '-' is standard input"
    )
    parser.add_argument(
        "--instance",
        metavar="NS/NAME",
        help="only this instance; NAME alone for any namespace or none",
    )
    parser.add_argument("--set-status", metavar="FILE", help="data that stands in for a cluster")
    parser.add_argument(
        "--out", metavar="DIR", help="write a file for each child instead of printing"
    )
    parser.add_argument(
        "-o",
        "--output",
        choices=["yaml", "json"],
        default="yaml",
        help="how to print children (default: %(default)s)",
    )
    add_timeout(parser, "the expressions of one instance")
    add_build_options(parser)


def run(args: argparse.Namespace) -> int:
    """Render what compiles, and report what does not."""
    from kro_gitops.cli.exits import PROBLEMS, WRONG_USAGE
    from kro_gitops.cli.loading import load, show_findings
    from kro_gitops.cli.output import say

    if args.out and args.output == "json":
        say("kro-gitops render: --out writes YAML\nTry 'kro-gitops render --help'.")
        return WRONG_USAGE
    live = _live_data(args.set_status)
    loaded = load(args.paths, args, besides=[args.set_status] if args.set_status else [])
    if loaded.errors:
        show_findings(loaded, loaded.errors)
    renderings = list(_renderings(loaded, args, live))
    if live is not None:
        _check_nodes(live, loaded)
    if not renderings and args.instance:
        say(f"no instance '{args.instance}' in these files")
        return PROBLEMS
    if args.out:
        _write_files(renderings, Path(args.out))
    else:
        sys.stdout.write(_printed(renderings, args.output))
    failed = _report_failures(renderings)
    return PROBLEMS if loaded.errors or failed else 0


def _live_data(name: str | None) -> "LiveData | None":
    from kro_gitops.cli.loading import load_documents
    from kro_gitops.preview.sample_data import LiveData

    if name is None:
        return None
    return LiveData.of_documents(document.value for document in load_documents(name))


def _check_nodes(live: "LiveData", loaded: "Loaded") -> None:
    """Say so if data is given for a node that no definition has: it is a typo."""
    from kro_gitops.cli.output import say
    from kro_gitops.telemetry.printable import printable

    known = {name for graph in loaded.repository.graphs.values() for name in graph.nodes}
    for name in live.by_node:
        if name not in known:
            say(f"--set-status: no definition has a resource with the id '{printable(name)}'")


def _renderings(
    loaded: "Loaded", args: argparse.Namespace, live: "LiveData | None"
) -> Iterator["Rendering"]:
    from kro_gitops.preview.render import Bounds, render
    from kube_cel.budget import Budget

    for manifest, graph in loaded.repository.instances:
        ref = manifest.ref
        wanted = (ref.name, f"{ref.namespace}/{ref.name}")
        if not args.instance or args.instance in wanted:
            budget = Budget(deadline=deadline_in(args.timeout))
            bounds = Bounds(args.max_collection_size, budget)
            yield render(graph, manifest.object, live, bounds)


def _printed(renderings: list["Rendering"], form: str) -> str:
    from kro_gitops.preview.output import as_json, as_yaml

    return as_json(renderings) if form == "json" else "".join(map(as_yaml, renderings))


def _write_files(renderings: list["Rendering"], out: Path) -> None:
    from kro_gitops.cli.output import counted, say
    from kro_gitops.preview.output import child_yaml, file_name

    written: set[Path] = set()
    for rendering in renderings:
        for index, child in enumerate(rendering.children, 1):
            target = _unused(out / file_name(rendering, child, index), written)
            _write(target, out, child_yaml(rendering, child))
            written.add(target)
    say(f"{counted(len(written), 'file')} written below {out}")


def _unused(wanted: Path, taken: set[Path]) -> Path:
    """Keep names apart that differ only in what file names leave out."""
    names = (wanted.with_stem(f"{wanted.stem}-{number}") for number in count(2))
    return next(name for name in chain((wanted,), names) if name not in taken)


def _write(target: Path, out: Path, text: str) -> None:
    from kro_gitops.cli.output import refuse

    below = [path for path in (target, *target.parents) if out in path.parents]
    link = next((path for path in reversed(below) if path.is_symlink()), None)
    if link is not None:
        refuse(f"'{link}' is a link: what it leads to is not written to")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")


def _report_failures(renderings: list["Rendering"]) -> bool:
    from kro_gitops.cli.output import say
    from kro_gitops.preview.output import failure_text

    failures = [(r, failure) for r in renderings for failure in r.failures]
    for rendering, failure in failures:
        say(failure_text(rendering, failure))
    return bool(failures)
