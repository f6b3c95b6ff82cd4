"""
Objects of a repository against their kinds, as the API server would validate them.

Types, required fields, enums, patterns and CEL rules hold for the object with its defaults filled
in; unknown fields are errors, as they are to `kubectl apply` and to a source.
"""

from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from kro_gitops.engine.graph.nodes import Graph
from kro_gitops.preview.admission.object_metadata import data_key_causes, metadata_causes
from kro_gitops.preview.cluster import AssumedCluster
from kro_gitops.source.api.parse import InvalidSourceError, read_spec
from kro_gitops.source.api.validate import Defaults
from kro_gitops.source.plan.desired import (
    ReservedKeyError,
    check_reserved_keys,
    without_server_fields,
)
from kro_gitops.source.plan.rejections import is_secret, problem_of_cause, problems_of
from kube_cel.validation_rules import check_rules
from kube_objects.problems import Problem, Severity, Spot
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import KindSchema
from kube_objects.validation import Checks, validate

_CUSTOM = Checks(rules=check_rules)
_BUILTIN = Checks(built_in=True)
_SIMILAR = 0.75
_UNKNOWN_HINT = (
    "add its CRD or definition, name a folder of schemas with --schema-location, or list it with "
    "--external-kind"
)
_BUILTIN_SECRET = Checks(built_in=True, redact=lambda path: True)


def check_instance(instance: KubeObject, graph: Graph) -> Iterator[Problem]:
    """Yield everything the API server would reject in an instance, and what it should."""
    yield from check_custom_resource(instance, graph.served)
    required = graph.served.schema["properties"]["spec"].get("required")
    if "spec" not in instance and required:
        # The generated CRD does not require `spec` itself, so nobody else will say it.
        yield Problem(
            "KG-I01",
            f"{graph.served.kind.kind} has no spec, although it has required fields: "
            f"{', '.join(required)}",
            Spot(("kind",)),
            hint="the API server accepts this, and every expression that reads them waits forever",
            severity=Severity.WARNING,
        )


def check_custom_resource(obj: KubeObject, served: KindSchema) -> Iterator[Problem]:
    """Yield everything the API server would reject in an object of a custom kind."""
    yield from _metadata_problems(obj, served)
    yield from validate(without_server_fields(obj), served.schema, _CUSTOM)


def check_builtin(
    obj: KubeObject, served: KindSchema, cluster: AssumedCluster
) -> Iterator[Problem]:
    """Yield everything the API server would reject in an object of a built-in kind."""
    yield from _scope_problems(obj, served)
    obj = without_server_fields(obj)
    placed = in_namespace(obj, served, cluster.namespace)
    if cluster.error_of is not None:
        error = cluster.error_of(placed)
        if error is not None:
            yield from problems_of(error, placed, served, is_builtin=True)
        return
    for problem in validate(obj, served.schema, _BUILTIN_SECRET if is_secret(obj) else _BUILTIN):
        if problem.code != "missing-field":  # which of them are needed only a server knows
            yield problem
    metadata = placed.get("metadata") or {}
    for cause in (*metadata_causes(metadata, served.kind), *data_key_causes(obj)):
        yield problem_of_cause(cause, obj, is_hidden=is_secret(obj))


def in_namespace(obj: KubeObject, served: KindSchema, namespace: str) -> KubeObject:
    """Return an object as it is sent: in a namespace if its kind has one, else in none."""
    metadata = dict(obj.get("metadata") or {})
    if not served.namespaced:
        metadata.pop("namespace", None)
    elif not metadata.get("namespace"):
        metadata["namespace"] = namespace
    return {**obj, "metadata": metadata}


def unknown_kind(kind: Kind, known: Iterable[Kind]) -> Problem:
    """Return the problem of a kind that nothing serves, with the nearest one."""
    by_text = {f"{each.api_version} {each.kind}": each for each in known}
    text = f"{kind.api_version} {kind.kind}"
    same_kind = [name for name, each in by_text.items() if each.kind == kind.kind]
    same_group = [name for name, each in by_text.items() if each.api_version == kind.api_version]
    spot = Spot(("kind",))
    if same_kind:
        near = get_close_matches(text, same_kind, 1, 0.0)
        spot = Spot(("apiVersion",))
    elif same_group:
        near = get_close_matches(text, same_group, 1, _SIMILAR)
    else:
        near = get_close_matches(text, by_text, 1, _SIMILAR)
        spot = Spot(("apiVersion",))
    hint = f"did you mean {near[0]}?" if near else _UNKNOWN_HINT
    return Problem(
        "unknown-kind", f"there is no kind {kind.kind} in {kind.api_version}", spot, hint=hint
    )


def check_source(obj: KubeObject, served: KindSchema) -> Iterator[Problem]:
    """Yield everything that the API server or the controller would reject in a GitSource."""
    problems = list(check_custom_resource(obj, served))
    yield from problems
    if any(each.severity is Severity.ERROR for each in problems):
        return
    try:
        read_spec(obj, Defaults())
    except InvalidSourceError as error:
        yield from error.problems


def check_name(obj: KubeObject, kind: Kind) -> Iterator[Problem]:
    """Yield what is wrong with the metadata of an object."""
    for cause in metadata_causes(obj.get("metadata") or {}, kind):
        yield problem_of_cause(cause, obj)


def reserved_keys(obj: KubeObject) -> Iterator[Problem]:
    """Yield the labels and annotations that only a source may write."""
    try:
        check_reserved_keys(obj)
    except ReservedKeyError as error:
        yield error.problem


def _metadata_problems(obj: KubeObject, served: KindSchema) -> Iterator[Problem]:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return
    yield from _scope_problems(obj, served)
    for cause in metadata_causes(metadata, served.kind):
        yield problem_of_cause(cause, obj)


def _scope_problems(obj: KubeObject, served: KindSchema) -> Iterator[Problem]:
    metadata = obj.get("metadata")
    if not served.namespaced and isinstance(metadata, dict) and metadata.get("namespace"):
        yield Problem(
            "namespace-on-cluster-scoped",
            f"{served.kind.kind} is cluster-scoped and has no metadata.namespace",
            Spot(("metadata", "namespace"), on_key=True),
            hint="remove it",
            severity=Severity.WARNING,
        )
