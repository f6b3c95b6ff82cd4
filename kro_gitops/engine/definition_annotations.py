"""
The annotations of a definition that change how its kind is served.

They are no part of a graph: a graph is cached by the definition's spec, and would keep what an
annotation said before. The controller reads them when it serves the kind, with the same parsers.
"""

from collections.abc import Callable, Mapping
from typing import Any

from kro_gitops.engine.child_health import parse_readiness
from kro_gitops.engine.deletion_policy import POLICY_KEYS, policy_of
from kro_gitops.engine.plan.drift import DEFAULT_DRIFT_RULES, with_annotations
from kro_gitops.metadata import DRIFT_ADDED_FIELDS, DRIFT_IGNORE, READINESS
from kube_objects.errors import RefusedError
from kube_objects.problems import Problem, Spot
from kube_objects.refs import KubeObject, as_mapping


def _parse_drift(annotations: Mapping[str, Any]) -> object:
    return with_annotations(DEFAULT_DRIFT_RULES, {"metadata": {"annotations": annotations}})


_PARSERS: Mapping[str, Callable[[Mapping[str, Any]], object]] = {
    READINESS: parse_readiness,
    DRIFT_ADDED_FIELDS: _parse_drift,
    DRIFT_IGNORE: _parse_drift,
    **dict.fromkeys(POLICY_KEYS, policy_of),
}


def check_annotations(definition: KubeObject) -> list[Problem]:
    """Return what the controller would reject in the annotations of a definition."""
    annotations = as_mapping(as_mapping(definition.get("metadata")).get("annotations"))
    problems = []
    for key, parse in _PARSERS.items():
        value = annotations.get(key)
        if not isinstance(value, str):
            continue  # absent, or reported as a value of the wrong type
        try:
            parse({key: value})
        except RefusedError as error:
            spot = Spot(("metadata", "annotations", key))
            problems.append(Problem(error.code, error.message, spot, hint=error.hint))
    return problems
