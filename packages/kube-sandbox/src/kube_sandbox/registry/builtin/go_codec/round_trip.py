"""
A body as Go would hold it: what its decoder makes of it, and what its encoder writes of that.

A real API server decodes a body into a struct of its kind and answers with the struct encoded
again. On the way fields it does not know are lost, `null` becomes nothing, a zero is dropped
from a field that is left out when it is empty, and structs that are no pointers appear though
nobody wrote them. The data beside this file says all that of every struct (see
`tools/package_data/typed_form.py`). A struct is compiled into a reader when it is first met.

What a client hears of a body that does not fit: a `StatusError` 400 for a value of another type,
and a list of texts (`unknown field "spec.foo"`) for what only strict decoding minds.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/runtime/serializer/json/json.go Serializer.Decode,
Serializer.unmarshal.
"""

from functools import cache

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.api_errors import StatusError, bad_request
from kube_sandbox.registry.builtin.go_codec.conversion_errors import conversion_error
from kube_sandbox.registry.builtin.go_codec.decoding_errors import decoding_error
from kube_sandbox.registry.builtin.go_codec.readers import DecodeTypeError, reader_of
from kube_sandbox.registry.builtin.go_codec.strict_decoding import MAX_STRICT_ERRORS, strict_errors
from kube_sandbox.registry.builtin.go_codec.struct_types import types


class GoRoundTrip:
    """How the objects of one kind are read."""

    def __init__(self, kind: Kind, node: int) -> None:
        self.kind = kind
        self._node = node
        self._read = reader_of(node)

    def read(self, body: KubeObject) -> tuple[KubeObject, list[str]]:
        """
        Return the object in its normal form, and its unknown fields as strict decoding tells them.

        Raise a StatusError for a value of the wrong type. The body is not changed and shares
        nothing with the result that anyone would change.
        """
        strict: list[str] = []
        try:
            found: KubeObject = self._read(body, strict)
        except DecodeTypeError as misfit:
            told = decoding_error(self._node, body) or misfit
            raise self.refusal(str(told)) from None
        return found, [f'unknown field "{each}"' for each in dict.fromkeys(strict)][
            :MAX_STRICT_ERRORS
        ]

    def normal(self, body: KubeObject) -> KubeObject:
        """Return the object in its normal form, whatever strict decoding minds."""
        return self.read(body)[0]

    def refusal(self, why: str) -> StatusError:
        """Say that a body cannot be decoded."""
        name = self.kind.kind
        return bad_request(
            f'{name} in version "{self.kind.version}" cannot be handled as a {name}: {why}'
        )

    def conversion_error(self, body: KubeObject) -> str:
        """Return why a body cannot be converted from a map of values; empty if it can."""
        return conversion_error(self._node, body)

    def strict_errors(self, raw: bytes) -> list[str]:
        """Return all that strict decoding minds in a body's text, in the order of the text."""
        return strict_errors(self._node, raw)


def round_trip_of(kind: Kind) -> GoRoundTrip | None:
    """Return how a built-in kind is read, or `None`; the same answer every time."""
    return _form(kind)


@cache
def _form(kind: Kind) -> GoRoundTrip | None:
    node = types()["kinds"].get(f"{kind.api_version} {kind.kind}")
    return None if node is None else GoRoundTrip(kind, node)


def strict_refusal(texts: list[str]) -> str:
    """Word what strict decoding minds as it is told in a refusal."""
    return f"strict decoding error: {', '.join(texts)}"
