"""`render`: print the children of each instance, without a cluster."""

import argparse
import sys
from collections.abc import Iterator
from functools import partial
from itertools import chain, count
from pathlib import Path

from kro_gitops.cli.child_options import rules_of
from kro_gitops.cli.exit_codes import PROBLEMS
from kro_gitops.cli.inputs import Loaded, deadline_in, load, load_documents, show_findings
from kro_gitops.cli.messages import counted, fail, say, wrong_usage
from kro_gitops.engine.plan.children import Rules
from kro_gitops.engine.plan.evaluation import Bounds
from kro_gitops.preview.output import as_json, as_yaml, child_yaml, file_name
from kro_gitops.preview.rejections import findings_of, renderer_of
from kro_gitops.preview.render import Rendering
from kro_gitops.preview.sample_data import LiveData
from kro_gitops.settings.settings import SettingsError
from kro_gitops.telemetry.printable import printable
from kube_cel.budget import Budget
from kube_objects.problems import Finding
from kube_objects.refs import ObjectRef


def run(args: argparse.Namespace) -> int:
    """Render what compiles, and report what does not."""
    try:
        rules = rules_of(args)
    except SettingsError as error:
        return wrong_usage(args.verb, *error.problems)
    if args.out and args.output == "json":
        return wrong_usage(args.verb, "--out writes YAML")
    live = None
    if args.set_status is not None:
        live = LiveData.of_documents(each.value for each in load_documents(args.set_status))
    loaded = load(args.paths, args, besides=[args.set_status] if args.set_status else [])
    if loaded.errors:
        show_findings(loaded, loaded.errors)
    renderings: list[Rendering] = []
    failures: list[Finding] = []
    for rendering, findings in _renderings(loaded, args, live, rules):
        renderings.append(rendering)
        failures += findings
    known = {name for graph in loaded.repository.graphs.values() for name in graph.nodes}
    for name in live.by_node if live is not None else ():
        if name not in known:  # a typo
            say(f"--set-status: no definition has a resource with the id '{printable(name)}'")
    asked = (each for each, _ in loaded.repository.instances if _is_asked_for(each.ref, args))
    if args.instance and next(asked, None) is None:
        say(f"no instance '{args.instance}' in these files")
        return PROBLEMS
    if args.out:
        _write_files(renderings, Path(args.out))
    elif args.output == "json":
        sys.stdout.write(as_json(renderings))
    else:
        sys.stdout.writelines(map(as_yaml, renderings))
    if failures:
        show_findings(loaded, failures)
    return PROBLEMS if loaded.errors or failures else 0


def _renderings(
    loaded: Loaded, args: argparse.Namespace, live: LiveData | None, rules: Rules
) -> Iterator[tuple[Rendering, list[Finding]]]:
    repository = loaded.repository
    renderer = renderer_of(repository, live, rules, args.namespace, args.depth)
    for manifest, graph in repository.sound_instances():
        budget = Budget(deadline=deadline_in(args.timeout))
        bounds = Bounds(args.max_collection_size, partial(_same, budget))
        # Also those that are not asked for: they may have a child of the same name.
        rendering = renderer.render(graph, manifest.object, bounds)
        if _is_asked_for(manifest.ref, args):
            yield rendering, list(findings_of(repository, manifest, rendering))


def _is_asked_for(ref: ObjectRef, args: argparse.Namespace) -> bool:
    names = (ref.name, f"{ref.namespace or args.namespace}/{ref.name}")
    return not args.instance or args.instance in names


def _same(budget: Budget) -> Budget:
    """Return the one budget that all expressions of an instance share."""
    return budget


def _write_files(renderings: list[Rendering], out: Path) -> None:
    written: set[Path] = set()
    for rendering in renderings:
        for part in rendering.all():
            for index, child in enumerate(part.children, 1):
                # Two children may differ only in characters that file names leave out.
                first = out / file_name(part, child, index)
                names = (first.with_stem(f"{first.stem}-{number}") for number in count(2))
                target = next(name for name in chain((first,), names) if name not in written)
                below = [path for path in (target, *target.parents) if out in path.parents]
                link = next((path for path in reversed(below) if path.is_symlink()), None)
                if link is not None:
                    fail(f"'{link}' is a link: what it leads to is not written to")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(child_yaml(part, child), encoding="utf-8")
                written.add(target)
    say(f"{counted(len(written), 'file')} written below {out}")
