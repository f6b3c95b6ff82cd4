"""What each forge's call means, in the forms that their documentation shows."""

import json
from collections.abc import Callable

import pytest

from kro_gitops.source.api.types import Forge
from kro_gitops.source.webhooks.receive import LARGEST_BODY, WebhookCall, parse_call
from kube_objects.errors import RefusedError
from tests.unit.source.forge_calls import (
    NOW,
    SIGNING_TOKEN,
    TOKEN,
    Call,
    azure,
    bitbucket,
    bitbucket_server,
    generic,
    gitea,
    github,
    gitlab,
    gitlab_signed,
    gogs,
    payload,
)

MAIN = ("refs/heads/main",)
TAG = ("refs/tags/v1.4.0",)
HUB_ID = "72d3162e-cc78-11e3-81ab-4c9367dc0958"
TEA_ID = "f6266f16-1bf3-46a5-9ea4-602e06ead473"
LAB_ID = "13792a34-cac6-4fda-95a8-c58e00a3954e"
GITHUB = (
    "https://github.com/acme/platform.git",
    "https://github.com/acme/platform",
    "git@github.com:acme/platform.git",
    "git://github.com/acme/platform.git",
)
GITLAB = (
    "https://gitlab.example.com/acme/platform.git",
    "git@gitlab.example.com:acme/platform.git",
    "https://gitlab.example.com/acme/platform",
)
SERVER = (
    "ssh://git@bitbucket.acme.example:7999/acme/platform.git",
    "https://bitbucket.acme.example/scm/acme/platform.git",
)
AZURE = ("https://acme@dev.azure.com/acme/Cloud%20Shop/_git/platform",)


def tea(host: str) -> tuple[str, ...]:
    return (
        f"https://{host}/acme/platform.git",
        f"https://{host}/acme/platform",
        f"ssh://git@{host}:2222/acme/platform.git",
    )


def heard(call: Call, token: bytes = TOKEN, forge: Forge | None = None) -> WebhookCall:
    return parse_call(call.headers, call.body, token, forge, NOW)


