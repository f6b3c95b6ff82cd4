"""Who asks; the words are those of a real API server."""

from datetime import UTC, datetime

import pytest

from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.authenticator import Authenticator
from kube_sandbox.authentication.tokens import TokenIssuer
from kube_sandbox.authentication.user_info import ADMIN, UserInfo
from kube_sandbox.authorization.rbac import RBACAuthorizer
from kube_sandbox.endpoints.impersonation import impersonated

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOBODY = RBACAuthorizer(lambda _: [])
IDENTITIES = Authenticator({"secret": ADMIN}, TokenIssuer(b"", lambda *_: None))


@pytest.mark.parametrize("header", ["Bearer secret", "bearer secret", "Bearer secret more"])
def test_the_administrator_is_known_by_a_token(header: str) -> None:
    assert IDENTITIES.asker(header, NOW) == ADMIN


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer ", "Bearer bad", "Basic secret", "secret", "Bearer a.b.c"]
)
def test_nobody_is_anonymous(header: str) -> None:
    with pytest.raises(StatusError) as refused:
        IDENTITIES.asker(header, NOW)
    assert refused.value.status() == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


BOT = "system:serviceaccount:here:bot"
ACCOUNTS = ("system:serviceaccounts", "system:serviceaccounts:here", "system:authenticated")


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, ADMIN),
        ({"Impersonate-User": "max"}, UserInfo("max", ("system:authenticated",))),
        ({"impersonate-user": BOT}, UserInfo(BOT, ACCOUNTS)),
        (
            {"Impersonate-User": BOT, "Impersonate-Group": "x"},
            UserInfo(BOT, ("x", "system:authenticated")),
        ),
        (
            {"Impersonate-User": "max", "Impersonate-Group": "system:unauthenticated"},
            UserInfo("max", ("system:unauthenticated",)),
        ),
        (
            {"Impersonate-User": "system:anonymous"},
            UserInfo("system:anonymous", ("system:unauthenticated",)),
        ),
        (
            {"Impersonate-User": "system:serviceaccount:here"},
            UserInfo("system:serviceaccount:here", ("system:authenticated",)),
        ),
    ],
)
def test_whoever_may_can_ask_as_somebody_else(headers: dict[str, str], expected: UserInfo) -> None:
    assert impersonated(ADMIN, headers.items(), NOBODY) == expected


def test_somebody_else_can_have_more_to_them() -> None:
    headers = [
        ("Impersonate-Extra-Foo%2fBar", "b"),
        ("Impersonate-Uid", "u"),
        ("Impersonate-Group", "a"),
        ("Impersonate-User", "max"),
        ("Impersonate-Extra-Foo%2fBar", "c"),
        ("Impersonate-Group", "b"),
    ]
    found = impersonated(ADMIN, headers, NOBODY)
    assert found.groups == ("a", "b", "system:authenticated")
    assert (found.uid, found.extra) == ("u", {"foo/bar": ("b", "c")})


@pytest.mark.parametrize(
    ("header", "value", "told"),
    [
        ("Impersonate-User", "top", 'users "top" is forbidden: User "max" cannot impersonate '
         'resource "users" in API group "" at the cluster scope'),
        ("Impersonate-User", BOT, 'serviceaccounts "bot" is forbidden: User "max" cannot '
         'impersonate resource "serviceaccounts" in API group "" in the namespace "here"'),
        ("Impersonate-Group", "q", 'groups "q" is forbidden: User "max" cannot impersonate '
         'resource "groups" in API group "" at the cluster scope'),
        ("Impersonate-Extra-Foo", "q", 'userextras.authentication.k8s.io "q" is forbidden: User '
         '"max" cannot impersonate resource "userextras/foo" in API group '
         '"authentication.k8s.io" at the cluster scope'),
        ("Impersonate-Uid", "q", 'uids.authentication.k8s.io "q" is forbidden: User "max" cannot '
         'impersonate resource "uids" in API group "authentication.k8s.io" at the cluster scope'),
    ],
)  # fmt: skip
def test_it_takes_a_right_for_each_part_of_somebody(header: str, value: str, told: str) -> None:
    rule = {
        "apiGroups": [""],
        "resources": ["users"],
        "verbs": ["impersonate"],
        "resourceNames": ["gmax"],
    }
    binding = {
        "metadata": {"name": "b"},
        "roleRef": {"kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "max"}],
    }
    objects = {
        "clusterroles": [{"metadata": {"name": "r"}, "rules": [rule]}],
        "clusterrolebindings": [binding],
    }
    rights = RBACAuthorizer(lambda plural: objects.get(plural.partition(".")[0], []))
    headers = {"Impersonate-User": "gmax", header: value}
    with pytest.raises(StatusError) as refused:
        impersonated(UserInfo("max"), headers.items(), rights)
    assert refused.value.message == told


def test_a_group_without_a_user_makes_no_sense() -> None:
    headers = [("Impersonate-Uid", "u"), ("Impersonate-Extra-A", "b"), ("Impersonate-Group", "x")]
    with pytest.raises(StatusError) as refused:
        impersonated(ADMIN, headers, NOBODY)
    assert refused.value.message == (
        "requested [{Group  x    } {UserExtra  b  authentication.k8s.io/v1  a} "
        "{UID  u  authentication.k8s.io/v1  }] without impersonating a user"
    )
