"""
Method, path and query → what is asked for.

Pure: the body and who asks come with it, nothing is looked up. Whether a group or a plural is
served is for others to say.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/request/requestinfo.go
RequestInfoFactory.NewRequestInfo.
"""

from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote

from kube_sandbox.api_errors import StatusError
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.authorization.rbac import Attributes

_NAMED = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_UNNAMED = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
# What follows a namespace's name when it is the namespace itself that is meant.
_OF_NAMESPACES = frozenset(("status", "finalize"))
# A list or watch that selects one name is authorized as if it named the object.
_WITHOUT_NAME = frozenset(("list", "watch", "deletecollection"))
_FALSE = frozenset(("false", "0"))


@dataclass(frozen=True, slots=True)
class Target:
    """What a path names: a resource, an object, or a part of one."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """The parameters of a request; a parameter may be given more than once."""

    values: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> "Query":
        """Read what stands after the question mark."""
        return cls(tuple(parse_qsl(text, keep_blank_values=True))) if text else cls()

    def get(self, name: str) -> str:
        """Return a parameter's first value, or nothing."""
        return next((value for key, value in self.values if key == name), "")

    def all(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return [value for key, value in self.values if key == name]

    def flag(self, name: str) -> bool | None:
        """Return a yes or no, `None` if nothing is said."""
        found = self.all(name)
        return found[0].lower() not in _FALSE if found else None


@dataclass(frozen=True, slots=True)
class Request:
    """One request for a resource."""

    verb: str
    target: Target
    query: Query
    asker: UserInfo
    accept: str = ""
    content_type: str = ""
    agent: str = ""
    body: bytes = b""


def parse_target(path: str) -> Target | None:
    """Read a path; `None` if it is none of a resource."""
    parts = [unquote(each) for each in path.split("/") if each]
    match parts:
        case ["api", version, *rest] if rest:
            return _target("", version, rest)
        case ["apis", group, version, *rest] if rest:
            return _target(group, version, rest)
    return None


def _target(group: str, version: str, rest: list[str]) -> Target | None:
    match rest:
        case ["namespaces"] | ["namespaces", _]:
            return Target(group, version, "namespaces", name="".join(rest[1:]))
        case ["namespaces", name, part] if part in _OF_NAMESPACES:
            return Target(group, version, "namespaces", name=name, subresource=part)
        case ["namespaces", namespace, plural, *more] if len(more) <= 2:
            return Target(group, version, plural, namespace, *more)
        case [plural]:
            return Target(group, version, plural)
        case [plural, name, *more] if len(more) <= 1:
            return Target(group, version, plural, "", name, *more)
    return None


def verb_of(method: str, target: Target, query: Query) -> str:
    """Return what is to be done."""
    if method == "GET" and query.flag("watch"):
        return "watch"
    if target.name and target.subresource and method == "POST":
        return "create"
    verb = (_NAMED if target.name else _UNNAMED).get(method)
    if verb is None:
        text = "the server does not allow this method on the requested resource"
        raise StatusError(405, "MethodNotAllowed", text, {})
    return verb


def authorization_attributes(request: Request) -> Attributes:
    """Return what a request for a resource needs permission for."""
    target = request.target
    name, namespace = target.name, target.namespace
    if not name and request.verb in _WITHOUT_NAME:
        for term in request.query.get("fieldSelector").split(","):
            field, _, value = term.partition("=")
            if field.strip() == "metadata.name":
                name = value.lstrip("=")
                break
    if (target.group, target.plural) == ("", "namespaces"):
        namespace = target.name  # a namespace counts as being in itself
    verb = request.verb
    return Attributes(verb, target.group, target.plural, target.subresource, namespace, name)
