import pytest

from kube_sandbox.endpoints.go_json_errors import go_syntax_error

# Each as the real API server words it for a continue token with this text.
COMPLAINTS = {
    b"": "unexpected end of JSON input",
    b"   ": "unexpected end of JSON input",
    b"[[[]": "unexpected end of JSON input",
    b'{"a":': "unexpected end of JSON input",
    b'"\xff': "unexpected end of JSON input",
    b"i": "invalid character 'i' looking for beginning of value",
    b"[1,]": "invalid character ']' looking for beginning of value",
    b'{"a":[1,{"b":}]}': "invalid character '}' looking for beginning of value",
    b"'a'": r"invalid character '\'' looking for beginning of value",
    b"\\": r"invalid character '\\' looking for beginning of value",
    b"\x01": r"invalid character '\x01' looking for beginning of value",
    b"\x7f": r"invalid character '\x7f' looking for beginning of value",
    b"\xa0": r"invalid character '\u00a0' looking for beginning of value",
    b"\xcf": "invalid character 'Ï' looking for beginning of value",
    b"{a": "invalid character 'a' looking for beginning of object key string",
    b'{"a":1,}': "invalid character '}' looking for beginning of object key string",
    b'{"a" 1}': "invalid character '1' after object key",
    b'{"a":1 2}': "invalid character '2' after object key:value pair",
    b"[1 2]": "invalid character '2' after array element",
    b"[01]": "invalid character '1' after array element",
    b"{} {}": "invalid character '{' after top-level value",
    b'{"a":{}}}': "invalid character '}' after top-level value",
    b'"\x01"': r"invalid character '\x01' in string literal",
    b'"\\q"': "invalid character 'q' in string escape code",
    b'"\\u12g4"': r"invalid character 'g' in \u hexadecimal character escape",
    b"not": "invalid character 'o' in literal null (expecting 'u')",
    b"nul": "invalid character ' ' in literal null (expecting 'l')",
    b"-x": "invalid character 'x' in numeric literal",
    b"-": "invalid character ' ' in numeric literal",
    b"1.": "invalid character ' ' after decimal point in numeric literal",
    b"1ex": "invalid character 'x' in exponent of numeric literal",
}


@pytest.mark.parametrize("text", COMPLAINTS)
def test_words_are_those_of_the_decoder(text: bytes) -> None:
    assert go_syntax_error(text) == COMPLAINTS[text]


@pytest.mark.parametrize("text", [b'{"a":[1,-0.5e+3,{}],"b":null}', b" [] ", b'"\\u00e9"', b"0"])
def test_nothing_is_said_of_what_is_right(text: bytes) -> None:
    assert go_syntax_error(text) == ""


@pytest.mark.parametrize("text", [b"[" * 100_000, b"[" * 201 + b"]" * 201])
def test_a_text_that_nests_too_deep_is_rejected_there(text: bytes) -> None:
    assert go_syntax_error(text) == "invalid character '[' exceeded max depth"
    assert go_syntax_error(b"[" * 200 + b"]" * 200) == ""
