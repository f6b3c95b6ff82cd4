"""
A request → its answer: who asks, what is meant, whether it is allowed, and which verb does it.

Synchronous from beginning to end: a request sees one state of the store and leaves one behind.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/installer.go
APIInstaller.registerResourceHandlers;
k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go crdHandler.ServeHTTP;
k8s.io/apiserver/pkg/endpoints/filters/authorization.go WithAuthorization.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox import api_errors
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.admission.validating_admission_policy import ValidatingAdmissionPolicies
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.authorization.rbac import Attributes, RBACAuthorizer
from kube_sandbox.endpoints import deletion, protobuf
from kube_sandbox.endpoints.decoding import BodyDecoder, parse_apply, parse_patch
from kube_sandbox.endpoints.delete_collection import delete_collection
from kube_sandbox.endpoints.deletion import Deleter
from kube_sandbox.endpoints.interface import HTTPRequest, Stream
from kube_sandbox.endpoints.negotiation import JSON
from kube_sandbox.endpoints.options import (
    APPLY,
    delete_options,
    write_options,
)
from kube_sandbox.endpoints.read import Reader
from kube_sandbox.endpoints.request_info import (
    Query,
    Request,
    authorization_attributes,
    parse_target,
    verb_of,
)
from kube_sandbox.endpoints.responses import Response
from kube_sandbox.endpoints.write import Writer, Written
from kube_sandbox.endpoints.write_request import WriteRequest
from kube_sandbox.patch.json_patch import (
    JSON_PATCH,
    MERGE_PATCH,
    check_patch_type,
    json_patch,
    merge_patch,
)
from kube_sandbox.patch.strategic_merge import strategic_patch
from kube_sandbox.registry.builtin_resources import builtin_groups
from kube_sandbox.registry.kinds import ALL_VERBS, Registry, Served

_UNAUDITED_CODES = frozenset((404, 405, 406, 415))
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"))
# What is read and written as the object itself.
_OWN_SUBRESOURCES = frozenset(("", "status", "ephemeralcontainers", "resize"))

# A subresource that is no view of the object, or a kind that is never stored.
SpecialHandler = Callable[[Served, Request], Response]


@dataclass(frozen=True, slots=True)
class Handlers:
    """What it takes to answer."""

    registry: Registry
    reader: Reader
    writer: Writer
    deleter: Deleter
    bodies: BodyDecoder
    access: RBACAuthorizer
    identify: Callable[[Mapping[str, str]], UserInfo]
    watch: Callable[[Served, Request], Stream]
    documents: Callable[[HTTPRequest], Response | None]
    specials: Mapping[str, SpecialHandler]  # by `bucket/subresource`, or by subresource alone
    clock: Callable[[], datetime]
    policies: ValidatingAdmissionPolicies
    note: Callable[[HTTPRequest, UserInfo, int, datetime], None] | None = (
        None  # called for every request
    )


class APIHandler:
    """Answers requests."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers

    def answer(self, call: HTTPRequest) -> Response | Stream:
        """Answer a request; what is rejected is raised."""
        user = self._handlers.identify(call.headers)
        note = self._handlers.note
        if note is None:
            return self._answer(call, user)
        began = self._handlers.clock()
        try:
            found = self._answer(call, user)
        except api_errors.StatusError as error:
            note(call, user, error.code, began)
            raise
        note(call, user, found.code if isinstance(found, Response) else 200, began)
        return found

    def _answer(self, call: HTTPRequest, user: UserInfo) -> Response | Stream:
        target = parse_target(call.path)
        served = (
            self._handlers.registry.find(target.group, target.version, target.plural)
            if target is not None
            else None
        )
        if target is None or served is None:
            self._handlers.access.check(user, Attributes(call.method.lower(), path=call.path))
            document = self._handlers.documents(call)
            if document is None:
                raise _path_not_found(call.path)
            return document
        with _deprecated(served):
            if served.is_custom:
                call = replace(call, method="GET") if call.method == "HEAD" else call
                # Reject unknown verbs with the message that custom kinds have.
                method = call.method
                if method in ("PUT", "PATCH") and not target.name:
                    raise api_errors.bad_request("name must be provided")
                if method not in _METHODS:
                    raise api_errors.method_not_supported(served.kind.group, served.plural, "")
                if method == "POST" and not target.subresource:
                    target = replace(target, name="")
            query, headers = Query.parse(call.query), call.headers
            content_type, body = headers.get("Content-Type", ""), call.body
            if content_type.startswith(protobuf.MEDIA_TYPE) and body:
                # kubectl sends it where it knows a kind, and takes JSON for an answer.
                content_type, body = JSON, orjson.dumps(protobuf.decoded(body))
            request = Request(
                verb_of(call.method, target, query),
                target,
                query,
                user,
                headers.get("Accept", ""),
                content_type,
                headers.get("User-Agent", ""),
                body,
            )
            self._handlers.access.check(user, authorization_attributes(request))
            path = call.path
            target = request.target
            if target.namespace and not served.namespaced:
                raise _path_not_found(path)
            if target.subresource and target.subresource not in served.subresources:
                if served.is_custom:
                    raise api_errors.not_found(served.kind.group, served.plural, target.name)
                raise _path_not_found(path)
            if served.namespaced and not target.namespace and request.verb not in ("list", "watch"):
                raise (
                    _path_not_found(path)
                    if target.name or served.is_custom
                    else _method_not_allowed()
                )
            found = self._dispatch(served, request)
        if served.deprecation:
            found.warnings = [served.deprecation, *found.warnings]
        return found

    def _dispatch(self, served: Served, request: Request) -> Response | Stream:
        part, handlers = request.target.subresource, self._handlers
        special = handlers.specials.get(f"{served.bucket}/{part}") or handlers.specials.get(part)
        if special is not None and (part or request.verb == "create"):
            return special(served, request)
        part = request.target.subresource
        # The verbs of a custom kind are what discovery tells: one that goes still takes changes.
        own = ALL_VERBS if served.is_custom else served.verbs
        verbs = served.subresources[part].verbs if part else own
        if request.verb not in verbs or part not in _OWN_SUBRESOURCES:
            if served.is_custom:
                kind = served.kind
                raise api_errors.method_not_supported(kind.group, served.plural, request.verb)
            raise _method_not_allowed()
        match request.verb:
            case "get":
                return handlers.reader.get(served, request)
            case "list":
                return handlers.reader.list(served, request)
            case "watch":
                return handlers.watch(served, request)
            case "create":
                write_request = WriteRequest.of(
                    served,
                    request,
                    write_options(request.query, "CreateOptions"),
                    self._handlers.clock(),
                )
                rendering = self._handlers.reader.rendering(served, request)
                with _telling(write_request):
                    obj = self._read(write_request, request)
                    written = self._handlers.writer.create(write_request, obj)
                    return rendering.one(201, written.value, write_request.warnings)
            case "update":
                return self._update(served, request)
            case "patch":
                patch_type = request.content_type.split(";", 1)[0].strip()
                check_patch_type(served, patch_type)
                rendering = self._handlers.reader.rendering(served, request)
                options = write_options(request.query, "PatchOptions", patch_type)
                write_request = WriteRequest.of(served, request, options, self._handlers.clock())
                with _telling(write_request):
                    written = self.patched(write_request, patch_type, request.body)
                    code = 201 if written.is_new else 200
                    return rendering.one(code, written.value, write_request.warnings)
            case "delete":
                return self._delete(served, request)
            case _:
                return delete_collection(
                    handlers.reader, handlers.deleter, served, request, handlers.clock()
                )

    # Writing

    def _update(self, served: Served, request: Request) -> Response:
        rendering = self._handlers.reader.rendering(served, request)
        write_request = WriteRequest.of(
            served, request, write_options(request.query, "UpdateOptions"), self._handlers.clock()
        )
        with _telling(write_request):
            obj = self._read(write_request, request)
            written = self._handlers.writer.update(write_request, obj)
            code = 201 if written.is_new else 200
            return rendering.one(code, written.value, write_request.warnings)

    def patched(self, write_request: WriteRequest, patch_type: str, body: bytes) -> Written:
        """Patch an object in one of the four ways."""
        writer, checked = self._handlers.writer, write_request.options.validation != "Ignore"
        if patch_type == APPLY:
            return writer.apply(write_request, parse_apply(body))
        writer.require(write_request)  # before anything is said of the patch
        patch = parse_patch(body, patch_type, checked=checked)
        if patch_type == JSON_PATCH:
            return writer.patch(
                write_request, lambda live: json_patch(live, patch, checked=checked)
            )
        if patch_type == MERGE_PATCH:
            return writer.patch(
                write_request, lambda live: merge_patch(live, patch, checked=checked)
            )
        schema = write_request.served.schema
        return writer.patch(write_request, lambda live: strategic_patch(live, patch, schema), patch)

    def _read(self, write_request: WriteRequest, request: Request) -> KubeObject:
        obj, warnings = self._handlers.bodies.read(
            write_request.served,
            request.body,
            request.content_type,
            write_request.options.validation,
        )
        write_request.warnings += warnings
        return obj

    # Deleting

    def _delete(self, served: Served, request: Request) -> Response:
        rendering = self._handlers.reader.rendering(served, request)
        options = delete_options(request.query, request.body)
        target, now = request.target, self._handlers.clock()
        warnings = deletion.warnings(served, options)
        try:
            if self._handlers.policies.are_any:
                place = (request.target.namespace, request.target.name)
                live = self._handlers.writer.stored.find(served, *place)
                if live is not None:
                    self._handlers.policies.admit(
                        AdmissionAttributes("DELETE", served, *place, "", None, live, request.asker)
                    )
            found = self._handlers.deleter.delete(
                served, target.namespace, target.name, options, now
            )
        except api_errors.StatusError as error:
            error.warnings = warnings
            raise
        code = 202 if not found.is_gone and options.orphan is False else 200
        return rendering.one(code, found.answer, warnings)


