from typing import Any

import pytest

from kube_cel.library.urls import GLOBALS, MEMBERS, URL
from kube_cel.values import EvaluationError, equals

KIND = "kubernetes.URL"
GETTERS = ("getScheme", "getHost", "getHostname", "getPort", "getEscapedPath", "getQuery")


def url(text: str) -> URL:
    parsed = GLOBALS["url"](text)
    assert isinstance(parsed, URL)
    return parsed


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param(
            "https://user:pass@Example.com:8080/a%20b/?k=v&k=w&z=#frag",
            (
                "https",
                "Example.com:8080",
                "Example.com",
                "8080",
                "/a%20b/",
                {"k": ["v", "w"], "z": [""]},
            ),
            id="everything",
        ),
        pytest.param("/path?a=b", ("", "", "", "", "/path", {"a": ["b"]}), id="a path"),
        pytest.param(
            "http://[::1]:80", ("http", "[::1]:80", "::1", "80", "", {}), id="an IPv6 address"
        ),
        pytest.param("foo:bar?x", ("foo", "", "", "", "", {"x": [""]}), id="without a slash"),
        pytest.param(
            "http://%C3%BC/ü x", ("http", "ü", "ü", "", "/%C3%BC%20x", {}), id="beyond ASCII"
        ),
        pytest.param("http://h?a=1#?b=2", ("http", "h", "h", "", "", {"a": ["1"]}), id="fragment"),
    ],
)
def test_the_parts_of_a_url(text: str, parts: tuple[Any, ...]) -> None:
    assert GLOBALS["isURL"](text) is True
    parsed = url(text)
    assert tuple(MEMBERS[getter, KIND](parsed) for getter in GETTERS) == parts


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("foo", 'parse "foo": invalid URI for request'),
        ("", 'parse "": empty url'),
        ("//[x", "parse \"//[x\": missing ']' in host"),
    ],
)
def test_what_is_no_url_is_refused(text: str, reason: str) -> None:
    with pytest.raises(EvaluationError) as caught:
        url(text)
    message = f"URL parse error during conversion from string: {reason}"
    assert caught.value.message == message


def test_is_url_looks_only_at_what_may_be_requested() -> None:
    assert GLOBALS["isURL"]("foo") is False
    assert GLOBALS["isURL"]("//[x") is True  # a path, as long as nobody asks for its host


def test_urls_are_equal_if_they_are_printed_alike() -> None:
    assert equals(url("HTTP://h/%41"), url("http://h/%41"))
    assert equals(url("http://h/ "), url("http://h/%20"))
    assert not equals(url("http://h/A"), url("http://h/%41"))
    assert hash(url("http://h/ ")) == hash(url("http://h/%20"))


def test_a_url_is_made_of_text() -> None:
    with pytest.raises(EvaluationError, match=r"^no such overload: url\(int\)$"):
        GLOBALS["url"](1)
