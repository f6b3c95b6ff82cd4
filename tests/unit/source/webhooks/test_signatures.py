"""Who is believed, and who is not."""

import base64
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kro_gitops.source.api.types import Forge
from kro_gitops.source.webhooks.forges import recognise
from kro_gitops.source.webhooks.headers import lowered
from kro_gitops.source.webhooks.receive import parse_call
from kube_objects.errors import RefusedError
from tests.unit.source.forge_calls import (
    NOW,
    SIGNING_TOKEN,
    TOKEN,
    Call,
    azure,
    bitbucket,
    bitbucket_server,
    digest,
    generic,
    gitea,
    github,
    gitlab,
    gitlab_signed,
    gogs,
    payload,
)

BODY = payload("github-push")
PROOFS = {
    "github": (github(BODY), "x-hub-signature-256"),
    "gogs": (gogs(BODY), "x-gogs-signature"),
    "gitlab": (gitlab(payload("gitlab-push")), "x-gitlab-token"),
    "bitbucket": (bitbucket(payload("bitbucket-push")), "x-hub-signature"),
    "bitbucket-server": (bitbucket_server(payload("bitbucket-server-push")), "x-hub-signature"),
    "azure": (azure(payload("azure-push")), "authorization"),
    "generic": (generic(b"x"), "x-signature"),
}


def verdict(call: Call, token: bytes = TOKEN, forge: Forge | None = None, at: float = NOW) -> str:
    """Return who was heard, or why nobody was."""
    try:
        return parse_call(call.headers, call.body, token, forge, at).forge.value
    except RefusedError as error:
        return error.code


@pytest.mark.parametrize("name", PROOFS)
def test_another_token_is_not_believed(name: str) -> None:
    assert verdict(PROOFS[name][0], b"another token") == "hook-bad-signature"


@pytest.mark.parametrize("name", PROOFS)
def test_without_a_token_of_ours_nobody_is_believed(name: str) -> None:
    call, proof = PROOFS[name]
    assert verdict(call, b"") == "hook-without-token"
    empty = Call(call.body, {**github(call.body, token=b"").headers, proof: ""})
    assert verdict(empty, b"") == "hook-without-token"


@pytest.mark.parametrize("name", sorted(PROOFS.keys() - {"gitlab", "azure"}))
def test_a_changed_body_is_not_believed(name: str) -> None:
    call = PROOFS[name][0]
    assert verdict(call.saying(call.body + b" ")) == "hook-bad-signature"


@pytest.mark.parametrize("name", sorted(PROOFS.keys() - {"generic"}))
def test_a_forge_that_proves_nothing_is_not_believed(name: str) -> None:
    call, proof = PROOFS[name]
    assert verdict(call.without(proof, "x-hub-signature")) == "hook-unauthenticated"


@pytest.mark.parametrize("name", PROOFS)
@pytest.mark.parametrize(
    "wrong",
    [
        *("sha256=", "=", "sha256", "Basic", "Basic !!!", "Basic Og==", "müll"),
        pytest.param("\ud800", id="half a character"),
        pytest.param("\udcff", id="a byte that is no UTF-8"),
    ],
)
def test_a_broken_proof_is_not_believed(name: str, wrong: str) -> None:
    call, proof = PROOFS[name]
    changed = Call(call.body, {**call.without(proof).headers, proof: wrong})
    assert verdict(changed, forge=Forge(name) if name != "gogs" else None) == "hook-bad-signature"


@pytest.mark.parametrize("name", PROOFS)
@pytest.mark.parametrize("nothing", ["", " "])
def test_an_empty_proof_is_none(name: str, nothing: str) -> None:
    call, proof = PROOFS[name]
    changed = Call(call.body, {**call.without(proof, "x-hub-signature").headers, proof: nothing})
    assert verdict(changed) == "hook-unauthenticated"


def test_a_gitea_without_a_secret_is_told_that_a_proof_is_missing() -> None:
    call = gitea(payload("gitea-push"))
    empty = {"x-gitea-signature": "", "x-gogs-signature": "", "x-hub-signature-256": "sha256="}
    unsigned = {**call.without(*empty, "x-hub-signature").headers, **empty}
    assert verdict(Call(call.body, unsigned)) == "hook-unauthenticated"


def test_nobody_is_not_believed() -> None:
    assert verdict(Call(b"{}")) == "hook-unauthenticated"
    assert verdict(Call(b"")) == "hook-unauthenticated"
    assert verdict(Call(b"{}", {"Authorization": azure(b"").headers["Authorization"]})) == (
        "hook-unauthenticated"
    )


def test_sha1_alone_proves_nothing() -> None:
    weak = f"sha1={digest(BODY, algorithm='sha1')}"
    assert verdict(github(BODY).without("x-hub-signature-256")) == "hook-weak-signature"
    assert verdict(github(BODY).having(x_hub_signature_256=weak)) == "hook-weak-signature"
    assert verdict(bitbucket(BODY).having(x_hub_signature=weak)) == "hook-weak-signature"
    assert verdict(bitbucket_server(BODY).having(x_hub_signature=weak)) == "hook-weak-signature"
    assert verdict(generic(BODY, algorithm="sha1")) == "hook-weak-signature"
    assert verdict(generic(BODY, algorithm="md5")) == "hook-weak-signature"
    assert verdict(generic(BODY, algorithm="sha384")) == "hook-bad-signature"


