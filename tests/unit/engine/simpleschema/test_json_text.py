import pytest

from kro_gitops.engine.simpleschema import json_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, true, null]}', {"a": [1, 2.5, True, None]}),
        ('"\\n"', "\n"),
        ('"\\ud83d\\ude00"', "😀"),
        ('"a\\ud800b"', "a\ufffdb"),
        ("12345678901234567890", 12345678901234567890),
    ],
    ids=["a document", "an escape", "a surrogate pair", "half a pair", "beyond 64 bits"],
)
def test_json_is_read(text: str, value: object) -> None:
    assert json_text.parse(text) == value


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN is not a JSON number"),
        ("-Infinity", "-Infinity is not a JSON number"),
        ("1e400", "1e400 is out of range"),
        ("9" * 400, "99999999999999999999 is out of range"),
        ("9" * 9000, "99999999999999999999 is out of range"),
        ("True", "expecting value at character 1"),
        ("[1", "expecting ',' delimiter at character 3"),
        ('"a\nb"', "invalid control character at character 3"),
        ("[" * 101 + "]" * 101, "it is nested deeper than 100 levels"),
        ("[" * 100_000 + "]" * 100_000, "it is nested deeper than 100 levels"),
    ],
    ids=["nan", "infinity", "float", "integer", "digits", "name", "open", "line", "101", "deep"],
)
def test_what_a_server_refuses_is_refused(text: str, reason: str) -> None:
    with pytest.raises(json_text.NotJsonError) as caught:
        json_text.parse(text)
    assert str(caught.value) == reason
