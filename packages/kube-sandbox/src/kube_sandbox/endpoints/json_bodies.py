"""
JSON as an API server reads it: syntax errors have the messages of Go's decoder.

Follows go 1.25 encoding/json/scanner.go checkValid, scanner.pushParseState.
"""

from typing import Any

import orjson

from kube_sandbox.endpoints.go_json_errors import go_syntax_error
from kube_sandbox.nesting import MAX_DEPTH, is_too_deep


class BodyError(Exception):
    """A body that cannot be parsed; the message is that of Go's parser."""


def parsed(data: bytes) -> Any:
    """Return the value of a JSON text, or raise `BodyError`."""
    try:
        found = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise BodyError(go_syntax_error(data) or str(error)) from error
    # Few bodies have so many brackets that they can be too deep, and these are walked.
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH and is_too_deep(found):
        raise BodyError(go_syntax_error(data))
    return found
