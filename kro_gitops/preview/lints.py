"""
Things that are allowed and almost never meant.

A lint has a code `KG-xNN`, is a warning, and never changes what is built. One function each.
"""

from collections.abc import Iterator

from kro_gitops.engine.graph.nodes import Graph, NodeKind
from kube_objects.paths import format_path, leaves
from kube_objects.problems import Problem, Severity, Spot


def lint_graph(graph: Graph) -> Iterator[Problem]:
    """Yield every warning about a definition that compiles."""
    yield from _unclosed_expressions(graph)
    yield from _pruned_status(graph)
    yield from _selector_readiness(graph)


def _warning(code: str, summary: str, spot: Spot, hint: str) -> Problem:
    return Problem(code, summary, spot, hint=hint, severity=Severity.WARNING)


def _unclosed_expressions(graph: Graph) -> Iterator[Problem]:
    """KG-E01: a `${` that never closes stays text, silently."""
    for resource in graph.definition.resources:
        expressions = {item.path for item in graph.nodes[resource.id].fields}
        for path, value in leaves(resource.body):
            if isinstance(value, str) and "${" in value and path not in expressions:
                start = value.index("${")
                yield _warning(
                    "KG-E01",
                    f"'${{' at {format_path(path)} is never closed, so the value stays plain text",
                    Spot((*resource.body_path, *path), start, start + 2),
                    "close it with '}'; inside expressions braces and double quotes must pair up",
                )


def _pruned_status(graph: Graph) -> Iterator[Problem]:
    """KG-E02: a projected object without declared fields arrives empty."""
    properties = graph.served.schema["properties"].get("status", {}).get("properties", {})
    for field in graph.status:
        if len(field.path) != 1 or not field.expression.template.is_standalone:
            continue
        inferred = properties.get(field.path[0], {})
        if inferred == {"type": "object"}:
            yield _warning(
                "KG-E02",
                f"status.{format_path(field.path)} has no declared fields, "
                "so the API server drops its content",
                Spot(field.expression.place),
                "project the fields you need one by one, or turn the object into text "
                "with json.marshal(…)",
            )


def _selector_readiness(graph: Graph) -> Iterator[Problem]:
    """KG-E03: kro never finds a selector reference with `readyWhen` ready."""
    for node in graph.nodes.values():
        if node.kind is NodeKind.EXTERNAL_COLLECTION and node.ready_when:
            yield _warning(
                "KG-E03",
                f"readyWhen of '{node.id}' is never satisfied in kro: "
                "references by selector are evaluated without it",
                Spot(node.ready_when[0].place),
                "put the condition into includeWhen of the resources that use it",
            )
