"""
YAML as an API server reads and writes it.

Loaded when a client sends or accepts YAML: nearly all use JSON, and the library takes a noticeable
part of a start.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/runtime/serializer/json/json.go Serializer.Decode,
Serializer.doEncode.
"""

from typing import Any

import yaml

from kube_objects.refs import KubeObject
from kube_objects.yaml_values import Limits, build
from kube_sandbox.endpoints.json_bodies import BodyError
from kube_sandbox.nesting import MAX_DEPTH

_LIMITS = Limits(depth=MAX_DEPTH, aliases=10_000)


def parsed(data: bytes) -> Any:
    """Return what is in a body, or raise `BodyError` with the message of Go's YAML parser."""
    text = data.decode(errors="replace")
    # Words mean what they mean to Go, and aliases cannot grow beyond measure.
    built = build(text, _LIMITS)
    if built.usable:
        return built.value
    error, last = built.syntax_error, built.complaints[-1]
    if isinstance(error, yaml.MarkedYAMLError):
        # What is wrong, and in which line, as Go counts them.
        line = error.problem_mark.line if error.problem_mark is not None else 0
        if line and isinstance(error, yaml.scanner.ScannerError):
            line += 1
        if not line and error.context_mark is not None:
            line = error.context_mark.line
        why = f"line {line}: {error.problem}" if line else f"{error.problem}"
    elif error is not None:
        why = " ".join(str(error).split())
    elif last.problem.code == "too-deep":
        line = text.count("\n", 0, last.start) + 1
        why = f"line {line}: exceeded max depth of {MAX_DEPTH}"
    else:
        why = last.problem.summary
    raise BodyError(f"yaml: {why}")


def printed(obj: KubeObject) -> bytes:
    """Return an object as YAML."""
    return yaml.safe_dump(obj).encode()
