"""Who may do what, and what they are told: as a real API server decided it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_testing.api_recordings import access, headers_of, placed, recorded

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.user_info import ADMIN, UserInfo
from kube_sandbox.authorization.escalation import BINDINGS, ROLES, check_grant
from kube_sandbox.authorization.rbac import Attributes, RBACAuthorizer
from kube_sandbox.endpoints.impersonation import impersonated
from kube_sandbox.endpoints.request_info import (
    Query,
    Request,
    authorization_attributes,
    parse_target,
    verb_of,
)

CASES = [each for each in recorded("api_access")["cases"] if "review" not in each["case"][1]]
REFUSALS = (400, 403, 404)
RIGHTS = access()


def name_of(recording: dict[str, Any]) -> str:
    method, path, body, who = recording["case"]
    name = (body or {}).get("metadata", {}).get("name", "")
    return f"{who.get('user', 'admin')} {method} {path} {name}"


def asked(asker: UserInfo, method: str, path: str) -> Attributes:
    place, _, text = path.partition("?")
    target, query = parse_target(place), Query.parse(text)
    if target is None or place.startswith("/logs"):
        return Attributes(method.lower(), path=place)
    request = Request(verb_of(method, target, query), target, query, asker)
    return authorization_attributes(request)


def play(method: str, path: str, body: KubeObject | None, who: dict[str, Any]) -> None:
    asker = impersonated(ADMIN, headers_of(who), RIGHTS)
    RIGHTS.check(asker, asked(asker, method, path))
    plural = path.rpartition("/")[2]
    if body is not None and plural in ROLES | BINDINGS:
        check_grant(RIGHTS, asker, plural, placed(path, body))


@pytest.mark.parametrize("recording", CASES, ids=name_of)
def test_it_is_refused_as_by_the_real_one(recording: dict[str, Any]) -> None:
    answer = recording["answer"] or {}
    # What is not there is not refused here.
    if recording["code"] not in REFUSALS or not answer:
        play(*recording["case"])
        return
    with pytest.raises(StatusError) as refused:
        play(*recording["case"])
    told = refused.value.status()
    kept = ("metadata", "details")
    assert told == {key: value for key, value in answer.items() if value or key in kept}


def test_masters_are_asked_nothing() -> None:
    nobody = RBACAuthorizer(lambda _: [])
    assert nobody.decide(ADMIN, Attributes("delete", "apps", "deployments")).allowed
    check_grant(nobody, ADMIN, "clusterroles", {"metadata": {"name": "x"}, "rules": [{}]})


def test_rights_that_change_are_noticed() -> None:
    objects: dict[str, list[KubeObject]] = {}
    rights = RBACAuthorizer(lambda plural: objects.get(plural, []))
    max_, listing = UserInfo("max"), Attributes("list", "", "pods")
    assert not rights.decide(max_, listing).allowed
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    objects["clusterroles.rbac.authorization.k8s.io"] = [
        {"metadata": {"name": "lister"}, "rules": [rule]}
    ]
    objects["clusterrolebindings.rbac.authorization.k8s.io"] = [
        {
            "metadata": {"name": "listers"},
            "roleRef": {"kind": "ClusterRole", "name": "lister"},
            "subjects": [{"kind": "User", "name": "max"}],
        }
    ]
    rights.forget()
    found = rights.decide(max_, listing)
    text = 'ClusterRoleBinding "listers" of ClusterRole "lister" to User "max"'
    assert (found.allowed, found.reason) == (True, f"RBAC: allowed by {text}")


def test_what_the_garbage_collector_changes_grants_nothing() -> None:
    rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
    old = {"metadata": {"name": "x", "finalizers": ["a/b"]}, "rules": [rule]}
    check_grant(RIGHTS, UserInfo("max"), "clusterroles", {**old, "metadata": {"name": "x"}}, old)
    labelled = {"name": "x", "labels": {"a": "b"}}
    with pytest.raises(StatusError):
        check_grant(RIGHTS, UserInfo("max"), "clusterroles", {**old, "metadata": labelled}, old)


WORDS = st.sampled_from(["", "a", "b", "*"])
RULES = st.fixed_dictionaries(
    {
        "apiGroups": st.lists(WORDS, min_size=1, max_size=2),
        "resources": st.lists(st.sampled_from(["a", "b", "a/s", "*/s", "*"]), min_size=1),
        "verbs": st.lists(WORDS, min_size=1, max_size=2),
        "resourceNames": st.lists(st.sampled_from(["n", "m"]), max_size=2),
    }
)


@given(RULES)
def test_everybody_may_grant_what_they_hold(rule: dict[str, Any]) -> None:
    role = {"metadata": {"name": "r"}, "rules": [rule]}
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "Group", "name": "g"}],
    }
    objects = {"clusterroles": [role], "clusterrolebindings": [binding]}
    rights = RBACAuthorizer(lambda plural: objects.get(plural.partition(".")[0], []))
    check_grant(rights, UserInfo("x", ("g",)), "clusterroles", role)
    check_grant(rights, UserInfo("x", ("g",)), "clusterrolebindings", binding)
