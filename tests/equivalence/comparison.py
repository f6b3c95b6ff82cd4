"""
A repository, planned offline and reconciled by the controller: both must come to the same.

A placeholder matches every value of its type, a text with placeholders every text that has its
known pieces. A child that may be created may be missing. Everything else must be equal, object by
object, and what one rejects the other rejects with the same code and text.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.engine.labels import label_value
from kro_gitops.engine.options import Options
from kro_gitops.engine.plan.children import Rules
from kro_gitops.engine.plan.evaluation import Bounds, Fatal
from kro_gitops.engine.plan.instance import Pass
from kro_gitops.engine.plan.offline import UID
from kro_gitops.engine.plan.placeholder import PartText, Unknown, is_unknown, shown, unknowns
from kro_gitops.preview.rejections import rejections, renderer_of
from kro_gitops.preview.render import Child, Rendering
from kro_gitops.preview.repository import Repository, compile_repository
from kro_gitops.source.files.manifests import read
from kube_objects.builtins.catalog import catalog
from kube_objects.problems import Finding, Severity
from kube_objects.refs import KubeObject, ObjectRef
from tests.equivalence.controller import COLLECTION_SIZE, Controller, Record

BOUNDS = Bounds(COLLECTION_SIZE)
_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str,
    "int": int,
    "uint": int,
    "double": (int, float),
    "bool": bool,
    "list": list,
    "map": dict,
}


def compiled(objects: Sequence[KubeObject]) -> Repository:
    """Compile objects as the manifests of a repository."""
    text = "---\n".join(f"{json.dumps(obj)}\n" for obj in objects)
    repository = compile_repository(
        read([("all.yaml", text.encode())]), catalog, Options(omit=True)
    )
    # They are as a source has applied them, with the marks that it sets.
    repository.findings = [
        each for each in repository.findings if each.problem.code != "reserved-metadata"
    ]
    errors = [
        finding.problem.summary
        for finding in repository.findings
        if finding.problem.severity is Severity.ERROR
    ]
    assert not errors, errors
    return repository


def rendered(repository: Repository, rules: Rules | None = None) -> list[Rendering]:
    """Render every instance, and the instances among their children."""
    renderer = renderer_of(repository, rules=rules)
    found = [renderer.render(graph, each.object, BOUNDS) for each, graph in repository.instances]
    return [part for rendering in found for part in rendering.all()]


def compare(
    controller: Controller,
    objects: Sequence[KubeObject],
    *,
    besides: Sequence[KubeObject] = (),
    in_order: bool = False,
) -> tuple[list[Rendering], list[Finding]]:
    """
    Check that a repository comes to the same in both; return what was rendered and found.

    Objects `besides` are in the cluster, and in no repository. With `in_order`, each object is
    reconciled before the next is applied: two of them want the same.
    """
    repository = compiled(objects)
    renderings = rendered(repository, controller.rules)
    findings = rejections(repository, BOUNDS, controller.rules)
    for part in [[each] for each in (*besides, *objects)] if in_order else [[*besides, *objects]]:
        controller.reconcile(part)
    uncertain = set(_compare_rejections(controller.record, renderings))
    _compare_children(controller.record, renderings, repository, uncertain)
    codes = [(each.problem.code, each.problem.summary.partition(": ")[2]) for each in findings]
    assert codes == [
        (failure.code, failure.text)
        for rendering in renderings
        for failure in rendering.failures
        if not failure.is_pending
    ]
    return renderings, findings


def _compare_rejections(record: Record, renderings: list[Rendering]) -> Iterator[ObjectRef]:
    """Yield the instances that the controller rejects for a value that only the cluster knows."""
    for rendering in renderings:
        run = record.passes.get(rendering.instance)
        assert run is not None, f"{rendering.instance} was never planned"
        theirs = [(fault.node, fault.code, fault.text) for fault in run.faults]
        ours = [
            (failure.node, failure.code, failure.text)
            for failure in rendering.failures
            if not failure.is_pending
        ]
        if theirs and not ours and _is_uncertain(rendering, theirs[0][0]):
            yield rendering.instance
            continue
        failed = _failed(run, rendering)
        assert theirs == ours[:1] or (not theirs and failed == [o[2] for o in ours]), (
            f"{rendering.instance}: controller {theirs or failed}, render {ours}"
        )
        if not theirs:
            pending = {name for name, each in run.runs.items() if each.pending}
            assert pending >= rendering.waiting.keys(), f"{pending} {rendering.waiting}"
            skipped = [name for name, each in run.runs.items() if each.state == "SKIPPED"]
            assert rendering.excluded == skipped or any(child.maybe for child in rendering.children)


def _compare_children(
    record: Record,
    renderings: list[Rendering],
    repository: Repository,
    uncertain: set[ObjectRef],
) -> None:
    ours: dict[ObjectRef, KubeObject] = {}
    maybe: set[ObjectRef] = set()
    patterns: list[Child] = []
    # Once an instance is rejected, what else is applied depends on how soon children get ready.
    timed: set[ObjectRef] = set()
    for rendering in renderings:
        if rendering.failures and _waits(repository.graphs[rendering.definition]):
            timed.add(rendering.instance)
        for child in rendering.children:
            metadata, ref = child.object["metadata"], ObjectRef.of(child.object)
            if child.each or any(is_unknown(metadata.get(key)) for key in ("name", "namespace")):
                patterns.append(child)
                continue
            ours[ref] = child.object
            if child.maybe is not None or rendering.instance in uncertain:
                maybe.add(ref)
    instances = [rendering.instance for rendering in renderings]
    theirs = {
        ref: obj
        for ref, obj in record.applied.items()
        if any(_is_of(obj, instance) for instance in instances)
    }
    missing = ours.keys() - theirs.keys() - maybe - record.failed.keys()
    assert not missing, f"rendered, but not applied: {sorted(map(str, missing))}"
    for ref, applied in theirs.items():
        if ref in ours:
            found = list(differences(ours[ref], applied))
        elif any(_is_of(applied, instance) for instance in timed):
            continue
        else:
            tried = [list(differences(each.object, applied)) for each in patterns]
            found = min(tried, key=len, default=["applied, but not rendered"])
        assert not found, f"{ref}:\n" + "\n".join(found)


def differences(ours: Any, theirs: Any, path: str = "") -> Iterator[str]:
    """Yield where an applied object is not what was rendered."""
    if is_unknown(ours):
        yield from () if _fits(ours, theirs) else (f"{path}: {theirs!r} is no {ours.type} {ours}",)
    elif isinstance(ours, dict) and isinstance(theirs, dict):
        for key in ours.keys() | theirs.keys():
            if key not in ours:
                yield f"{path}.{key}: applied {theirs[key]!r}, not rendered"
            elif key in theirs:
                yield from differences(ours[key], theirs[key], f"{path}.{key}")
            elif not _is_optional(ours[key]):
                yield f"{path}.{key}: rendered {shown(ours[key])!r}, not applied"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif ours != theirs or type(ours) is not type(theirs):
        yield f"{path}: rendered {shown(ours)!r}, applied {theirs!r}"


def _is_optional(value: object) -> bool:
    return isinstance(value, Unknown) and value.type.startswith("optional_type(")


def _fits(unknown: Unknown, value: Any) -> bool:
    """Return whether a value is one that a placeholder stands for."""
    if isinstance(unknown, PartText):
        pieces = (re.escape(p) if isinstance(p, str) else ".*" for p in unknown.pieces)
        return isinstance(value, str) and bool(re.fullmatch("".join(pieces), value, re.DOTALL))
    name = unknown.type.removeprefix("optional_type(")
    kind = _TYPES.get(name.partition("(")[0].rstrip(")"))
    return kind is None or isinstance(value, kind)


def _is_of(obj: KubeObject, instance: ObjectRef) -> bool:
    labels: dict[str, str] = obj["metadata"]["labels"]
    return (
        labels["kro.run/instance-name"] == label_value(instance.name)
        and labels["kro.run/instance-kind"] == instance.kind.kind
        and labels["kro.run/instance-group"] == instance.kind.group
        and labels.get("kro.run/instance-namespace", "") == instance.namespace
    )


def _waits(graph: Graph) -> bool:
    """Return whether the order of events depends on more than the graph."""
    return any(
        node.ready_when
        or any(".status" in read for each in node.fields for read in each.expression.reads)
        for node in graph.nodes.values()
    )


def _is_uncertain(rendering: Rendering, node: str) -> bool:
    """Return whether what a node makes depends on more than the uid of the instance."""
    return any(
        child.each is not None
        or any(set(found.reads) - set(UID.reads) for _, found in unknowns(child.object))
        for child in rendering.children
        if child.node == node
    )


def _failed(run: Pass, rendering: Rendering) -> list[str]:
    """Return what went wrong with single nodes of a pass, apart from those that may not be."""
    found: list[str] = []
    vague = {each.node for each in rendering.children if each.maybe or each.each}
    for name, each in run.runs.items():
        if name in vague:
            continue
        # Who else set fields of an object is known in a cluster only.
        texts = (text for _, text in sorted(each.failures.items()))
        found += (re.sub(r" \(its field managers: [^)]*\)$", "", text) for text in texts)
        try:
            run.why_not_ready(name)
        except Fatal as error:
            found.append(error.message)
    return found
