"""
Builds requests: method, path, query, headers, body.

No network and no credentials here. A request has a field for whether it may be repeated, because
only the code that builds it knows.
"""

import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from kro_gitops.kube.api import (
    DeleteOptions,
    Identity,
    JsonPatch,
    MergePatch,
    Patch,
    Resource,
    Selection,
    WriteOptions,
)
from kube_objects.dns_names import path_segment_problems
from kube_objects.errors import RefusedError
from kube_objects.go_text import quote as quote_text
from kube_objects.refs import Kind, KubeObject, ObjectRef

JSON = "application/json"
APPLY = "application/apply-patch+yaml"  # JSON is YAML, and is read faster
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"

_PARTIAL = f"{JSON};as=PartialObjectMetadata{{}};g=meta.k8s.io;v=v1"
PARTIAL_OBJECT = _PARTIAL.format("")
PARTIAL_LIST = _PARTIAL.format("List")

_LIST_ITEM = re.compile(r"/(-|[0-9]+)$")

Pairs = tuple[tuple[str, str], ...]  # of a query, or of headers: a name may come more than once


@dataclass(frozen=True, slots=True)
class Request:
    """One request, complete but for server and credentials."""

    verb: str  # get, list, watch, create, apply, patch, delete: for metrics and logs
    subject: str  # what it is about, for metrics and logs: `deployments.apps`, or a path
    method: str
    path: str
    query: Pairs = ()
    headers: Pairs = (("Accept", JSON),)
    body: Any = None
    may_repeat: bool = False  # sending it twice does what sending it once does

    @property
    def is_impersonating(self) -> bool:
        """Return whether it is sent in the name of another."""
        return any(name == "Impersonate-User" for name, _ in self.headers)

    def acting_as(self, identity: Identity) -> "Request":
        """Return the same request in another's name."""
        return replace(self, headers=self.headers + impersonation(identity))


def read(path: str, accept: str = JSON, query: Pairs = ()) -> Request:
    """Return a request for a document that is not an object: discovery, OpenAPI."""
    return Request("get", path, "GET", path, query, (("Accept", accept),), may_repeat=True)


def get(resource: Resource, ref: ObjectRef) -> Request:
    """Return a request for one object."""
    return Request("get", subject(resource), "GET", object_path(resource, ref), may_repeat=True)


def page(resource: Resource, selection: Selection, limit: int = 0, token: str = "") -> Request:
    """Return a request for a page of a list: the first, or the one that `token` stands for."""
    query = _present(
        ("labelSelector", selection.labels),
        ("fieldSelector", selection.fields),
        ("limit", str(limit) if limit else ""),
        ("continue", token),
    )
    accept = (("Accept", PARTIAL_LIST if selection.metadata_only else JSON),)
    path = collection_path(resource, selection.namespace)
    return Request("list", subject(resource), "GET", path, query, accept, may_repeat=True)


def watch(resource: Resource, selection: Selection, since: str, seconds: int) -> Request:
    """Return a request for a watch with bookmarks that the server ends after `seconds`."""
    query = _present(
        ("watch", "true"),
        ("allowWatchBookmarks", "true"),
        ("resourceVersion", since),
        ("timeoutSeconds", str(seconds)),
        ("labelSelector", selection.labels),
        ("fieldSelector", selection.fields),
    )
    accept = (("Accept", PARTIAL_OBJECT if selection.metadata_only else JSON),)
    path = collection_path(resource, selection.namespace)
    return Request("watch", subject(resource), "GET", path, query, accept, may_repeat=True)


def create(resource: Resource, obj: KubeObject, options: WriteOptions) -> Request:
    """Return a request that creates an object."""
    path = collection_path(resource, ObjectRef.of(obj).namespace, must_be_one=True)
    headers = _content(JSON)
    return Request("create", subject(resource), "POST", path, _query(options), headers, obj)


def apply(resource: Resource, obj: KubeObject, options: WriteOptions) -> Request:
    """Return a server-side apply."""
    if not options.manager:
        raise ValueError("server-side apply needs a field manager")
    path = object_path(resource, ObjectRef.of(obj), options.subresource)
    query = _query(options) + _present(("force", "true" if options.force else ""))
    headers = _content(APPLY)
    return Request("apply", subject(resource), "PATCH", path, query, headers, obj, may_repeat=True)


