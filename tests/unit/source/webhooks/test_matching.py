"""Which repository is meant, and whom a push concerns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.source.api.types import Forge, WantedRef
from kro_gitops.source.webhooks.receive import WebhookCall, concerns, normal_url, same_repository

URL = "https://github.com/acme/platform"


@pytest.mark.parametrize(
    ("url", "normal"),
    [
        ("https://github.com/acme/platform", "github.com/acme/platform"),
        ("https://GitHub.com./acme/platform.git", "github.com/acme/platform"),
        ("https://github.com/acme/platform/", "github.com/acme/platform"),
        ("https://github.com/acme/platform.git/", "github.com/acme/platform"),
        ("https://zoe:pass@github.com:443/acme/platform", "github.com/acme/platform"),
        ("https://z@e:p@ss@github.com/acme/platform", "github.com/acme/platform"),
        ("git://github.com/acme/platform.git", "github.com/acme/platform"),
        ("git@github.com:acme/platform.git", "github.com/acme/platform"),
        ("github.com:acme/platform.git", "github.com/acme/platform"),
        ("ssh://git@github.com/acme/platform.git", "github.com/acme/platform"),
        ("ssh://git@ssh.github.com:443/acme/platform.git", "github.com/acme/platform"),
        ("git@altssh.bitbucket.org:acme/platform.git", "bitbucket.org/acme/platform"),
        ("ssh://git@altssh.gitlab.com:443/a/b/c/d.git", "gitlab.com/a/b/c/d"),
        ("ssh://git@[2001:db8::1]:2222/acme/platform.git", "2001:db8::1/acme/platform"),
        ("git@[2001:db8::1]:acme/platform.git", "2001:db8::1/acme/platform"),
        ("ssh://git@host:7999/~zoe/repo.git", "host/~zoe/repo"),
        ("https://host/scm/ACME/platform.git", "host/scm/ACME/platform"),
        ("https://host/a%20b/c.git?x=y", "host/a b/c"),
        (
            "https://acme@dev.azure.com/acme/Shop/_git/platform",
            "dev.azure.com/acme/Shop/_git/platform",
        ),
        (
            "git@ssh.dev.azure.com:v3/acme/Shop/platform",
            "dev.azure.com/acme/Shop/_git/platform",
        ),
        (
            "https://acme.visualstudio.com/DefaultCollection/Shop/_git/platform",
            "dev.azure.com/acme/Shop/_git/platform",
        ),
        (
            "acme@vs-ssh.visualstudio.com:v3/acme/Shop/platform",
            "dev.azure.com/acme/Shop/_git/platform",
        ),
        ("https://acme.visualstudio.com/_git/Shop", "dev.azure.com/acme/Shop/_git/Shop"),
        ("https://github.com/", ""),
        ("https:///acme/platform", ""),
        ("file:///srv/git/platform", ""),
        ("https://github.com/.git", ""),
        ("", ""),
        ("://", ""),
    ],
)
def test_a_repository_has_one_normal_url(url: str, normal: str) -> None:
    assert normal_url(url) == normal


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (URL, "git@github.com:Acme/Platform.git", True),
        (URL, "https://github.com/acme/platform-2", False),
        (URL, "https://github.com/acme/platfor", False),
        (URL, "https://github.com.evil.example/acme/platform", False),
        (URL, "https://evil.example/github.com/acme/platform", False),
        (URL, "https://github.com/acme/.*", False),
        ("https://github.com/acme/.*", URL, False),
        (URL, "", False),
        ("", "", False),
    ],
)
def test_repositories_are_the_same_as_a_whole_or_not_at_all(
    one: str, other: str, is_same: bool
) -> None:
    assert same_repository(one, other) is is_same
    assert same_repository(other, one) is is_same


@given(st.text() | st.from_regex(r"(\w+://)?(\S+@)?[\w.\[\]:-]*[:/]\S*"))
def test_any_text_has_a_normal_url_or_none(text: str) -> None:
    normal = normal_url(text)
    assert normal == "" or "/" in normal


def pushed(*refs: str, is_push: bool = True, urls: tuple[str, ...] = (URL,)) -> WebhookCall:
    return WebhookCall(Forge.GITHUB, "push", is_push, refs, urls)


BRANCH = WantedRef(branch="main")
TAG = WantedRef(branch="main", tag="v1")
SEMVER = WantedRef(branch="main", tag="v1", semver=">=1.0.0")
NAME = WantedRef(branch="main", semver="*", name="refs/pull/7/head")
HEAD = WantedRef()


@pytest.mark.parametrize(
    ("ref", "push", "matters"),
    [
        pytest.param(BRANCH, "refs/heads/main", True, id="its branch"),
        pytest.param(BRANCH, "refs/heads/main2", False, id="a branch of a longer name"),
        pytest.param(BRANCH, "refs/heads/feature/main", False, id="a branch in a folder"),
        pytest.param(BRANCH, "refs/tags/main", False, id="a tag named like its branch"),
        pytest.param(TAG, "refs/tags/v1", True, id="its tag"),
        pytest.param(TAG, "refs/heads/main", False, id="a branch, where a tag is wanted"),
        pytest.param(SEMVER, "refs/tags/v9", True, id="any tag, for a range of versions"),
        pytest.param(SEMVER, "refs/heads/main", False, id="no branch, for a range of versions"),
        pytest.param(NAME, "refs/pull/7/head", True, id="its full name"),
        pytest.param(NAME, "refs/heads/main", False, id="another full name"),
        pytest.param(HEAD, "refs/heads/anything", True, id="any branch may be HEAD"),
        pytest.param(HEAD, "refs/tags/v1", False, id="no tag is HEAD"),
        pytest.param(WantedRef(name="HEAD"), "refs/heads/main", True, id="HEAD by name"),
        pytest.param(
            WantedRef(commit="a" * 40), "refs/tags/x", True, id="a commit may be anywhere"
        ),
        pytest.param(
            WantedRef(branch="main", commit="a" * 40), "refs/heads/main", True, id="in its branch"
        ),
        pytest.param(
            WantedRef(branch="main", commit="a" * 40), "refs/heads/x", False, id="in another branch"
        ),
    ],
)
def test_a_push_concerns_who_wants_what_was_pushed(
    ref: WantedRef, push: str, matters: bool
) -> None:
    assert concerns(pushed(push), URL, ref) is matters
    assert concerns(pushed("refs/heads/other-7", push), URL, ref) is (
        matters or concerns(pushed("refs/heads/other-7"), URL, ref)
    )


def test_a_push_to_another_repository_concerns_nobody_here() -> None:
    elsewhere = pushed("refs/heads/main", urls=("https://github.com/acme/other",))
    assert not concerns(elsewhere, URL, BRANCH)
    mirrored = pushed(
        "refs/heads/main", urls=("https://x.example/y", "git@github.com:acme/platform")
    )
    assert concerns(mirrored, URL, BRANCH)


def test_what_a_push_does_not_say_may_be_anything() -> None:
    assert concerns(pushed(), URL, BRANCH)
    assert concerns(pushed("refs/heads/main", urls=()), URL, BRANCH)
    assert not concerns(pushed("refs/heads/x", urls=()), URL, BRANCH)


def test_what_is_no_push_concerns_only_who_wants_that_pull_request() -> None:
    request = pushed("refs/pull/7/head", "refs/pull/7/merge", is_push=False)
    assert concerns(request, URL, NAME)
    assert not concerns(request, URL, BRANCH)
    assert not concerns(request, URL, HEAD)
    assert not concerns(request, URL, WantedRef(name="refs/pull/77/head"))
    assert not concerns(pushed(is_push=False, urls=()), URL, HEAD)
    assert not concerns(pushed(is_push=False, urls=()), URL, NAME)


def test_a_generic_call_concerns_whom_it_is_made_to() -> None:
    assert concerns(WebhookCall(Forge.GENERIC, "", True), "ssh://anywhere/at-all", TAG)
