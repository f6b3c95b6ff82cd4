"""The verbs around the strategies, as far as recordings of a real API server need them."""

import re
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.apiextensions.customresource.strategy import CustomStrategy
from kube_sandbox.apiextensions.customresourcedefinition.conditions import accepted
from kube_sandbox.apiextensions.customresourcedefinition.strategy import DefinitionStrategy
from kube_sandbox.apiextensions.served_kinds import served_of
from kube_sandbox.registry import object_meta
from kube_sandbox.registry.kinds import Served
from kube_sandbox.registry.strategy import RequestContext

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OCCASION = RequestContext(NOW)
NAMESPACE = "c-recorded"
_VOLATILE = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink")
_MADE = {"uid": "some", "creationTimestamp": "2026-01-01T00:00:00Z"}

Answer = dict[str, Any]


def define(crd: KubeObject, warnings: list[str]) -> KubeObject:
    """Create a definition; add warnings."""
    strategy = DefinitionStrategy()
    new = deepcopy(crd)
    _strictly(strategy.unreadable, strategy.decode(new))
    strategy.default(new)
    new["metadata"].update(_MADE)
    strategy.prepare_create(new, OCCASION)
    errors = strategy.validate_create(new, OCCASION)
    if errors:
        name = new["metadata"].get("name", "")
        raise api_errors.invalid("apiextensions.k8s.io", new["kind"], name, errors)
    warnings += strategy.warnings(new, None)
    return new


def established(crd: KubeObject) -> KubeObject:
    """Create a definition that is served."""
    return accepted(define(crd, []), [], NOW)


def serve(crd: KubeObject) -> Served:
    """Serve the only version of a definition."""
    return served_of(established(crd))[0]


def strategy_of(served: Served) -> CustomStrategy:
    """Return what a custom kind is served by."""
    assert isinstance(served.strategy, CustomStrategy)
    return served.strategy


def _strictly(refuse: Callable[[str], api_errors.StatusError], unknown: list[str]) -> None:
    if unknown:
        told = ", ".join(f'unknown field "{each}"' for each in unknown)
        raise refuse(f"strict decoding error: {told}")


def create(served: Served, obj: KubeObject, warnings: list[str], query: str = "") -> KubeObject:
    """Create an object; return it as it is shown, and add warnings."""
    strategy, new = strategy_of(served), deepcopy(obj)
    unknown = strategy.decode(new)
    if "Strict" in query:
        _strictly(strategy.unreadable, unknown)
    if "Ignore" not in query:
        warnings += [f'unknown field "{each}"' for each in unknown]
    strategy.default(new)
    new.setdefault("metadata", {}).update({**_MADE, "namespace": NAMESPACE})
    strategy.prepare_create(new, OCCASION)
    errors = strategy.validate_create(new, OCCASION)
    _refuse(served, new, errors or object_meta.common_create(new, served.namespaced))
    warnings += strategy.warnings(new, None)
    return strategy.shown(strategy.stored(new))


def update(
    served: Served, obj: KubeObject, old: KubeObject, warnings: list[str], subresource: str = ""
) -> KubeObject:
    """Replace an object that is shown; return it as it is shown, and add warnings."""
    strategy, new, live = strategy_of(served), deepcopy(obj), deepcopy(old)
    live["metadata"].update({**_MADE, "resourceVersion": "1"})
    new["metadata"] = {**live["metadata"], **new["metadata"]}
    warnings += [f'unknown field "{each}"' for each in strategy.decode(new)]
    strategy.default(new)
    strategy.prepare_update(new, live, subresource, OCCASION)
    errors = object_meta.common_update(new, live, served.namespaced)
    errors += strategy.validate_update(new, live, subresource, OCCASION)
    if errors:
        warnings += strategy.ratcheted_warnings(new)
    _refuse(served, new, errors)
    warnings += strategy.warnings(new, live)
    return strategy.shown(strategy.stored(new))


def _refuse(served: Served, obj: KubeObject, errors: list[Any]) -> None:
    if errors:
        name = obj["metadata"].get("name", "")
        raise api_errors.invalid(served.kind.group, served.kind.kind, name, errors)


def answer(do: Callable[[list[str]], KubeObject], code: int = 201) -> Answer:
    """Do something that may add warnings; return the answer in the form of the recordings."""
    found: Answer = {"code": code}
    warnings: list[str] = []
    try:
        obj = do(warnings)
        found["object"] = _without_volatile(obj)
    except api_errors.StatusError as error:
        found.update(code=error.code, reason=error.reason, message=_normal(error.message))
        causes = error.details.get("causes")
        if causes:
            found["causes"] = sorted(
                _normal(f"{each['field']}|{each['reason']}|{each['message']}") for each in causes
            )
            if len(causes) > 1:
                found["message"] = found["message"].partition(" is invalid: ")[0]
    if warnings:
        found["warnings"] = sorted(warnings)
    return found


def _without_volatile(obj: KubeObject) -> KubeObject:
    metadata = {key: part for key, part in obj["metadata"].items() if key not in _VOLATILE}
    return {**obj, "metadata": metadata}


def _normal(text: str) -> str:
    return re.sub(r"selfType\d*", "selfType", text)