@pytest.mark.parametrize("header", ["x-gitea-signature", "x-gogs-signature", "x-hub-signature-256"])
def test_of_several_signatures_each_must_hold(header: str) -> None:
    call = gitea(payload("gitea-push"))
    assert verdict(call) == "gitea"
    forged = digest(call.body, b"another token")
    value = f"sha256={forged}" if header.startswith("x-hub") else forged
    changed = Call(call.body, {**call.without(header).headers, header: value})
    assert verdict(changed) == "hook-bad-signature"


def test_a_signature_that_is_sent_twice_is_none() -> None:
    call = github(BODY)
    twice = {**call.headers, "x-hub-signature-256": call.headers["X-Hub-Signature-256"]}
    assert verdict(Call(BODY, twice)) == "hook-bad-signature"


def test_the_case_of_a_hex_digit_does_not_matter() -> None:
    assert verdict(github(BODY).having(x_hub_signature_256=f"sha256={digest(BODY).upper()}")) == (
        "github"
    )


def everything(body: bytes) -> Call:
    """Return a call that says it is everybody's, each rightly signed."""
    makers = (generic, azure, bitbucket_server, bitbucket, gitlab, github, gitea)
    return Call(body, {name: v for make in makers for name, v in make(body).headers.items()})


def test_all_headers_at_once_are_gitea_and_every_signature_counts() -> None:
    call = everything(payload("gitea-push"))
    assert verdict(call) == "gitea"
    for header in ("x-gitea-signature", "x-hub-signature-256", "x-gitlab-token", "x-signature"):
        assert verdict(Call(call.body, {**call.without(header).headers, header: "sha256=00"})) == (
            "hook-bad-signature"
        )


def test_of_several_forges_the_first_in_a_fixed_order_is_meant() -> None:
    marks = [
        *("x-gitea-event", "x-gogs-event", "x-github-event", "x-gitlab-event", "x-hook-uuid"),
        *("x-event-key", "x-vss-activityid"),
    ]
    call = everything(BODY)
    left = [lowered(call.without(*marks[:count]).headers) for count in (0, 2, 3, 4, 5, 6, 7)]
    assert [recognise(headers, None) for headers in left] == [
        *(Forge.GITEA, Forge.GITHUB, Forge.GITLAB, Forge.BITBUCKET, Forge.BITBUCKET_SERVER),
        *(Forge.AZURE, Forge.GENERIC),
    ]


@pytest.mark.parametrize("make", [gitlab, azure, generic, bitbucket])
def test_a_weaker_forges_proof_does_not_do_for_a_stronger_one(
    make: Callable[[bytes], Call],
) -> None:
    weaker = make(BODY)
    for mark in ("x-gitea-event", "x-github-event"):
        claimed = Call(BODY, {**weaker.headers, mark: "push"})
        assert verdict(claimed) == "hook-unauthenticated"


def test_who_is_expected_must_be_the_one_who_calls() -> None:
    calls = {each.value: make for each, make in CALLERS.items()}
    for expected in Forge:
        for name, call in calls.items():
            wanted = name if name == expected.value else "hook-wrong-forge"
            assert verdict(call, forge=expected) == wanted


CALLERS = {
    Forge.GITHUB: github(BODY),
    Forge.GITEA: gitea(BODY),
    Forge.GITLAB: gitlab(payload("gitlab-push")),
    Forge.BITBUCKET: bitbucket(payload("bitbucket-push")),
    Forge.BITBUCKET_SERVER: bitbucket_server(payload("bitbucket-server-push")),
    Forge.AZURE: azure(payload("azure-push")),
    Forge.GENERIC: generic(b"x"),
}


def test_an_azure_server_that_does_not_name_itself_must_be_expected() -> None:
    call = azure(payload("azure-push")).without("x-vss-activityid")
    assert verdict(call, forge=Forge.AZURE) == "azure"
    assert verdict(call) == "hook-unauthenticated"
    assert verdict(call.without("authorization"), forge=Forge.AZURE) == "hook-unauthenticated"


def test_the_user_name_of_azure_does_not_matter_and_the_scheme_does() -> None:
    body = payload("azure-push")
    assert verdict(azure(body, user=b"")) == "azure"
    assert verdict(azure(body, token=b"a:b:c"), b"a:b:c") == "azure"
    assert verdict(azure(body, user=b"x:y")) == "hook-bad-signature"
    bearer = base64.b64encode(b"x:" + TOKEN).decode()
    assert verdict(azure(body).having(authorization=f"Bearer {bearer}")) == "hook-bad-signature"


def test_an_authorization_that_is_meant_for_a_proxy_is_not_judged() -> None:
    assert verdict(github(BODY).having(authorization="Basic cHJveHk6cGFzcw==")) == "github"