@contextmanager
def _telling(write_request: WriteRequest) -> Iterator[None]:
    """Attach warnings to an error that rejects the request."""
    try:
        yield
    except api_errors.StatusError as error:
        error.warnings = write_request.warnings
        raise


@contextmanager
def _deprecated(served: Served) -> Iterator[None]:
    """Warn of a deprecated version, also if the request is rejected."""
    try:
        yield
    except api_errors.StatusError as error:
        # Of a built-in kind nothing is said to those whose request has no handler.
        is_handled = error.code not in _UNAUDITED_CODES or error.status().get("details") != {}
        is_handled = is_handled or served.is_custom
        if served.deprecation and is_handled:
            error.warnings = [served.deprecation, *error.warnings]
        raise


def _path_not_found(path: str) -> api_errors.StatusError:
    """Return 404 for a path; in JSON below the built-in groups, in plain text elsewhere."""
    match path.split("/", 3):
        case [_, "api", _, *_]:
            return _resource_not_found()
        case [_, "apis", group, *_] if group in builtin_groups():
            return _resource_not_found()
        case _:
            return api_errors.no_such_path()


def _resource_not_found() -> api_errors.StatusError:
    text = "the server could not find the requested resource"
    return api_errors.StatusError(404, "NotFound", text, {})


def _method_not_allowed() -> api_errors.StatusError:
    text = "the server does not allow this method on the requested resource"
    return api_errors.StatusError(405, "MethodNotAllowed", text, {})
