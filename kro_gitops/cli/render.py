"""
Show the children of each instance as YAML, in the order they would be applied.

What only a cluster can tell is shown as ⟨known after apply: …⟩ with its type, never guessed.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from kro_gitops.cli.options import add_build_options

if TYPE_CHECKING:
    from kro_gitops.cli.loading import Loaded
    from kro_gitops.preview.live import LiveData
    from kro_gitops.preview.render import Rendering

EXAMPLES = """\
examples:
  kro-gitops render . --instance shop/front
  kro-gitops render rgds/ instances/ --out /tmp/children
  kro-gitops render . --set-status live.yaml

--set-status takes objects as `kubectl get -o yaml` prints them, or a mapping of node ids:
  deployment:
    status: {availableReplicas: 3}

exit codes: 0 rendered, 1 problems found, 64 wrong command line
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `render`."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files or folders")
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
    add_build_options(parser)


def run(args: argparse.Namespace) -> int:
    """Render what compiles, and report what does not."""
    from kro_gitops.cli.loading import load, show_findings
    from kro_gitops.cli.main import PROBLEMS
    from kro_gitops.cli.output import say

    loaded = load(args.paths, args)
    live = _live_data(args.set_status)
    if loaded.errors:
        show_findings(loaded, loaded.errors)
    renderings = list(_renderings(loaded, args, live))
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
    from kro_gitops.objects.documents import load
    from kro_gitops.preview.live import LiveData

    if name is None:
        return None
    found = load(Path(name).read_bytes(), name)
    return LiveData.of_documents(document.value for document in found.documents)


def _renderings(
    loaded: "Loaded", args: argparse.Namespace, live: "LiveData | None"
) -> Iterator["Rendering"]:
    from kro_gitops.preview.render import render

    for manifest, graph in loaded.repository.instances:
        ref = manifest.ref
        wanted = (ref.name, f"{ref.namespace}/{ref.name}")
        if not args.instance or args.instance in wanted:
            yield render(graph, manifest.object, live, args.max_collection_size)


def _printed(renderings: list["Rendering"], form: str) -> str:
    from kro_gitops.preview.text import as_json, as_yaml

    return as_json(renderings) if form == "json" else "".join(map(as_yaml, renderings))


def _write_files(renderings: list["Rendering"], out: Path) -> None:
    from kro_gitops.cli.output import counted, say
    from kro_gitops.preview.text import child_yaml, file_name

    count = 0
    for rendering in renderings:
        for index, child in enumerate(rendering.children, 1):
            target = out / file_name(rendering, child, index)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(child_yaml(rendering, child), encoding="utf-8")
            count += 1
    say(f"{counted(count, 'file')} written below {out}")


def _report_failures(renderings: list["Rendering"]) -> bool:
    from kro_gitops.cli.output import say
    from kro_gitops.preview.text import failure_text

    failures = [(r, failure) for r in renderings for failure in r.failures]
    for rendering, failure in failures:
        say(failure_text(rendering, failure))
    return bool(failures)