def test_a_token_in_any_script_is_believed() -> None:
    token = "geheim-ñ-🔑".encode()
    assert verdict(gitlab(payload("gitlab-push"), token=token), token) == "gitlab"
    assert verdict(azure(payload("azure-push"), token=token), token) == "azure"
    assert verdict(github(BODY, token=token), token) == "github"


def test_a_signed_call_of_gitlab_is_believed_for_five_minutes() -> None:
    call = gitlab_signed(payload("gitlab-push"))
    assert verdict(call, SIGNING_TOKEN, at=NOW + 299) == "gitlab"
    assert verdict(call, SIGNING_TOKEN, at=NOW - 299) == "gitlab"
    assert verdict(call, SIGNING_TOKEN, at=NOW + 301) == "hook-stale-signature"
    assert verdict(call, SIGNING_TOKEN, at=NOW - 301) == "hook-stale-signature"


@pytest.mark.parametrize("part", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_every_part_of_a_signed_call_of_gitlab_is_signed(part: str) -> None:
    call = gitlab_signed(payload("gitlab-push"))
    changed = Call(call.body, {**call.without(part).headers, part: "1795000001"})
    assert verdict(changed, SIGNING_TOKEN) == "hook-bad-signature"
    assert verdict(call.saying(b"{}"), SIGNING_TOKEN) == "hook-bad-signature"


def test_a_signed_call_without_a_time_is_stale() -> None:
    for moment in ("", "nan", "inf", "-1", "١٧٩٥", "9" * 400):
        call = _signed_at(moment)
        assert verdict(call, SIGNING_TOKEN) == "hook-stale-signature"


def _signed_at(moment: str) -> Call:
    call = gitlab_signed(payload("gitlab-push"))
    key = base64.b64decode(SIGNING_TOKEN.removeprefix(b"whsec_"))
    content = f"{call.headers['webhook-id']}.{moment}.".encode() + call.body
    value = base64.b64encode(bytes.fromhex(digest(content, key))).decode()
    return call.having(webhook_timestamp=moment, webhook_signature=f"v1,{value}")


def test_while_a_signing_token_changes_one_of_the_signatures_holds() -> None:
    call = gitlab_signed(payload("gitlab-push"))
    other = gitlab_signed(call.body, token=b"whsec_" + base64.b64encode(b"x" * 32))
    both = f"{other.headers['webhook-signature']} {call.headers['webhook-signature']}"
    assert verdict(call.having(webhook_signature=both), SIGNING_TOKEN) == "gitlab"


def test_a_signing_token_is_not_believed_in_plain_text() -> None:
    call = gitlab(payload("gitlab-push"), token=SIGNING_TOKEN)
    assert verdict(call, SIGNING_TOKEN) == "hook-unauthenticated"


@pytest.mark.parametrize("name", PROOFS)
def test_a_refusal_quotes_nothing_that_was_sent(name: str) -> None:
    call, proof = PROOFS[name]
    secret = "s3cr3t-of-somebody"
    changed = Call(secret.encode(), {**call.without(proof).headers, proof: secret})
    with pytest.raises(RefusedError) as caught:
        parse_call(changed.headers, changed.body, TOKEN, None, NOW)
    said = f"{caught.value.message} {caught.value.hint}"
    assert secret not in said
    assert TOKEN.decode() not in said


NAMES = sorted({name for call in CALLERS.values() for name in call.headers} | {
    "webhook-id", "webhook-timestamp", "webhook-signature", "Content-Encoding", "X-Forgejo-Event"
})  # fmt: skip


ANYTHING = st.text(st.characters(exclude_categories=()))  # halves of characters, too


@given(
    headers=st.dictionaries(st.sampled_from(NAMES) | ANYTHING, ANYTHING),
    body=st.binary() | st.text().map(str.encode),
    token=st.binary(),
    forge=st.sampled_from([None, *Forge]),
)
def test_whatever_is_sent_is_heard_or_refused(
    headers: dict[str, str], body: bytes, token: bytes, forge: Forge | None
) -> None:
    verdict(Call(body, headers), token, forge)


FIELDS = [
    *("ref", "refs", "repository", "project", "links", "html", "clone", "href", "clone_url"),
    *("push", "changes", "new", "old", "name", "type", "refId", "number", "event_name"),
    *("object_attributes", "iid", "pullRequest", "toRef", "id"),
]
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=5)
    ),
    max_leaves=20,
)
EVENTS = ["push", "pull_request", "Push Hook", "Merge Request Hook", "System Hook"]
EVENTS += ["repo:push", "repo:refs_changed", "pr:opened"]


@given(
    document=JSON_VALUES,
    make=st.sampled_from([github, gitea, gitlab, bitbucket, bitbucket_server]),
    event=st.sampled_from(EVENTS),
)
def test_any_genuine_json_is_heard_or_refused(
    document: object, make: Callable[[bytes, str], Call], event: str
) -> None:
    body = json.dumps(document).encode()
    assert verdict(make(body, event)) in {*Forge, "hook-bad-payload"}