def refusal(call: Call, token: bytes = TOKEN, forge: Forge | None = None) -> str:
    with pytest.raises(RefusedError) as caught:
        heard(call, token, forge)
    assert caught.value.hint
    return caught.value.code


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(
            github(payload("github-push")),
            WebhookCall(Forge.GITHUB, "push", True, MAIN, GITHUB, HUB_ID),
            id="GitHub: a branch",
        ),
        pytest.param(
            github(payload("github-push-tag")),
            WebhookCall(Forge.GITHUB, "push", True, TAG, GITHUB, HUB_ID),
            id="GitHub: a tag",
        ),
        pytest.param(
            github(payload("github-push-deleted")),
            WebhookCall(Forge.GITHUB, "push", True, ("refs/heads/old",), GITHUB, HUB_ID),
            id="GitHub: a branch that goes",
        ),
        pytest.param(
            github(payload("github-ping"), "ping"),
            WebhookCall(Forge.GITHUB, "ping", False, (), (), HUB_ID),
            id="GitHub: a ping",
        ),
        pytest.param(
            github(payload("github-pull-request"), "pull_request"),
            WebhookCall(
                Forge.GITHUB,
                "pull_request",
                False,
                ("refs/pull/7/head", "refs/pull/7/merge"),
                GITHUB,
                HUB_ID,
            ),
            id="GitHub: a pull request",
        ),
        pytest.param(
            gitea(payload("gitea-push")),
            WebhookCall(Forge.GITEA, "push", True, MAIN, tea("gitea.acme.example"), TEA_ID),
            id="Gitea: a branch",
        ),
        pytest.param(
            gitea(payload("forgejo-push"), name="Forgejo"),
            WebhookCall(Forge.GITEA, "push", True, MAIN, tea("forgejo.acme.example"), TEA_ID),
            id="Forgejo: a branch",
        ),
        pytest.param(
            gogs(payload("gogs-push")),
            WebhookCall(Forge.GITEA, "push", True, MAIN, tea("gogs.acme.example"), TEA_ID),
            id="Gogs: a branch",
        ),
        pytest.param(
            gitea(payload("gitea-pull-request"), "pull_request"),
            WebhookCall(
                Forge.GITEA,
                "pull_request",
                False,
                ("refs/pull/7/head", "refs/pull/7/merge"),
                tea("gitea.acme.example"),
                TEA_ID,
            ),
            id="Gitea: a pull request",
        ),
        pytest.param(
            gitlab(payload("gitlab-push")),
            WebhookCall(Forge.GITLAB, "Push Hook", True, MAIN, GITLAB, LAB_ID),
            id="GitLab: a branch",
        ),
        pytest.param(
            gitlab(payload("gitlab-tag-push"), "Tag Push Hook"),
            WebhookCall(Forge.GITLAB, "Tag Push Hook", True, TAG, GITLAB, LAB_ID),
            id="GitLab: a tag",
        ),
        pytest.param(
            gitlab(payload("gitlab-merge-request"), "Merge Request Hook"),
            WebhookCall(
                Forge.GITLAB,
                "Merge Request Hook",
                False,
                ("refs/merge-requests/7/head", "refs/merge-requests/7/merge"),
                GITLAB,
                LAB_ID,
            ),
            id="GitLab: a merge request",
        ),
        pytest.param(
            gitlab(payload("gitlab-system-repository-update"), "System Hook"),
            WebhookCall(Forge.GITLAB, "System Hook", True, MAIN, GITLAB, LAB_ID),
            id="GitLab: a hook of the whole server",
        ),
        pytest.param(
            bitbucket(payload("bitbucket-push")),
            WebhookCall(
                Forge.BITBUCKET,
                "repo:push",
                True,
                (*MAIN, *TAG, "refs/heads/larger"),
                ("https://bitbucket.org/acme/platform",),
                "c2f7f5a0-2f43-4d7c-b6a4-8f8d3fd5a7f1",
            ),
            id="Bitbucket: a branch, a tag, and a branch that goes",
        ),
        pytest.param(
            bitbucket_server(payload("bitbucket-server-push")),
            WebhookCall(
                Forge.BITBUCKET_SERVER,
                "repo:refs_changed",
                True,
                MAIN,
                SERVER,
                "f6b5a1a1-4a8f-4d0f-8a4f-4d6f0f6b3c11",
            ),
            id="Bitbucket Data Center: a branch",
        ),
        pytest.param(
            bitbucket_server(payload("bitbucket-server-push-without-links")),
            WebhookCall(
                Forge.BITBUCKET_SERVER,
                "repo:refs_changed",
                True,
                MAIN,
                (),
                "f6b5a1a1-4a8f-4d0f-8a4f-4d6f0f6b3c11",
            ),
            id="Bitbucket Server: older ones name no URL",
        ),
        pytest.param(
            bitbucket_server(payload("bitbucket-server-pull-request"), "pr:from_ref_updated"),
            WebhookCall(
                Forge.BITBUCKET_SERVER,
                "pr:from_ref_updated",
                False,
                ("refs/pull-requests/7/from", "refs/pull-requests/7/merge"),
                SERVER,
                "f6b5a1a1-4a8f-4d0f-8a4f-4d6f0f6b3c11",
            ),
            id="Bitbucket Data Center: a pull request",
        ),
        pytest.param(
            bitbucket_server(payload("bitbucket-server-ping"), "diagnostics:ping"),
            WebhookCall(
                Forge.BITBUCKET_SERVER,
                "diagnostics:ping",
                False,
                (),
                (),
                "f6b5a1a1-4a8f-4d0f-8a4f-4d6f0f6b3c11",
            ),
            id="Bitbucket Data Center: a ping",
        ),
        pytest.param(
            azure(payload("azure-push")),
            WebhookCall(
                Forge.AZURE, "git.push", True, MAIN, AZURE, "03c164c2-8912-4d5e-8009-3707d5f83734"
            ),
            id="Azure: a branch",
        ),
        pytest.param(
            azure(payload("azure-pull-request")),
            WebhookCall(
                Forge.AZURE,
                "git.pullrequest.updated",
                False,
                ("refs/pull/7/merge",),
                AZURE,
                "2ab4e3d3-b7a6-425e-92b1-5a9982c1269e",
            ),
            id="Azure: a pull request",
        ),
        pytest.param(
            generic(b"whatever"),
            WebhookCall(Forge.GENERIC, "", True),
            id="generic: the body is not read",
        ),
        pytest.param(
            generic(b"").having(x_delivery="build-7"),
            WebhookCall(Forge.GENERIC, "", True, delivery="build-7"),
            id="generic: no body, and a name for the call",
        ),
        pytest.param(
            generic(b"{}", algorithm="sha512"),
            WebhookCall(Forge.GENERIC, "", True),
            id="generic: SHA-512",
        ),
    ],
)
def test_a_call_is_understood(call: Call, expected: WebhookCall) -> None:
    assert heard(call) == expected
    assert heard(call, forge=expected.forge) == expected


def test_a_signed_call_of_gitlab_is_known_by_its_signed_name() -> None:
    found = heard(gitlab_signed(payload("gitlab-push")), SIGNING_TOKEN)
    assert (found.refs, found.delivery) == (MAIN, "a5a9ce1c-3ad0-4c3f-9e4e-3e3f3d8a6c1b")


def test_the_case_of_header_names_does_not_matter() -> None:
    call = github(payload("github-push"))
    shouted = {name.upper(): value for name, value in call.headers.items()}
    assert heard(Call(call.body, shouted)) == heard(call)


@pytest.mark.parametrize(
    ("call", "forge"),
    [
        (github(payload("github-push"), "issue_comment"), Forge.GITHUB),
        (gitlab(payload("gitlab-push"), "Pipeline Hook"), Forge.GITLAB),
        (gitlab(b'{"event_name": "project_create"}', "System Hook"), Forge.GITLAB),
        (bitbucket(payload("bitbucket-push"), "pullrequest:created"), Forge.BITBUCKET),
        (bitbucket_server(b"{}", "repo:forked"), Forge.BITBUCKET_SERVER),
        (azure(b'{"eventType": "workitem.created", "id": "1"}'), Forge.AZURE),
        (azure(b"{}"), Forge.AZURE),
        (github(b"{}").without("x-github-event").having(x_github_event="star"), Forge.GITHUB),
    ],
)
def test_another_event_is_no_push_and_names_nothing(call: Call, forge: Forge) -> None:
    found = heard(call)
    assert (found.forge, found.is_push, found.refs, found.urls) == (forge, False, (), ())


