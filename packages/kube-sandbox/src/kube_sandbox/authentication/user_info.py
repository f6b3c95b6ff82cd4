"""
Who sends a request: name, groups, uid and extra, and the names of the groups of all users.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/authentication/user/user.go Info, DefaultInfo.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

MASTERS = "system:masters"  # its members are allowed everything
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
ANONYMOUS = "system:anonymous"


@dataclass(frozen=True, slots=True)
class UserInfo:
    """The user or service account that sends a request."""

    user: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


ADMIN = UserInfo("admin", (MASTERS, AUTHENTICATED))
