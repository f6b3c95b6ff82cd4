"""
The selector of an external reference: an object, or one expression that yields it.

Literal selectors are validated as Kubernetes validates label selectors; the values of expressions
are validated for each instance.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kro_gitops.engine.definition import ResourceSpec
from kro_gitops.engine.graph.template_walk import walk_by_schema
from kube_cel.interpolation import NestedExpression, scan
from kube_objects.builtins.catalog import catalog
from kube_objects.problems import Path, Problem, Spot

_ROOT: Path = ("metadata", "selector")
_SHAPE = (
    "selector must be a Kubernetes LabelSelector object or a CEL expression that resolves to one"
)
_SET_OPERATORS = ("In", "NotIn")
_PRESENCE_OPERATORS = ("Exists", "DoesNotExist")
_LABEL_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


def check_selector(spec: ResourceSpec) -> Iterator[Problem]:
    """Yield the problems of the selector of an external reference, if it has one."""
    if spec.external is None or not spec.has_selector:
        return
    prefix = (
        f'failed to build resource "{spec.id}": '
        f"invalid external ref metadata for resource {spec.id}: "
    )
    for problem in _faults(spec.external["metadata"]["selector"]):
        found = replace(problem, code="invalid-selector")
        yield found.below((*spec.path, "externalRef")).within(prefix)


def _faults(selector: Any) -> Iterator[Problem]:
    if isinstance(selector, str):
        try:
            is_standalone = scan(selector).is_standalone
        except NestedExpression:
            is_standalone = False
        if not is_standalone:
            yield Problem("invalid-selector", _SHAPE, Spot(_ROOT))
        return
    if not isinstance(selector, dict):
        yield Problem("invalid-selector", _SHAPE, Spot(_ROOT))
        return
    walked = walk_by_schema(selector, catalog.label_selector(), _ROOT)
    yield from walked.problems
    if not walked.problems and not walked.fields:
        found: list[tuple[Path, str]] = []
        for key, value in (selector.get("matchLabels") or {}).items():
            path = (*_ROOT, "matchLabels", key)
            if not _is_label_key(key):
                found.append((path, f'Invalid value: "{key}": not a valid label key'))
            if not _is_label_value(value):
                found.append((path, f'Invalid value: "{value}": not a valid label value'))
        for index, item in enumerate(selector.get("matchExpressions") or ()):
            place = (*_ROOT, "matchExpressions", index)
            found.extend(((*place, *below), text) for below, text in _requirement_faults(item))
        for path, text in found:
            yield Problem(
                "invalid-selector",
                f"{_show(path)}: {text}",
                Spot(path),
                f"invalid label selector: [{' '.join(f'{_show(p)}: {t}' for p, t in found)}]",
            )


def _requirement_faults(item: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    operator, values = item.get("operator"), item.get("values") or []
    if operator in _SET_OPERATORS:
        if not values:
            needed = "must be specified when `operator` is 'In' or 'NotIn'"
            yield ("values",), f"Required value: {needed}"
    elif operator in _PRESENCE_OPERATORS:
        if values:
            unwanted = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield ("values",), f"Forbidden: {unwanted}"
    else:
        yield ("operator",), f'Invalid value: "{operator}": not a valid selector operator'
    if not _is_label_key(item.get("key")):
        yield ("key",), f'Invalid value: "{item.get("key")}": not a valid label key'
    for index, value in enumerate(values):
        if not _is_label_value(value):
            yield ("values", index), f'Invalid value: "{value}": not a valid label value'


def _is_label_key(key: Any) -> bool:
    if not isinstance(key, str):
        return False
    prefix, slash, name = key.rpartition("/")
    if slash and (len(prefix) > 253 or not _SUBDOMAIN.fullmatch(prefix)):
        return False
    return len(name) <= 63 and _LABEL_NAME.fullmatch(name) is not None


def _is_label_value(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > 63:
        return False
    return value == "" or _LABEL_NAME.fullmatch(value) is not None


def _show(path: Path) -> str:
    # Kubernetes prints every key with a dot here, dots inside or not.
    return "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path).removeprefix(".")
