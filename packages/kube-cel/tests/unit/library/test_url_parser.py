from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kube_cel.library.urls import (
    UrlError,
    check_request_uri,
    format_url,
    parse_query,
    parse_url,
    split_port,
)


@pytest.mark.parametrize(
    "text",
    [
        "http://example.com",
        "https://user:pass@example.com:8080/a/b?x=1#frag",
        "/absolute/path?query",
        "//no/host",
        "mailto:x@y.z",
        "foo:bar",
        "*",
        "http://[::1]:80/",
        "http://[fe80::1%25en0]/",
        "postgres://a:1,b:2/db",
        "http://%C3%BC.example/",
        "http://h:/",
        "http://h?",
        "http://u@p@h/",
    ],
)
def test_absolute_uris_and_paths_may_be_requested(text: str) -> None:
    check_request_uri(text.encode())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty url"),
        ("foo", "invalid URI for request"),
        ("a/b", "invalid URI for request"),
        ("#frag", "invalid URI for request"),
        (":80", "missing protocol scheme"),
        ("http://a\x7f", "net/url: invalid control character in URL"),
        ("http://a b/", 'invalid character " " in host name'),
        ("http://a\\b/", 'invalid character "\\\\" in host name'),
        ("http://h:8a/", 'invalid port ":8a" after host'),
        ("http://h:80:90/", 'invalid port ":80:90" after host'),
        ("http://[::1", "missing ']' in host"),
        ("http://[::1]x", 'invalid port "x" after host'),
        ("http://x[::1]", "invalid IP-literal"),
        ("http://[1.2.3.4]", "invalid IP-literal"),
        ("http://[zz]", 'invalid host: ParseAddr("zz"): unable to parse IP'),
        ("http://%41/", 'invalid URL escape "%41"'),
        ("http://[fe80::1%25%41%7F]/", 'invalid URL escape "%7F"'),
        ("http://a/%zz", 'invalid URL escape "%zz"'),
        ("http://a/%1", 'invalid URL escape "%1"'),
        ("http://u|x@h/", "net/url: invalid userinfo"),
        ("http://u%zz@h/", 'invalid URL escape "%zz"'),
    ],
)
def test_others_are_refused_in_the_words_of_go(text: str, reason: str) -> None:
    with pytest.raises(UrlError) as caught:
        check_request_uri(text.encode())
    shown = text.replace("\x7f", r"\x7f").replace("\\b", "\\\\b")
    assert str(caught.value) == f'parse "{shown}": {reason}'


def test_a_bad_fragment_is_found_at_the_second_reading() -> None:
    text = b"http://a/?x#%zz"
    check_request_uri(text)
    with pytest.raises(UrlError) as caught:
        parse_url(text)
    assert str(caught.value) == 'parse "http://a/?x#%zz": invalid URL escape "%zz"'


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("HTTP://Example.com/A", "http://Example.com/A"),
        ("http://u:p%41ss@h/", "http://u:pAss@h/"),
        ("http://h/a b", "http://h/a%20b"),
        ("http://h/%2f", "http://h/%2f"),
        ("http://h/{x}", "http://h/%7Bx%7D"),
        ("http://h/!", "http://h/!"),
        ("http://ü/ü", "http://%C3%BC/%C3%BC"),
        ("http://h?", "http://h?"),
        ("http://h#", "http://h"),
        ("http://h#a b", "http://h#a%20b"),
        ("//host/path", "//host/path"),
        ("///path", "///path"),
        ("file:///etc", "file:///etc"),
        ("x:/etc", "x:/etc"),
        ("foo:", "foo:"),
        ("mailto:a@b?c", "mailto:a@b?c"),
        ("*", "*"),
    ],
)
def test_urls_are_written_in_one_way(text: str, written: str) -> None:
    assert format_url(parse_url(text.encode())).decode() == written


@settings(max_examples=100)
@given(st.text(alphabet="ab/?#%:@.~!é", max_size=12))
def test_what_is_written_is_written_the_same_again(text: str) -> None:
    try:
        url = parse_url(b"http://h/" + text.encode())
    except UrlError:
        return
    rounds = [format_url(url)]
    rounds.append(format_url(parse_url(rounds[0])))
    assert all(one == other for one, other in pairwise(rounds))


@pytest.mark.parametrize(
    ("host", "name", "port"),
    [
        (b"h", b"h", b""),
        (b"h:80", b"h", b"80"),
        (b"h:", b"h", b""),
        (b"[::1]:80", b"::1", b"80"),
        (b"[::1]", b"::1", b""),
        (b"a:1,b:2", b"a:1,b", b"2"),
        (b"", b"", b""),
    ],
)
def test_the_port_is_what_follows_the_last_colon(host: bytes, name: bytes, port: bytes) -> None:
    assert split_port(host) == (name, port)


@pytest.mark.parametrize(
    ("query", "pairs"),
    [
        (b"", []),
        (b"a=1&b=2&a=3", [(b"a", b"1"), (b"b", b"2"), (b"a", b"3")]),
        (b"a&&=x", [(b"a", b""), (b"", b"x")]),
        (b"a+b=%20%2B", [(b"a b", b" +")]),
        (b"a=1;b=2&c=%zz&%zz=1&d=4", [(b"d", b"4")]),
        (b"&".join([b"a=1"] * 10_001), []),
    ],
)
def test_unreadable_parameters_are_left_out(query: bytes, pairs: list[tuple[bytes, bytes]]) -> None:
    assert list(parse_query(query)) == pairs
