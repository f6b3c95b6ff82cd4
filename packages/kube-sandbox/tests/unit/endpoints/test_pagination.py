from base64 import urlsafe_b64decode, urlsafe_b64encode

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_testing.stored import BUCKET, delete, names, put, stored

from kube_sandbox.api_errors import StatusError
from kube_sandbox.endpoints.pagination import Page, Scope, decode, encode, needed_version, page
from kube_sandbox.storage.resource_version import VersionOptions
from kube_sandbox.storage.store import Store

HERE = Scope(BUCKET, "shop")


def content(token: str) -> object:
    return orjson.loads(urlsafe_b64decode(token + "=="))


def rest(store: Store, first: Page, limit: int = 0) -> Page:
    return page(store, HERE, VersionOptions(token=first.token, limit=limit))


def test_a_page_says_how_to_go_on_and_how_much_is_left() -> None:
    found = page(stored(*"abcde"), HERE, VersionOptions(limit=2))
    assert names(found.records) == ["a", "b"]
    assert (found.version, found.remaining) == (6, 3)
    assert content(found.token) == {"v": "meta.k8s.io/v1", "rv": 6, "start": "/b\0"}


def test_the_last_page_has_no_token() -> None:
    found = page(stored(*"ab"), HERE, VersionOptions(limit=2))
    assert (found.token, found.remaining) == ("", None)


def test_a_token_for_all_namespaces_names_the_namespace() -> None:
    store = stored("a")
    put(store, "b", namespace="zoo")
    found = page(store, Scope(BUCKET), VersionOptions(limit=1))
    assert content(found.token) == {"v": "meta.k8s.io/v1", "rv": 3, "start": "/shop/a\0"}
    assert names(page(store, Scope(BUCKET), VersionOptions(token=found.token)).records) == ["b"]


def test_what_is_left_is_not_told_with_a_selector() -> None:
    store = stored(*"abcde")
    found = page(store, HERE, VersionOptions(limit=2), lambda each: each.name in "ace")
    assert names(found.records) == ["a", "c"]
    assert found.token
    assert found.remaining is None


def test_a_page_may_be_empty_if_nothing_more_matches() -> None:
    store = stored(*"abc")
    only_a = VersionOptions(limit=1)
    first = page(store, HERE, only_a, lambda each: each.name == "a")
    last = page(
        store, HERE, VersionOptions(limit=1, token=first.token), lambda each: each.name == "a"
    )
    assert (names(first.records), names(last.records), last.token) == (["a"], [], "")


def test_pages_show_one_state_though_objects_change() -> None:
    store = stored(*"abcde")
    first = page(store, HERE, VersionOptions(limit=2))
    delete(store, "d")
    changed = put(store, "c", data="new").record
    put(store, "bb")
    second = rest(store, first, limit=2)
    assert names(second.records) == ["c", "d"]
    assert second.records[0] != changed
    assert second.version == first.version
    assert second.remaining == 1
    assert names(rest(store, second).records) == ["e"]


def test_a_forgotten_state_is_refused_with_a_token_to_go_on_regardless() -> None:
    store = stored(*"abc")
    first = page(store, HERE, VersionOptions(limit=1))
    delete(store, "b")
    put(store, "d")
    store.compact(0)
    with pytest.raises(StatusError) as refused:
        rest(store, first)
    status = refused.value.status()
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert status["message"].startswith("The provided continue parameter is too old to display a")
    assert status["message"].endswith(
        "between the time the first chunk was returned and now may show up in the list."
    )
    assert "details" not in status
    token = status["metadata"]["continue"]
    assert content(token) == {"v": "meta.k8s.io/v1", "rv": -1, "start": "a\0"}
    found = page(store, HERE, VersionOptions(token=token))
    assert (names(found.records), found.version) == (["c", "d"], store.version)


def test_any_version_means_all_at_once() -> None:
    store = stored(*"abc")
    assert page(store, HERE, VersionOptions("0", limit=1)).token == ""
    first = page(store, HERE, VersionOptions(limit=1))
    found = page(store, HERE, VersionOptions("0", limit=1, token=first.token))
    assert (names(found.records), found.token) == (["b", "c"], "")


@pytest.mark.parametrize(
    ("asked", "found", "version"),
    [
        pytest.param(VersionOptions(), ["a", "b", "c"], 4, id="the latest"),
        pytest.param(VersionOptions("2"), ["a", "b", "c"], 4, id="not older, unsaid"),
        pytest.param(VersionOptions("2", "NotOlderThan"), ["a", "b", "c"], 4, id="not older"),
        pytest.param(VersionOptions("2", "NotOlderThan", 2), ["a", "b"], 4, id="a page, not older"),
        pytest.param(VersionOptions("3", "Exact"), ["a", "b"], 3, id="exactly"),
        pytest.param(
            VersionOptions("3", limit=5), ["a", "b"], 3, id="with a limit: exactly, unsaid"
        ),
        pytest.param(VersionOptions("007", limit=1), None, 0, id="yet to come"),
        pytest.param(VersionOptions(limit=-1), ["a", "b", "c"], 4, id="a limit below zero is none"),
    ],
)
def test_which_version_is_listed(
    asked: VersionOptions, found: list[str] | None, version: int
) -> None:
    store = stored(*"abc")
    if found is None:
        with pytest.raises(StatusError, match="Too large resource version: 7, current: 4"):
            page(store, HERE, asked)
        return
    shown = page(store, HERE, asked)
    assert (names(shown.records), shown.version) == (found, version)


