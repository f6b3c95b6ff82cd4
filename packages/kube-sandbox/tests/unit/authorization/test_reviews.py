"""Reviews are answered as a real API server answered them."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sandbox_testing.api_recordings import access, headers_of, recorded

from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.authenticator import Authenticator
from kube_sandbox.authentication.tokens import TokenIssuer
from kube_sandbox.authentication.user_info import ADMIN
from kube_sandbox.authorization.reviews import Reviews
from kube_sandbox.endpoints.impersonation import impersonated

CASES = [each for each in recorded("api_access")["cases"] if "review" in each["case"][1]]
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RIGHTS = access()
ASKER = replace(ADMIN, uid="admin")  # the recorded server's administrator has a uid
REVIEWS = Reviews(RIGHTS, Authenticator({"secret": ASKER}, TokenIssuer(b"", lambda *_: None)))


def play(path: str, body: dict[str, Any], who: dict[str, Any]) -> dict[str, Any]:
    parts = path.split("/")
    namespace = parts[5] if "namespaces" in parts else ""
    asker = impersonated(ASKER, headers_of(who), RIGHTS)
    return REVIEWS.answer(f"{parts[-1]}.{parts[2]}", body, namespace, asker, NOW)


def comparable(answer: dict[str, Any]) -> dict[str, Any]:
    """Leave out who wrote which field and when; the order of rules is nobody's."""
    kept = ("managedFields", "creationTimestamp")
    metadata = {key: each for key, each in answer["metadata"].items() if key not in kept}
    found = {**answer, "metadata": metadata}
    for key in ("resourceRules", "nonResourceRules"):
        if key in answer.get("status", {}):
            found["status"] = {
                **found["status"],
                key: sorted(map(str, map(sorted_rule, answer["status"][key]))),
            }
    return found


def sorted_rule(rule: dict[str, Any]) -> list[Any]:
    return sorted(rule.items())


@pytest.mark.parametrize(
    "recording", CASES, ids=lambda each: f"{each['case'][3].get('user')} {each['case'][1:3]}"
)
def test_it_is_answered_as_by_the_real_one(recording: dict[str, Any]) -> None:
    _, path, body, who = recording["case"]
    answer = recording["answer"]
    if recording["code"] == 201:
        assert comparable(play(path, body, who)) == comparable(answer)
        return
    with pytest.raises(StatusError) as refused:
        play(path, body, who)
    assert refused.value.status() == answer


KIND = "tokenreviews.authentication.k8s.io"


def test_a_token_the_server_was_started_with_is_known() -> None:
    found = REVIEWS.answer(KIND, {"spec": {"token": "secret"}}, "", ASKER, NOW)
    groups = ["system:masters", "system:authenticated"]
    assert found["status"] == {
        "authenticated": True,
        "user": {"username": "admin", "uid": "admin", "groups": groups},
        "audiences": ["https://kubernetes.default.svc"],
    }


@pytest.mark.parametrize("spec", [{"token": "bad"}, {"token": "secret", "audiences": ["x"]}])
def test_a_token_of_nobody_is_not(spec: dict[str, Any]) -> None:
    found = REVIEWS.answer(KIND, {"spec": spec}, "", ASKER, NOW)
    assert found["status"] == {"user": {}, "error": "invalid bearer token"}
    assert found["spec"] == spec


def test_a_review_of_no_token_makes_no_sense() -> None:
    with pytest.raises(StatusError) as refused:
        REVIEWS.answer(KIND, {"spec": {}}, "", ASKER, NOW)
    assert refused.value.message == "token is required for TokenReview in authentication"
