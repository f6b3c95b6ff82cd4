"""
A rendering as text: YAML for people, JSON for tools, file names for `--out`.
"""

import re
from collections.abc import Iterator
from typing import Any

from kro_gitops.engine.plan.placeholder import shown, unknowns
from kro_gitops.preview.render import Child, Rendering
from kro_gitops.telemetry.printable import printable, to_json
from kube_objects.refs import ObjectRef
from kube_objects.yaml_writer import to_yaml

_UNSAFE = re.compile(r"[^a-z0-9._-]+")


def as_yaml(rendering: Rendering) -> str:
    """Print every child as a YAML document, after a line that says what it is; then nested ones."""
    documents = []
    for part in rendering.all():
        documents += [child_yaml(part, child) for child in part.children]
        instance = printable(str(part.instance))
        documents += [f"---\n# {instance} · {printable(note)}\n" for note in _absences(part)]
    return "".join(documents)


def _absences(rendering: Rendering) -> Iterator[str]:
    for name in rendering.excluded:
        yield f"{name}: not included"
    for name, cause in rendering.waiting.items():
        reason = "cannot be rendered" if name == cause else f"waits for {cause}"
        yield f"{name}: {reason}"
    for failure in rendering.failures:
        if not failure.is_pending:
            yield f"{failure.node}: rejected ({failure.code})".removeprefix(": ")
    yield from rendering.notes


def child_yaml(rendering: Rendering, child: Child) -> str:
    """Print one child; placeholders carry their type as a comment."""
    heading = f"# {printable(str(rendering.instance))} · {child.node}"
    if child.maybe is not None:
        heading += f": may be created, {_reason(child.maybe)}"
    if child.each is not None:
        heading += f": one for each element, {_reason(child.each)}"
    comments = {path: found.type for path, found in unknowns(child.object)}
    return f"---\n{heading}\n{to_yaml(shown(child.object), comments)}"


def _reason(unknown: Any) -> str:
    return printable(f"known after apply: {', '.join(unknown.reads)}")


def as_json(renderings: list[Rendering]) -> str:
    """Print renderings as one JSON array; nested ones follow the one they are part of."""
    listed = [_rendering_dict(part) for rendering in renderings for part in rendering.all()]
    return to_json(listed)


def _rendering_dict(rendering: Rendering) -> dict[str, Any]:
    ref = rendering.instance
    return {
        "instance": {
            "apiVersion": ref.kind.api_version,
            "kind": ref.kind.kind,
            "namespace": ref.namespace,
            "name": ref.name,
        },
        "children": [_child_dict(child) for child in rendering.children],
        "excluded": rendering.excluded,
        "waiting": rendering.waiting,
        "failures": [
            {"node": each.node, "code": each.code, "text": each.text, "waits": each.is_pending}
            for each in rendering.failures
        ],
        "notes": rendering.notes,
    }


def _child_dict(child: Child) -> dict[str, Any]:
    found: dict[str, Any] = {"node": child.node, "object": shown(child.object)}
    if child.maybe is not None:
        found["mayBeCreated"] = list(child.maybe.reads)
    if child.each is not None:
        found["oneForEach"] = list(child.each.reads)
    found["unknown"] = [
        {"path": list(path), "type": unknown.type, "reads": list(unknown.reads)}
        for path, unknown in unknowns(child.object)
    ]
    return found


def file_name(rendering: Rendering, child: Child, index: int) -> str:
    """Name a child's file; names from manifests can never lead out of the folder."""
    ref = ObjectRef.of(shown(child.object))
    folder = rendering.instance
    parts = [_safe(folder.namespace or "cluster"), _safe(f"{folder.kind.kind}-{folder.name}")]
    return "/".join([*parts, f"{index:02}-{_safe(f'{ref.kind.kind}-{ref.name}')}.yaml"])


def _safe(text: str) -> str:
    return _UNSAFE.sub("-", text.lower()).strip(".-")[:200] or "unnamed"
