from typing import Any

import pytest

from kube_cel.library.encoders import GLOBALS
from kube_cel.library.quantity import Quantity
from kube_cel.values import (
    NONE,
    OMIT,
    Duration,
    EvaluationError,
    ListView,
    MapView,
    MixedMap,
    OptionalValue,
    Timestamp,
    TypeValue,
    UInt,
)


def call(name: str, *arguments: Any) -> Any:
    return GLOBALS[name](*arguments)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        pytest.param(b"", "", id="nothing"),
        pytest.param(b"hello", "aGVsbG8=", id="with padding"),
        pytest.param(b"\xff\xfe\xfd", "//79", id="the standard alphabet"),
    ],
)
def test_base64_there_and_back(data: bytes, text: str) -> None:
    assert call("base64.encode", data) == text
    assert call("base64.decode", text) == data


@pytest.mark.parametrize(
    ("text", "data"),
    [
        pytest.param("aGVsbG8", b"hello", id="without padding"),
        pytest.param("YR==", b"a", id="bits left over"),
        pytest.param("Y\nQ=\r\n=", b"a", id="over several lines"),
    ],
)
def test_base64_is_read_generously(text: str, data: bytes) -> None:
    assert call("base64.decode", text) == data


@pytest.mark.parametrize(
    ("text", "position"),
    [
        pytest.param("a", 0, id="one character too many"),
        pytest.param("a\n", 1, id="one character and a line end"),
        pytest.param("Y Q==", 1, id="a blank"),
        pytest.param("YQ=", 2, id="half the padding"),
        pytest.param("YQ==YQ==", 2, id="padding in the middle"),
        pytest.param("YWJj=", 4, id="padding where none is due"),
        pytest.param("-_", 0, id="the alphabet of URLs"),
        pytest.param("üYWü", 0, id="beyond ASCII"),
    ],
)
def test_bad_base64_is_refused_with_its_place(text: str, position: int) -> None:
    with pytest.raises(EvaluationError) as caught:
        call("base64.decode", text)
    assert caught.value.message == f"illegal base64 data at input byte {position}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        pytest.param(
            {"b": [1, None, True], "a": "<x>"}, r'{"a":"\u003cx\u003e","b":[1,null,true]}'
        ),
        pytest.param(2**53 - 1, "9007199254740991", id="the largest exact integer"),
        pytest.param(2**53, '"9007199254740992"', id="larger ones are strings"),
        pytest.param(-(2**53), '"-9007199254740992"', id="smaller ones too"),
        pytest.param(UInt(2**64 - 1), '"18446744073709551615"', id="unsigned ones too"),
        pytest.param(UInt(7), "7", id="a small uint"),
        pytest.param(2.0, "2", id="a whole double"),
        pytest.param(b"abc", '"YWJj"', id="bytes"),
        pytest.param(Timestamp(500_000_000, 7200), '"1970-01-01T02:00:00.5+02:00"', id="a time"),
        pytest.param(Duration(-3_600_000_000_000), '"-3600s"', id="a duration"),
        pytest.param(OptionalValue(OptionalValue(UInt(1))), "1", id="an optional"),
        pytest.param(MapView({"when": "2024"}, len), '{"when":"2024"}', id="data stays as it is"),
        pytest.param(ListView(["a"], len), "[1]", id="elements by their schema"),
    ],
)
def test_json_encode_follows_protobuf(value: Any, text: str) -> None:
    assert call("json.encode", value) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param(
            float("inf"),
            "proto: google.protobuf.Value.number_value: invalid +Inf value",
            id="infinity",
        ),
        pytest.param([NONE], "optional.none() dereference", id="an absent optional"),
        pytest.param(
            MixedMap([(1, 2)]), "unsupported type conversion from 'int' to string", id="an int key"
        ),
        pytest.param(
            [Quantity(1)],
            "type conversion error from 'Quantity' to '*structpb.Value'",
            id="a quantity",
        ),
        pytest.param(
            [OMIT], "unsupported native conversion from omit to *structpb.Value", id="omit"
        ),
        pytest.param(TypeValue("int"), "type conversion not supported for 'type'", id="a type"),
    ],
)
def test_what_protobuf_cannot_hold_is_refused(value: Any, message: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        call("json.encode", value)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("name", "argument", "kind"),
    [("base64.encode", "a", "string"), ("base64.decode", b"a", "bytes")],
)
def test_base64_takes_bytes_and_gives_text(name: str, argument: Any, kind: str) -> None:
    with pytest.raises(EvaluationError, match=rf"^no such overload: {name}\({kind}\)$"):
        call(name, argument)
