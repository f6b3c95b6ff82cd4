"""
YAML as an API server reads and writes it: JSON in another dress.

Loaded when somebody sends or wants YAML: nearly everybody speaks JSON, and the library takes a
noticeable part of a start.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/runtime/serializer/json/json.go Serializer.Decode,
Serializer.doEncode.
"""

from typing import Any

import yaml

from kube_objects.refs import KubeObject
from kube_objects.yaml_values import Limits, build
from kube_sandbox import api_errors

_LIMITS = Limits(depth=1000, aliases=10_000)


def parsed(data: bytes) -> Any:
    """Return what is in a body, or raise 400."""
    text = data.decode(errors="replace")
    # Words mean what they mean to Go, and aliases cannot grow beyond measure.
    built = build(text, _LIMITS)
    if built.usable:
        return built.value
    # What is wrong with YAML, and in which line, as Go counts them.
    # The library in C has the words of Go's; it may not be there.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for _ in yaml.parse(text, loader):
            pass
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark is not None else 0
        if line and isinstance(error, yaml.scanner.ScannerError):
            line += 1
        if not line and error.context_mark is not None:
            line = error.context_mark.line
        syntax_error = f"line {line}: {error.problem}" if line else f"{error.problem}"
    except yaml.YAMLError as error:
        syntax_error = " ".join(str(error).split())
    else:
        syntax_error = ""
    why = syntax_error or built.complaints[-1].problem.summary
    text = f"error converting YAML to JSON: yaml: {why}"
    raise api_errors.bad_request(f"error decoding YAML: {text}")


def printed(obj: KubeObject) -> bytes:
    """Return an object as YAML."""
    return yaml.safe_dump(obj).encode()