def patch(resource: Resource, ref: ObjectRef, patch: Patch, options: WriteOptions) -> Request:
    """
    Return a patch.

    A JSON patch may be repeated if it only sets fields. One that adds to a list, or tests what it
    changes, is sent once.
    """
    path = object_path(resource, ref, options.subresource)
    sent = Request("patch", subject(resource), "PATCH", path, _query(options))
    match patch:
        case MergePatch(changes):
            return replace(sent, headers=_content(MERGE_PATCH), body=changes, may_repeat=True)
        case JsonPatch(operations):
            sets_fields = bool(operations) and all(
                each["op"] in ("add", "replace") and not _LIST_ITEM.search(each["path"])
                for each in operations
            )
            headers = _content(JSON_PATCH)
            return replace(sent, headers=headers, body=operations, may_repeat=sets_fields)


def delete(resource: Resource, ref: ObjectRef, options: DeleteOptions) -> Request:
    """
    Return a deletion.

    It may be repeated: if the first one was executed but its response was lost, the second
    finds nothing, which is the desired result.
    """
    preconditions = dict(
        _present(("uid", options.uid), ("resourceVersion", options.resource_version))
    )
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions"}
    if preconditions:
        body["preconditions"] = preconditions
    if options.propagation is not None:
        body["propagationPolicy"] = options.propagation.value
    if options.dry_run:
        body["dryRun"] = ["All"]
    headers = _content(JSON)
    path = object_path(resource, ref)
    return Request("delete", subject(resource), "DELETE", path, (), headers, body, may_repeat=True)


def impersonation(identity: Identity) -> Pairs:
    """Return the headers that make the API server see another."""
    extra = (
        (f"Impersonate-Extra-{quote(key, safe='')}", value)
        for key, values in identity.extra.items()
        for value in values
    )
    groups = (("Impersonate-Group", group) for group in identity.groups)
    uid = _present(("Impersonate-Uid", identity.uid))
    return (("Impersonate-User", identity.user), *uid, *groups, *extra)


def subject(resource: Resource) -> str:
    """Name a resource as `kubectl` and roles do: `deployments.apps`, `pods`."""
    group = resource.kind.group
    return f"{resource.plural}.{group}" if group else resource.plural


def group_path(kind: Kind) -> str:
    """Return where a group and version lives: `/api/v1`, `/apis/apps/v1`."""
    return f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"


def collection_path(resource: Resource, namespace: str, *, must_be_one: bool = False) -> str:
    """Return the path of a kind's objects, in one namespace or, if it is empty, in all."""
    base = group_path(resource.kind)
    if not resource.namespaced:
        return f"{base}/{resource.plural}"
    if namespace:
        reject_invalid_names(namespace)
        return f"{base}/namespaces/{_quoted(namespace)}/{resource.plural}"
    if must_be_one:
        raise ValueError(f"{resource.kind} is namespaced, but no namespace is set")
    return f"{base}/{resource.plural}"


def object_path(resource: Resource, ref: ObjectRef, subresource: str = "") -> str:
    """Return the path of an object or of a part of it."""
    if not ref.name:
        raise ValueError(f"a {resource.kind} without a name has no path")
    path = collection_path(resource, ref.namespace, must_be_one=True)
    reject_invalid_names(ref.namespace, ref.name)
    path = f"{path}/{_quoted(ref.name)}"
    return f"{path}/{subresource}" if subresource else path


def _quoted(text: str) -> str:
    return quote(text, safe=":")


def reject_invalid_names(namespace: str, name: str = "") -> None:
    """
    Raise `RefusedError` if no request can name an object: its path would lead elsewhere.

    Rules and messages are those of k8s.io/client-go, dynamic/simple.go.
    """
    for what, text in (("namespace", namespace), ("resource name", name)):
        problems = path_segment_problems(text)
        if problems:
            shown = f"invalid {what} {quote_text(text)}: [{' '.join(problems)}]"
            raise RefusedError("invalid-name", shown)


def _content(content_type: str) -> Pairs:
    return (("Accept", JSON), ("Content-Type", content_type))


def _query(options: WriteOptions) -> Pairs:
    """Return the query of a write; parameters without a value are left out."""
    return _present(
        ("fieldManager", options.manager),
        ("dryRun", "All" if options.dry_run else ""),
        ("fieldValidation", "Strict" if options.strict else ""),
    )


def _present(*pairs: tuple[str, str]) -> Pairs:
    """Leave out what has no value."""
    return tuple(pair for pair in pairs if pair[1])
