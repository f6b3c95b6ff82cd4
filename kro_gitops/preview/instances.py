"""
Instances against the schema of their kind, as the API server would validate them.

Types, required fields, enums, patterns and CEL rules hold for the object with its defaults filled
in; unknown fields are errors, as they are to `kubectl apply`.
"""

import re
from collections.abc import Iterator

from kro_gitops.engine.graph.nodes import Graph
from kube_cel.validation_rules import check_rules
from kube_objects.problems import Problem, Severity, Spot
from kube_objects.refs import KubeObject
from kube_objects.schemas import KindSchema
from kube_objects.validation import Checks, validate

_CHECKS = Checks(rules=check_rules)
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def check_instance(instance: KubeObject, graph: Graph) -> Iterator[Problem]:
    """Yield the problems for which the API server rejects an instance, or should."""
    yield from check_custom_resource(instance, graph.served)
    required = graph.served.schema["properties"]["spec"].get("required")
    if "spec" not in instance and required:
        # The generated CRD does not require `spec` itself: nothing else reports this.
        yield Problem(
            "KG-I01",
            f"{graph.served.kind.kind} has no spec, although it has required fields: "
            f"{', '.join(required)}",
            Spot(("kind",)),
            hint="the API server accepts this, and every expression that reads them waits forever",
            severity=Severity.WARNING,
        )


def check_custom_resource(obj: KubeObject, served: KindSchema) -> Iterator[Problem]:
    """Yield the problems for which the API server rejects an object of a custom kind."""
    yield from _name_problems(obj, served)
    yield from validate(obj, served.schema, _CHECKS)


def _name_problems(obj: KubeObject, served: KindSchema) -> Iterator[Problem]:
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict):
        return
    name = metadata.get("name")
    if isinstance(name, str) and (len(name) > 253 or not _SUBDOMAIN.fullmatch(name)):
        yield Problem(
            "invalid-name",
            f"metadata.name '{name}' is not a valid object name",
            Spot(("metadata", "name")),
            hint="use lower-case letters, digits, '-' and '.', a letter or digit at both ends",
        )
    if not served.namespaced and metadata.get("namespace"):
        yield Problem(
            "namespace-on-cluster-scoped",
            f"{served.kind.kind} is cluster-scoped and has no metadata.namespace",
            Spot(("metadata", "namespace"), on_key=True),
            hint="remove it",
        )
