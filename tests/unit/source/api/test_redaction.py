import base64
import time
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.source.api.redaction import redact

SECRET = "hunter2/ß+x y="


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("fatal: https://u:p@h/r not found", "fatal: https://***@h/r not found"),
        ("https://ghtoken@h/r", "https://***@h/r"),
        ("https://u:p@ss@h/r", "https://***@h/r"),
        ("https://u:pa/ss@h/r", "https://***@h/r"),
        ("ssh://git:pw@h/r", "ssh://***@h/r"),
        ("socks5://u:p@h:1080", "socks5://***@h:1080"),
        ("Authorization: Basic dTpw", "Authorization: ***"),
        ("> proxy-authorization: Negotiate abc\n< 200", "> proxy-authorization: ***\n< 200"),
        ("http.extraHeader='AUTHORIZATION: bearer abc'", "http.extraHeader='AUTHORIZATION: ***'"),
        ("PRIVATE-TOKEN: abc", "PRIVATE-TOKEN: ***"),
        ("sent bearer abcdef123456 to h", "sent bearer *** to h"),
        ("https://h/r?private_token=abc&x=1", "https://h/r?private_token=***&x=1"),
        ("GET /x?a=1&password=p%20q HTTP/1.1", "GET /x?a=1&password=*** HTTP/1.1"),
        ('{"password": "abc", "user": "u"}', '{"password": "***", "user": "u"}'),
        ("client_secret=abc, next", "client_secret=***, next"),
        ("remote: ghp_0123456789abcdefghij is expired", "remote: *** is expired"),
        ("glpat-0123456789abcdefghij", "***"),
        ("eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjM0NSJ9.c2lnbmF0dXJl", "***"),
    ],
)
def test_what_looks_like_a_secret_is_masked(text: str, shown: str) -> None:
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "fatal: repository 'https://github.com/org/repo/' not found",
        "ssh://git@github.com/org/repo",
        "git@github.com:org/repo",
        "https://h:8443/org/repo@main",
        "Basic authentication is not supported",
        "the token is expired",
        "secret shop/git-token: not found",
        "mail me@example.com",
        "basename=x",
    ],
)
def test_what_people_need_to_read_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize("end", ["-----END OPENSSH PRIVATE KEY-----", ""])
def test_private_keys_are_masked_even_if_their_end_is_missing(end: str) -> None:
    text = f"before\n-----BEGIN OPENSSH PRIVATE KEY-----\nb3Blbn\nNzaC1r\n{end}"
    assert redact(text) == "before\n***"


@pytest.mark.parametrize("before", ["", "u", "us", "usr", "user:"])
def test_known_secrets_are_masked_as_they_are_and_encoded(before: str) -> None:
    code = base64.b64encode((before + SECRET).encode()).decode()
    urlsafe = base64.urlsafe_b64encode((before + SECRET).encode()).decode()
    encoded = [SECRET, quote(SECRET), quote(SECRET, safe="").lower(), code, urlsafe]
    for form in encoded:
        shown = redact(f"said {form} twice", [SECRET])
        assert "***" in shown
        assert "hunter2" not in shown
        assert code[4:12] not in shown


def test_each_line_of_a_known_key_is_masked() -> None:
    key = b"first-line-of-the-key\nsecond-line-of-the-key\n"
    assert redact("debug: second-line-of-the-key", [key]) == "debug: ***"


def test_of_two_secrets_the_longer_is_masked_whole() -> None:
    assert redact("abcdef", ["abc", "abcdef"]) == "***"


def test_empty_secrets_mask_nothing() -> None:
    assert redact("a text", ["", b"", " ", "\n"]) == "a text"


def test_the_text_is_cut_after_it_was_masked() -> None:
    shown = redact("x" * 15 + "supersecret" + "y" * 50, ["supersecret"], limit=22)
    assert shown == "x" * 15 + "***yy …"
    assert len(shown) == 22


@pytest.mark.parametrize(
    "text",
    [
        "://" * 60_000,
        "://a:" * 40_000,
        "-----BEGIN PRIVATE KEY-----" * 8_000,
        "a" * 200_000,
        "authorization" * 15_000,
        "token" * 40_000,
        "eyJ" * 60_000,
        "basic " * 30_000,
    ],
)
def test_hostile_text_is_masked_in_little_time(text: str) -> None:
    started = time.process_time()
    redact(text, ["some-secret"])
    assert time.process_time() - started < 2


@given(
    st.text(max_size=40), st.from_regex(r"[a-z0-9/+%]{6,20}", fullmatch=True), st.text(max_size=9)
)
def test_no_known_secret_survives(before: str, secret: str, after: str) -> None:
    assert secret not in redact(before + secret + after, [secret])