@pytest.mark.parametrize("asked", [VersionOptions("2", "Exact"), VersionOptions("2", limit=1)])
def test_a_list_of_a_forgotten_version(asked: VersionOptions) -> None:
    store = stored(*"abc")
    store.compact(0)
    with pytest.raises(StatusError) as refused:
        page(store, HERE, asked)
    assert refused.value.message == "The resourceVersion for the provided list is too old."
    assert (refused.value.code, refused.value.reason) == (410, "Expired")


def test_one_name_is_a_list_without_pages() -> None:
    store = stored(*"abc")
    one = Scope(BUCKET, "shop", "b")
    found = page(store, one, VersionOptions(limit=1), lambda each: each.name == "b")
    assert (names(found.records), found.token) == (["b"], "")
    assert names(page(store, one, VersionOptions("2", "Exact")).records) == []
    assert names(page(store, Scope(BUCKET, "shop", "z"), VersionOptions()).records) == []


def test_a_token_has_its_own_version() -> None:
    with pytest.raises(StatusError) as refused:
        needed_version(VersionOptions("5", token=encode("a", 7)))
    assert refused.value.message == "specifying resource version is not allowed when using continue"
    assert needed_version(VersionOptions(token=encode("a", 7))) == 7
    assert needed_version(VersionOptions(token=encode("a", -1))) == 0
    assert needed_version(VersionOptions("5")) == 5
    assert needed_version(VersionOptions()) == 0


V1 = '"v":"meta.k8s.io/v1"'
UNKNOWN = "server does not recognize this encoded version"
NO_TOKEN = "json: cannot unmarshal"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"v":"meta.k8s.io/v2","rv":1,"start":"a"}', f"{UNKNOWN} meta.k8s.io/v2"),
        ("{}", f"{UNKNOWN} "),
        ("null", f"{UNKNOWN} "),
        (
            f'{{{V1},"start":"a"}}',
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (f'{{{V1},"rv":5}}', "encoded start key empty (version meta.k8s.io/v1)"),
        (f'{{{V1},"rv":5,"start":"../x"}}', "../x"),
        (f'{{{V1},"rv":5,"start":"a/"}}', "a/"),
        (f'{{{V1},"rv":5,"start":"//a"}}', "//a"),
        ("[]", f"{NO_TOKEN} array into Go value of type storage.continueToken"),
        ("true", f"{NO_TOKEN} bool into Go value of type storage.continueToken"),
        ('"s"', f"{NO_TOKEN} string into Go value of type storage.continueToken"),
        ('{"v":1}', f"{NO_TOKEN} number into Go struct field continueToken.v of type string"),
        ('{"rv":"x"}', f"{NO_TOKEN} string into Go struct field continueToken.rv of type int64"),
        (
            '{"rv":1.5}',
            f"{NO_TOKEN} number 1.5 into Go struct field continueToken.rv of type int64",
        ),
        (
            '{"rv":1e2}',
            f"{NO_TOKEN} number 1e2 into Go struct field continueToken.rv of type int64",
        ),
        (
            '{"rv":"x","v":1}',
            f"{NO_TOKEN} string into Go struct field continueToken.rv of type int64",
        ),
        ('{"V":"x"}', f"{UNKNOWN} x"),
        ("not json", "invalid character 'o' in literal null (expecting 'u')"),
    ],
)
def test_a_token_with_the_wrong_content(content: str, why: str) -> None:
    token = urlsafe_b64encode(content.encode()).rstrip(b"=").decode()
    with pytest.raises(StatusError) as refused:
        decode(token)
    assert (refused.value.code, refused.value.reason) == (400, "BadRequest")
    assert refused.value.message == f"invalid continue token: continue key is not valid: {why}"


@pytest.mark.parametrize(
    ("token", "at"),
    [("x", 0), ("abcde", 4), ("abc!", 3), ("a=", 1), ("YQ==", 2), ("é", 0), ("/abc", 0)],
)
def test_a_token_that_is_no_base64(token: str, at: int) -> None:
    with pytest.raises(StatusError, match=f"illegal base64 data at input byte {at}$"):
        decode(token)


@given(st.sets(st.sampled_from("abcdefghij")), st.integers(1, 4), st.data())
def test_pages_are_the_list(there: set[str], limit: int, data: st.DataObject) -> None:
    store = stored(*sorted(there))
    whole, found = names(store.list(BUCKET)), list[str]()
    asked = VersionOptions(limit=limit)
    while True:
        shown = page(store, HERE, asked)
        found += names(list(shown.records))
        put(store, data.draw(st.sampled_from("abcxyz")))
        if not shown.token:
            break
        asked = VersionOptions(limit=limit, token=shown.token)
    assert found == whole
