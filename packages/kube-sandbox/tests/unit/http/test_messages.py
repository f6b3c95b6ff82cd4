"""Bytes become requests, however they are cut; what is no request is refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_sandbox.http.messages import (
    BadMessageError,
    Head,
    ReceivedRequest,
    RequestParser,
    head_of,
)

LARGEST = 1000
CODED = b"PUT / HTTP/1.1\r\n%b\r\n\r\n"
LAST = b"0\r\n\r\n"
GET = b"GET /api/v1/pods?watch=1&x=%20 HTTP/1.1\r\nHost: here\r\nAccept: a/b\r\n\r\n"
PUT = b"PUT /api HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello"
CHUNKED = (
    b"PATCH /apis HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"
)
TRAILED = (
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nA: b\r\nC: d\r\n\r\n"
)


def _all(requests: RequestParser) -> list[ReceivedRequest]:
    found = []
    while (received := requests.next()) is not None:
        found.append(received)
    return found


@given(cuts=st.lists(st.integers(0, 400), max_size=20))
def test_requests_are_whole_wherever_the_bytes_are_cut(cuts: list[int]) -> None:
    data = GET + PUT + CHUNKED + TRAILED + GET
    requests, found, begin = RequestParser(LARGEST), [], 0
    for end in (*sorted(cuts), len(data)):
        requests.feed(data[begin:end])
        begin = max(begin, end)
        found += _all(requests)
    told = [(each.head.method, each.head.path, each.body) for each in found]
    assert told == [
        ("GET", "/api/v1/pods", b""),
        ("PUT", "/api", b"hello"),
        ("PATCH", "/apis", b"hello world"),
        ("POST", "/", b"x"),
        ("GET", "/api/v1/pods", b""),
    ]
    assert found[0].head.query == "watch=1&x=%20"
    assert not len(requests)


def _head(data: bytes) -> Head:
    requests = RequestParser(LARGEST)
    requests.feed(data + b"\r\n\r\n")
    received = requests.next()
    assert received is not None
    return received.head


def test_names_of_headers_have_no_case_and_may_stand_twice() -> None:
    head = _head(b"GET / HTTP/1.1\r\nImpersonate-Group: a\r\nimpersonate-group:  b \r\nX:")
    assert head.headers.get("IMPERSONATE-GROUP") == "a"
    assert head.headers.all("Impersonate-Group") == ["a", "b"]
    assert list(head.headers.items())[:2] == [
        ("Impersonate-Group", "a"),
        ("impersonate-group", "b"),
    ]
    assert head.headers["x"] == ""
    assert head.headers.get("absent") == ""
    assert "X" in head.headers


@pytest.mark.parametrize(
    ("head", "stays"),
    [
        (b"GET / HTTP/1.1", True),
        (b"GET / HTTP/1.1\r\nConnection: close", False),
        (b"GET / HTTP/1.0", False),
        (b"GET / HTTP/1.0\r\nConnection: keep-alive", True),
    ],
)
def test_connections_stay_as_the_client_wishes(head: bytes, stays: bool) -> None:
    assert _head(head).stays is stays


def test_a_target_may_be_written_with_the_host() -> None:
    assert _head(b"GET https://here:1/api?x HTTP/1.1").path == "/api"
    assert _head(b"GET https://here:1/?x HTTP/1.1").query == "x"


def test_what_follows_the_last_request_of_a_connection_is_not_read() -> None:
    requests = RequestParser(LARGEST)
    requests.feed(b"GET /a HTTP/1.1\r\nConnection: close\r\n\r\nGET /b HTTP/1.1\r\n\r\n")
    received = requests.next()
    assert received is not None
    assert (received.head.path, received.head.stays) == ("/a", False)
    with pytest.raises(BadMessageError):
        requests.next()


def test_another_protocol_is_not_spoken() -> None:
    requests = RequestParser(LARGEST)
    requests.feed(b"GET /a HTTP/1.1\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\nsmuggled")
    received = requests.next()
    assert received is not None
    assert received.head.path == "/a"
    with pytest.raises(BadMessageError):
        requests.next()


def test_requests_wait_unparsed_until_those_before_them_are_taken() -> None:
    requests = RequestParser(LARGEST)
    requests.feed(b"GET / HTTP/1.1\r\n\r\n" * 100_000)
    assert requests.next() is not None
    assert len(requests) > 1_700_000


def test_leave_to_send_a_body_is_asked_for_once() -> None:
    requests = RequestParser(LARGEST)
    requests.feed(b"PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
    assert requests.next() is None
    assert requests.is_asked_to_continue()
    assert not requests.is_asked_to_continue()
    requests.feed(b"x")
    assert requests.next() is not None


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET /\r\n\r\n", 505),
        (b"G@T / HTTP/1.1\r\n\r\n", 400),
        (b"GET nonsense HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA b: c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\n folded: c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\nC: d\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nContent-Length: +1\r\n\r\nx", 400),
        (b"PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
        (b"PUT / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400),
        (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", 400),
        (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n", 400),
        (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1" * 5000, 400),
        # What other programs may take for another request than we do: F17 of the attack findings.
        (CODED % b"Transfer-Encoding:\r\nTransfer-Encoding: chunked" + LAST, 400),
        (CODED % b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked" + LAST, 400),
        (CODED % b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity" + LAST, 400),
        (CODED % b"Transfer-Encoding: gzip, chunked" + LAST, 400),
        (CODED % b"Transfer-Encoding : chunked" + LAST, 400),
        (CODED % b"Transfer-Encoding: chunked" + b"0x1\r\nx\r\n" + LAST, 400),
        (CODED % b"Transfer-Encoding: chunked" + b"1;a\nb\r\nx\r\n" + LAST, 400),
        (CODED % b"Transfer-Encoding: chunked" + b"1\nx\r\n" + LAST, 400),
        (b"PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" + LAST, 400),
        (b"GET http://here HTTP/1.1\r\n\r\n", 400),
        (b"GET http://here?x HTTP/1.1\r\n\r\n", 400),
        (b"GET ftp://here/ HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT here:1 HTTP/1.1\r\n\r\n", 400),
        (b"OPTIONS * HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nA: b\n\n", 400),
        (b"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 400),
        (b"PUT / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400),
        (b"PUT / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", 400),
        (CODED % b"Transfer-Encoding: chunked" + b"1;" + b"x" * 100_000, 431),
        (CODED % b"Transfer-Encoding: chunked" + b"1\r\nx\r\n0\r\nA: " + b"x" * 100_000, 431),
        (b"GET /" + b"x" * 100_000, 431),
        (b"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n" + b"x" * 1001, 413),
        (b"PUT / HTTP/1.1\r\nContent-Length: 1001\r\n\r\n", 413),
        (b"GET / HTTP/1.1\r\nA: " + b"x" * 70_000, 431),
    ],
)
def test_what_is_no_request_is_refused(data: bytes, code: int) -> None:
    requests = RequestParser(LARGEST)
    requests.feed(data)
    with pytest.raises(BadMessageError) as caught:
        _all(requests)
    assert caught.value.code == code


@given(data=st.binary(max_size=300))
def test_no_bytes_are_taken_badly(data: bytes) -> None:
    requests = RequestParser(LARGEST)
    requests.feed(data)
    with suppress(BadMessageError):
        _all(requests)


def test_answers_begin_with_a_head() -> None:
    assert head_of("200 OK", [("A", "b"), ("A", "ü")]) == (
        "HTTP/1.1 200 OK\r\nA: b\r\nA: ü\r\n\r\n".encode()
    )
