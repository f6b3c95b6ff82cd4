"""
The scale subresource of a custom kind: a `Scale` read from an object, and written into it.

Where the numbers are is said by paths of plain names, `.spec.replicas`.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go
ScaleREST.Get, scaleFromCustomResource, scaleUpdatedObjectInfo.UpdatedObject;
k8s.io/apiextensions-apiserver/pkg/registry/customresource/validator.go
customResourceValidator.ValidateScaleSpec;
k8s.io/apimachinery/pkg/apis/meta/v1/unstructured/helpers.go NestedInt64.
"""

from typing import Any

from kube_objects.go_format import format_value
from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.kinds import ScalePaths
from kube_sandbox.registry.strategy import Errors

_MAX_REPLICAS = 2**31 - 1
_MISSING: Any = object()
_IDENTITY = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_GO_TYPES = {
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
    dict: "map[string]interface {}",
    list: "[]interface {}",
    type(None): "<nil>",
}


class _WrongType(Exception):  # noqa: N818 - of what is found at a path
    """Something else stands where a number or a text should."""


def check_scale(obj: KubeObject, paths: ScalePaths, *, status_only: bool = False) -> Errors:
    """Return the validation errors of the fields that the scale of an object shows."""
    numbers = (
        [paths.status_replicas] if status_only else [paths.spec_replicas, paths.status_replicas]
    )
    found: Errors = []
    for path in numbers:
        try:
            number = _find(obj, path, int)
        except _WrongType as error:
            found.append(invalid(path, 0, str(error)))
            continue
        if number is _MISSING:
            continue
        if number < 0:
            found.append(invalid(path, number, "should be a non-negative integer"))
        elif number > _MAX_REPLICAS:
            message = f"should be less than or equal to {_MAX_REPLICAS}"
            found.append(invalid(path, number, message))
    if paths.selector:
        try:
            _find(obj, paths.selector, str)
        except _WrongType as error:
            found.append(invalid(paths.selector, "", str(error)))
    return found


def scale_of(obj: KubeObject, paths: ScalePaths, *, writing: bool = False) -> KubeObject:
    """Return an object's scale; it must have replicas, unless it is read to be written."""
    try:
        wanted = _find(obj, paths.spec_replicas, int)
        actual = _find(obj, paths.status_replicas, int)
        selector = _find(obj, paths.selector, str) if paths.selector else _MISSING
    except _WrongType as error:
        raise api_errors.StatusError(500, "", str(error)) from None
    if wanted is _MISSING and not writing:
        message = f'the spec replicas field "{paths.spec_replicas}" does not exist'
        raise api_errors.internal_error(message)
    metadata = obj["metadata"]
    status: KubeObject = {"replicas": 0 if actual is _MISSING else actual}
    if selector is not _MISSING and selector:
        status["selector"] = selector
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {key: metadata[key] for key in _IDENTITY if key in metadata},
        # Nought is left out, as Go leaves it out.
        "spec": {"replicas": wanted} if wanted is not _MISSING and wanted else {},
        "status": status,
    }


def has_replicas(obj: KubeObject, paths: ScalePaths) -> bool:
    """Return whether an object has the field that its scale would write."""
    try:
        return _find(obj, paths.spec_replicas, int) is not _MISSING
    except _WrongType:
        return True


def no_replicas(paths: ScalePaths) -> api_errors.StatusError:
    """Return the error that a scale was sent without the one thing it is for."""
    message = f'the spec replicas field "{paths.spec_replicas}" cannot be empty'
    return api_errors.bad_request(message)


def put_replicas(obj: KubeObject, paths: ScalePaths, replicas: int) -> None:
    """Write the number of a scale into its object; changes the object."""
    *steps, last = _steps(paths.spec_replicas)
    here = obj
    for step in steps:
        here = here.setdefault(step, {})
    here[last] = replicas


def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _find(obj: KubeObject, path: str, wanted: type) -> Any:
    here: Any = obj
    steps = _steps(path)
    for count, step in enumerate(steps, 1):
        if here is None:
            return _MISSING
        if not isinstance(here, dict):
            raise _wrong_type(steps[:count], here, "map[string]interface{}")
        if step not in here:
            return _MISSING
        here = here[step]
    if type(here) is not wanted:
        raise _wrong_type(steps, here, _GO_TYPES[wanted])
    return here


def _wrong_type(steps: list[str], value: Any, wanted: str) -> _WrongType:
    return _WrongType(
        f".{'.'.join(steps)} accessor error: {format_value(value)} is of the type "
        f"{_GO_TYPES[type(value)]}, expected {wanted}"
    )
