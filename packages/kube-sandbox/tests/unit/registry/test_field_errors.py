"""What is wrong with a field, in the words of the API server."""

import pytest

from kube_sandbox.api_errors import not_found
from kube_sandbox.registry.field_errors import FieldError, invalid, not_supported


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (invalid("spec.a", "a\x01\x7f", "is odd"), r'spec.a: Invalid value: "a\x01\x7f": is odd'),
        (invalid("spec.a", "\u200bü", "is odd"), 'spec.a: Invalid value: "\\u200bü": is odd'),
        (not_supported("a", "\a", ["\v"]), r'a: Unsupported value: "\a": supported values: "\v"'),
    ],
)
def test_texts_are_quoted_as_go_quotes_them(error: FieldError, text: str) -> None:
    """Go's %q writes control characters as `\\x01`, JSON as `\\u0001`."""
    assert str(error) == text


def test_names_in_a_status_are_quoted_as_go_quotes_them() -> None:
    assert not_found("", "pods", "a\x01").message == r'pods "a\x01" not found'