def test_what_strangers_write_is_made_fit_to_be_shown() -> None:
    call = github(b"{}", "push\x1b[31m\nlevel=error " + "x" * 500)
    found = heard(call.having(x_github_delivery="1\r\n2\u202e" + "y" * 500))
    assert found.event.startswith("push??31m?level?error x")
    assert found.delivery.startswith("1??2?y")
    assert (len(found.event), len(found.delivery)) == (128, 128)


@pytest.mark.parametrize(
    "content_type",
    ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", ""],
)
@pytest.mark.parametrize("make", [github, gitea, gitlab, bitbucket, bitbucket_server, azure])
def test_only_json_is_read(make: Callable[[bytes], Call], content_type: str) -> None:
    body = b"payload=%7B%22ref%22%3A%22refs%2Fheads%2Fmain%22%7D"
    assert refusal(make(body).having(content_type=content_type)) == "hook-unsupported-encoding"


def test_a_compressed_body_is_not_unpacked() -> None:
    call = github(payload("github-push")).having(content_encoding="gzip")
    assert refusal(call) == "hook-unsupported-encoding"


DEEP = b'{"repository":' * 5_000 + b"1" + b"}" * 5_000
WRONG = [
    pytest.param(b"", id="nothing"),
    pytest.param(b"\xff\xfe{}", id="no UTF-8"),
    pytest.param(b"{", id="half an object"),
    pytest.param(b"[]", id="a list"),
    pytest.param(b"null", id="null"),
    pytest.param(b"[" * 500_000, id="brackets without end"),
    pytest.param(DEEP, id="objects within objects"),
    pytest.param(b'{"ref": NaN}', id="no JSON number"),
]


@pytest.mark.parametrize("body", WRONG)
@pytest.mark.parametrize("make", [github, gitea, gitlab, bitbucket, bitbucket_server, azure])
def test_a_body_that_is_no_object_is_refused(make: Callable[[bytes], Call], body: bytes) -> None:
    assert refusal(make(body)) == "hook-bad-payload"


@pytest.mark.parametrize(
    "call",
    [
        github(b'{"ref": "refs/heads/main"}'),
        github(b'{"ref": ["refs/heads/main"], "repository": {}}'),
        github(b'{"ref": "refs/heads/main", "repository": []}'),
        github(b'{"ref": "refs/heads/main", "repository": {"clone_url": 7}}'),
        github(b'{"number": "7; rm", "repository": {}}', "pull_request"),
        github(b'{"number": true, "repository": {}}', "pull_request"),
        github(b'{"number": 7.5, "repository": {}}', "pull_request"),
        gitlab(b'{"project": "x", "ref": "refs/heads/main"}'),
        gitlab(b'{"object_attributes": {}, "project": {}}', "Merge Request Hook"),
        gitlab(b'{"event_name": 7}', "System Hook"),
        gitlab(b'{"event_name": "repository_update", "refs": [7], "project": {}}', "System Hook"),
        bitbucket(b'{"repository": {}, "push": {"changes": [7]}}'),
        bitbucket(b'{"repository": {}, "push": {"changes": {"new": {}}}}'),
        bitbucket(b'{"repository": {"links": {"html": "x"}}}'),
        bitbucket_server(b'{"repository": {"links": {"clone": "x"}}}'),
        bitbucket_server(b'{"pullRequest": {}}', "pr:opened"),
        azure(b'{"eventType": "git.push"}'),
        azure(b'{"eventType": "git.push", "resource": {"refUpdates": [[]], "repository": {}}}'),
        azure(b'{"eventType": ["git.push"]}'),
    ],
)
def test_a_push_of_another_shape_is_refused(call: Call) -> None:
    assert refusal(call) == "hook-bad-payload"


def test_a_push_of_very_many_refs_is_about_any() -> None:
    changes = [{"refId": f"refs/heads/b{index}"} for index in range(1_001)]
    body = json.dumps({"repository": {}, "changes": changes}).encode()
    found = heard(bitbucket_server(body))
    assert (found.is_push, found.refs) == (True, ())


def test_a_body_may_be_so_large_and_no_larger() -> None:
    body = payload("github-push").ljust(LARGEST_BODY)
    assert heard(github(body)).refs == MAIN
    assert refusal(github(body + b" ")) == "hook-too-large"
    assert refusal(generic(body + b" ")) == "hook-too-large"


def test_names_and_messages_in_any_script_are_read() -> None:
    body = payload("github-push").replace(b"refs/heads/main", "refs/heads/größer-🛒".encode())
    assert heard(github(body)).refs == ("refs/heads/größer-🛒",)
