"""
Finds the dependencies between nodes in their expressions (step 8 of kro's build).

Template, `forEach` and `includeWhen` expressions cause dependencies; `readyWhen` reads only its own
node and causes none. Each dependency keeps the fields that cause it, so that messages can show why
one resource waits for another.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from kro_gitops.engine.graph import dag
from kro_gitops.engine.graph.expressions import Draft
from kro_gitops.engine.graph.nodes import (
    EACH,
    RUNTIME,
    SCHEMA,
    Dependency,
    FieldKind,
    NodeKind,
    Use,
)
from kro_gitops.engine.graph.templates import NodeDraft
from kube_cel.environment import Environment
from kube_cel.hints import hint_for_name
from kube_cel.issues import ParseError
from kube_objects.paths import format_path
from kube_objects.problems import Problem, Spot

_PREFIX = "failed to build dependency graph: "
_NAME = ("metadata", "name")
_NAMESPACE = ("metadata", "namespace")


@dataclass(slots=True)
class Dependencies:
    """The edges between nodes and what kind of value each template field is."""

    dependencies: dict[str, tuple[Dependency, ...]] = field(default_factory=dict)
    field_kinds: dict[tuple[str, int], FieldKind] = field(default_factory=dict)
    order: tuple[str, ...] = ()
    waves: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Context:
    """The names that an expression of a node may use, and the prefix of its error messages."""

    node: NodeDraft
    known: frozenset[str]
    environment: Environment
    omit_allowed: bool
    prefix: str
    iterators: tuple[str, ...] = ()


def find_dependencies(
    nodes: list[NodeDraft], environment: Environment, *, omit_allowed: bool
) -> Dependencies:
    """Inspect every expression, list the dependencies, and put the nodes in order."""
    wiring = Dependencies()
    known = frozenset({*(node.id for node in nodes), SCHEMA, EACH, RUNTIME})
    for node in nodes:
        context = _Context(node, known, environment, omit_allowed, _PREFIX)
        _find_node_dependencies(context, wiring)
    needs = {node.id: [d.id for d in wiring.dependencies[node.id]] for node in nodes}
    by_id = {node.id: node for node in nodes}
    if cycle := dag.find_cycle(needs):
        text = f"graph contains a cycle: {' -> '.join(cycle)}"
        spot = _use_spot(by_id[cycle[0]], cycle[1])
        hint = "remove one of the expressions on this path"
        wiring.problems.append(Problem("dependency-cycle", text, spot, _PREFIX + text, hint))
    else:
        wiring.order = dag.order(needs)
        wiring.waves = dag.waves(needs)
    return wiring


def _find_node_dependencies(context: _Context, wiring: Dependencies) -> None:
    node = context.node
    uses: dict[str, list[Use]] = {}
    in_identity: set[str] = set()
    in_fields = _narrowed(context, "failed to extract dependencies: ", node.iterators)
    for index, item in enumerate(node.fields):
        found = _inspect(item.draft, in_fields)
        wiring.problems.extend(found.problems)
        _add_uses(uses, found, format_path(item.path))
        wiring.field_kinds[node.id, index] = found.field_kind
        if item.path == _NAME or (
            item.path == _NAMESPACE and (node.served is None or node.served.namespaced)
        ):
            in_identity.update(found.iterators)
    wiring.problems.extend(_identity_problems(node, in_identity))
    for name, draft in node.for_each:
        prefix = f'failed to extract dependencies from forEach iterator "{name}": '
        found = _inspect(draft, _narrowed(context, prefix, node.iterators))
        wiring.problems.extend(found.problems)
        if found.iterators:
            draft.is_faulty = True
            text = (
                f'node "{node.id}": forEach iterator "{name}" cannot reference other iterators '
                f"[{' '.join(found.iterators)}] - "
                "forEach iterators are independent (cartesian product)"
            )
            spot = draft.name_spot(found.iterators[0])
            wiring.problems.append(
                Problem("iterator-depends-on-iterator", text, spot, _PREFIX + text)
            )
        _add_uses(uses, found, f"forEach {name}")
    for index, draft in enumerate(node.include_when):
        prefix = "failed to extract dependencies from includeWhen: "
        found = _inspect(draft, _narrowed(context, prefix, ()))
        wiring.problems.extend(found.problems)
        _add_uses(uses, found, f"includeWhen[{index}]")
    if node.id in uses:
        text = "self references are not allowed"
        spot = _use_spot(node, node.id)
        hint = f"'{node.id}' cannot read itself: use schema.… or another resource"
        wiring.problems.append(Problem("self-reference", text, spot, _PREFIX + text, hint))
    if EACH in uses:
        text = f"node {EACH} does not exist"
        hint = "'each' exists only in readyWhen of a resource with forEach"
        wiring.problems.append(
            Problem("unknown-node", text, _use_spot(node, EACH), _PREFIX + text, hint)
        )
    ids = context.known - {SCHEMA, EACH, RUNTIME, node.id}
    wiring.dependencies[node.id] = tuple(
        Dependency(name, tuple(found)) for name, found in uses.items() if name in ids
    )


def _narrowed(context: _Context, prefix: str, iterators: tuple[str, ...]) -> _Context:
    return _Context(
        context.node,
        context.known,
        context.environment,
        context.omit_allowed,
        _PREFIX + prefix,
        iterators,
    )


@dataclass(slots=True)
class _Inspected:
    names: tuple[str, ...] = ()
    iterators: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    problems: list[Problem] = field(default_factory=list)

    @property
    def field_kind(self) -> FieldKind:
        if self.iterators:
            return FieldKind.ITERATION
        return FieldKind.DYNAMIC if self.names else FieldKind.STATIC


def _inspect(draft: Draft, context: _Context) -> _Inspected:
    known = context.known.union(context.iterators) if context.iterators else context.known
    try:
        draft.inspect(known, context.environment)
    except ParseError as error:
        draft.is_faulty = True
        prefix = f"{context.prefix}failed to inspect expression: parse error: "
        return _Inspected(problems=draft.issue_problems(error, prefix))
    references = draft.references
    assert references is not None
    names = tuple(n for n in references.identifiers if n != SCHEMA and n not in context.iterators)
    problems: list[Problem] = []
    assert draft.references is not None
    if draft.references.uses_omit and not context.omit_allowed:
        text = "omit() requires the CELOmitFunction feature gate to be enabled"
        hint = "enable it with --feature CELOmitFunction, in the cluster too"
        problems.append(Problem("feature-gate", text, draft.spot(), context.prefix + text, hint))
    if RUNTIME in names:
        text = "runtime is only available in status.conditions expressions"
        problems.append(
            Problem("runtime-outside-conditions", text, draft.spot(), context.prefix + text)
        )
    problems += unknown_name_problems(draft, context.prefix, known, context.environment.functions)
    draft.is_faulty = draft.is_faulty or bool(problems) or EACH in names
    return _Inspected(
        names=tuple(name for name in names if name != RUNTIME),
        iterators=tuple(n for n in references.identifiers if n in context.iterators),
        reads=references.paths,
        problems=problems,
    )


def unknown_name_problems(
    draft: Draft,
    prefix: str,
    known: Iterable[str],
    functions: Iterable[str],
    *,
    all_at_once: bool = False,
) -> Iterator[Problem]:
    """Yield a problem for each name or function that does not exist."""
    references = draft.references
    assert references is not None
    for unknown in references.unknown:
        listed = " ".join(references.unknown) if all_at_once else unknown
        text = f"references unknown identifiers: [{listed}]"
        yield Problem(
            "unknown-identifier",
            f"references unknown identifiers: [{unknown}]",
            draft.name_spot(unknown),
            prefix + text,
            hint=hint_for_name(known, unknown),
        )
    for unknown in references.unknown_functions:
        text = f"uses unknown functions: [{{{unknown}}}]"
        hint = hint_for_name(functions, unknown)
        yield Problem("unknown-function", text, draft.name_spot(unknown), prefix + text, hint)


def _add_uses(uses: dict[str, list[Use]], found: _Inspected, where: str) -> None:
    for name in found.names:
        reads = tuple(r for r in found.reads if r == name or r.startswith(f"{name}."))
        uses.setdefault(name, []).append(Use(where, reads))


def _identity_problems(node: NodeDraft, in_identity: set[str]) -> Iterator[Problem]:
    # A name that is no identifier cannot be used at all, and is reported as such.
    missing = [n for n in node.iterators if n not in in_identity and n.isidentifier()]
    if not missing or node.kind is not NodeKind.COLLECTION:
        return
    text = (
        f'node "{node.id}": all forEach dimensions must be used to produce a unique '
        f"resource identity, missing: [{' '.join(missing)}]"
    )
    metadata = node.spec.body.get("metadata")
    has_name = isinstance(metadata, dict) and "name" in metadata
    path = (*node.spec.body_path, "metadata", "name") if has_name else node.spec.body_path
    example = f"${{schema.metadata.name}}-${{{missing[0]}}}"
    hint = f"use the iterator in metadata.name, for example {example}"
    yield Problem("iterator-not-in-identity", text, Spot(path), _PREFIX + text, hint)


def _use_spot(node: NodeDraft, name: str) -> Spot:
    drafts = [item.draft for item in node.fields]
    drafts += [draft for _, draft in node.for_each] + node.include_when
    for draft in drafts:
        if draft.references is not None and name in draft.references.identifiers:
            return draft.name_spot(name)
    return Spot(node.spec.path)
