"""
Impersonation: the `Impersonate-*` headers of a request.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/filters/impersonation/impersonation.go
WithImpersonation, buildImpersonationRequests.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from kube_sandbox import api_errors
from kube_sandbox.authentication.tokens import account_groups
from kube_sandbox.authentication.user_info import (
    ANONYMOUS,
    AUTHENTICATED,
    UNAUTHENTICATED,
    UserInfo,
)
from kube_sandbox.authorization.rbac import Attributes, RBACAuthorizer

_GROUP = "authentication.k8s.io"
_AS_USER, _AS_GROUP = "impersonate-user", "impersonate-group"
_AS_UID, _AS_EXTRA = "impersonate-uid", "impersonate-extra-"
_ACCOUNT = "system:serviceaccount:"


def impersonated(
    asker: UserInfo, headers: Iterable[tuple[str, str]], access: RBACAuthorizer
) -> UserInfo:
    """Return the impersonated user; raise if the client may not impersonate it."""
    wishes = [
        wish for name, value in headers for wish in _parse_impersonation_header(name.lower(), value)
    ]
    if not wishes:
        return asker
    wishes.sort(key=lambda wish: _ORDER[wish.kind])
    if wishes[0].kind not in ("ServiceAccount", "User"):
        message = " ".join(map(str, wishes))
        raise api_errors.bad_request(f"requested [{message}] without impersonating a user")
    for wish in wishes:
        access.check(asker, wish.attributes())
    # The user that results from all headers.
    first = wishes[0]
    is_account = first.kind == "ServiceAccount"
    user = f"{_ACCOUNT}{first.namespace}:{first.name}" if is_account else first.name
    groups = tuple(wish.name for wish in wishes if wish.kind == "Group")
    if is_account and not groups:
        groups = account_groups(first.namespace)
    extra: dict[str, tuple[str, ...]] = {}
    for wish in wishes:
        if wish.kind == "UserExtra":
            extra[wish.key] = (*extra.get(wish.key, ()), wish.name)
    uid = next((wish.name for wish in wishes if wish.kind == "UID"), "")
    # Add the group of all who are known, or of all who are not.
    if user == ANONYMOUS:
        if UNAUTHENTICATED not in groups:
            groups = (*groups, UNAUTHENTICATED)
    elif AUTHENTICATED not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, AUTHENTICATED)
    return UserInfo(user, groups, uid, extra)


@dataclass(frozen=True, slots=True)
class _ImpersonationRequest:
    """One impersonation header: a user, a group, a uid or an extra value."""

    kind: str
    name: str
    namespace: str = ""
    key: str = ""  # of an extra

    def attributes(self) -> Attributes:
        """Return the right that it takes."""
        group, resource = _RESOURCES[self.kind]
        return Attributes("impersonate", group, resource, self.key, self.namespace, self.name)

    def __str__(self) -> str:
        version = f"{_GROUP}/v1" if _RESOURCES[self.kind][0] else ""
        return f"{{{self.kind} {self.namespace} {self.name}  {version}  {self.key}}}"


_RESOURCES = {
    "ServiceAccount": ("", "serviceaccounts"),
    "User": ("", "users"),
    "Group": ("", "groups"),
    "UserExtra": (_GROUP, "userextras"),
    "UID": (_GROUP, "uids"),
}
_ORDER = {kind: place for place, kind in enumerate(_RESOURCES)}


def _parse_impersonation_header(header: str, value: str) -> Iterator[_ImpersonationRequest]:
    """Read a header; its name is in small letters."""
    if header == _AS_GROUP:
        yield _ImpersonationRequest("Group", value)
    elif header.startswith(_AS_EXTRA):
        yield _ImpersonationRequest("UserExtra", value, key=unquote(header.removeprefix(_AS_EXTRA)))
    elif header == _AS_UID and value:
        yield _ImpersonationRequest("UID", value)
    elif header == _AS_USER and value:
        namespace, _, name = value.removeprefix(_ACCOUNT).partition(":")
        if value.startswith(_ACCOUNT) and namespace and name and ":" not in name:
            yield _ImpersonationRequest("ServiceAccount", name, namespace)
        else:
            yield _ImpersonationRequest("User", value)
