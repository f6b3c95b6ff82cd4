"""`render`: print the children of each instance, without a cluster."""

import argparse
import os
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain, count
from pathlib import Path

from kro_gitops.cli.arguments import STAMP_OPTIONS, given_options
from kro_gitops.cli.exit_codes import PROBLEMS, WRONG_USAGE
from kro_gitops.cli.inputs import Loaded, deadline_in, load, load_documents, show_findings
from kro_gitops.cli.messages import counted, fail, say, wrong_usage
from kro_gitops.engine.child_rules import child_rules
from kro_gitops.engine.plan.children import Rules
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.preview.output import as_json, as_yaml, child_yaml, file_name
from kro_gitops.preview.rejections import findings_of, renderer_of
from kro_gitops.preview.render import Rendering
from kro_gitops.preview.sample_data import LiveData
from kro_gitops.settings.settings import SettingsError, parse_settings
from kro_gitops.telemetry.printable import printable
from kube_cel.budget import Budget
from kube_objects.problems import Finding


def run(args: argparse.Namespace) -> int:
    """Render what compiles, and report what does not."""
    try:
        rules = _rules(args)
    except SettingsError as error:
        for problem in error.problems:
            say(f"kro-gitops render: {problem}")
        say("Try 'kro-gitops render --help'.")
        return WRONG_USAGE
    if args.out and args.output == "json":
        return wrong_usage(args.verb, "--out writes YAML")
    live = _live_data(args.set_status)
    loaded = load(args.paths, args, besides=[args.set_status] if args.set_status else [])
    if loaded.errors:
        show_findings(loaded, loaded.errors)
    renderings: list[Rendering] = []
    failures: list[Finding] = []
    for rendering, findings in _renderings(loaded, args, live, rules):
        renderings.append(rendering)
        failures += findings
    if live is not None:
        _check_nodes(live, loaded)
    if not renderings and args.instance:
        say(f"no instance '{args.instance}' in these files")
        return PROBLEMS
    if args.out:
        _write_files(renderings, Path(args.out))
    else:
        sys.stdout.write(_printed(renderings, args.output))
    if failures:
        show_findings(loaded, failures)
    return PROBLEMS if loaded.errors or failures else 0


def _rules(args: argparse.Namespace) -> Rules:
    """Return what the flags, and the variables of the same names, say about stamps."""
    variables = {name for option in STAMP_OPTIONS for name in option.variables}
    environment = {name: text for name, text in os.environ.items() if name in variables}
    given = given_options(args)
    flags = {each.flag: given[each.flag] for each in STAMP_OPTIONS if each.flag in given}
    return child_rules(parse_settings(flags, environment))


def _live_data(name: str | None) -> LiveData | None:
    if name is None:
        return None
    return LiveData.of_documents(document.value for document in load_documents(name))


def _check_nodes(live: LiveData, loaded: Loaded) -> None:
    """Say so if data is given for a node that no definition has: it is a typo."""
    known = {name for graph in loaded.repository.graphs.values() for name in graph.nodes}
    for name in live.by_node:
        if name not in known:
            say(f"--set-status: no definition has a resource with the id '{printable(name)}'")


def _renderings(
    loaded: Loaded, args: argparse.Namespace, live: LiveData | None, rules: Rules
) -> Iterator[tuple[Rendering, list[Finding]]]:
    repository = loaded.repository
    renderer = renderer_of(repository, live, rules, args.namespace, args.depth)
    for manifest, graph in repository.instances:
        ref = manifest.ref
        names = (ref.name, f"{ref.namespace or args.namespace}/{ref.name}")
        if not args.instance or args.instance in names:
            budget = Budget(deadline=deadline_in(args.timeout))
            bounds = Bounds(args.max_collection_size, partial(_same, budget))
            rendering = renderer.render(graph, manifest.object, bounds)
            yield rendering, list(findings_of(repository, manifest, rendering))


def _same(budget: Budget) -> Budget:
    """Return the one budget that all expressions of an instance share."""
    return budget


def _printed(renderings: list[Rendering], form: str) -> str:
    return as_json(renderings) if form == "json" else "".join(map(as_yaml, renderings))


def _write_files(renderings: list[Rendering], out: Path) -> None:
    written: set[Path] = set()
    for rendering in renderings:
        for part in rendering.all():
            for index, child in enumerate(part.children, 1):
                target = _unused(out / file_name(part, child, index), written)
                _write(target, out, child_yaml(part, child))
                written.add(target)
    say(f"{counted(len(written), 'file')} written below {out}")


def _unused(wanted: Path, taken: set[Path]) -> Path:
    """Keep names apart that differ only in what file names leave out."""
    names = (wanted.with_stem(f"{wanted.stem}-{number}") for number in count(2))
    return next(name for name in chain((wanted,), names) if name not in taken)


def _write(target: Path, out: Path, text: str) -> None:
    below = [path for path in (target, *target.parents) if out in path.parents]
    link = next((path for path in reversed(below) if path.is_symlink()), None)
    if link is not None:
        fail(f"'{link}' is a link: what it leads to is not written to")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
