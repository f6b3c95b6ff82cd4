"""
All parts of an API over one store, put together.

The only place where they meet. What is random or reads a clock is made here and handed down.
"""

import asyncio
import secrets
import uuid
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial

import orjson

from kube_objects.refs import Kind, KubeObject
from kube_objects.times import format_time
from kube_sandbox.admission.chain import AdmissionChain
from kube_sandbox.admission.plugins.interface import AdmissionContext
from kube_sandbox.admission.plugins.registration import default_plugins
from kube_sandbox.admission.validating_admission_policy import GROUP as POLICIES
from kube_sandbox.admission.validating_admission_policy import Sources, ValidatingAdmissionPolicies
from kube_sandbox.apiextensions.customresourcedefinition.strategy import DefinitionStrategy
from kube_sandbox.authentication.authenticator import Authenticator
from kube_sandbox.authentication.certificates import KeyFiles
from kube_sandbox.authentication.tokens import TokenIssuer
from kube_sandbox.authentication.user_info import ADMIN, AUTHENTICATED, MASTERS, UserInfo
from kube_sandbox.authorization.rbac import RBAC, RBACAuthorizer
from kube_sandbox.authorization.reviews import Reviews
from kube_sandbox.bootstrap import bootstrap_objects, complete_bootstrap_object
from kube_sandbox.controllers.client import StoreClient
from kube_sandbox.controllers.crd import BUCKET as DEFINITIONS
from kube_sandbox.controllers.crd import CRDController, delete_definition
from kube_sandbox.controllers.manager import ControllerManager, ControllerManagerOptions
from kube_sandbox.controllers.namespace import NamespaceInitializer, delete_namespace
from kube_sandbox.controllers.token_secrets import TokenSecretController
from kube_sandbox.controllers.token_secrets import TokenSecretDependencies as TokenSurroundings
from kube_sandbox.controllers.workloads.plan_steps import Settings
from kube_sandbox.discovery.openapi import OpenAPIDocuments
from kube_sandbox.discovery.resources import Discovery
from kube_sandbox.endpoints.decoding import BodyDecoder
from kube_sandbox.endpoints.deletion import Deleter
from kube_sandbox.endpoints.handler import APIHandler, Handlers
from kube_sandbox.endpoints.impersonation import impersonated
from kube_sandbox.endpoints.interface import HTTPRequest, Stream
from kube_sandbox.endpoints.non_resource import NonResourceHandler
from kube_sandbox.endpoints.options import WriteOptions
from kube_sandbox.endpoints.read import Reader, version_options_of
from kube_sandbox.endpoints.request_info import Request
from kube_sandbox.endpoints.responses import Rendering, Response
from kube_sandbox.endpoints.stored_objects import Convert, StoredObjects
from kube_sandbox.endpoints.subresources import SubresourceHandlers
from kube_sandbox.endpoints.write import Writer
from kube_sandbox.endpoints.write_request import WriteRequest
from kube_sandbox.http.watch_stream import OpenWatches, WatchStream, wait_for_version
from kube_sandbox.registry.builtin import events
from kube_sandbox.registry.builtin.autoscaling import conversion
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.builtin.services.ip_allocation import ServiceAllocations
from kube_sandbox.registry.builtin_resources import served_builtins
from kube_sandbox.registry.kinds import Registry, Served
from kube_sandbox.registry.name_validation import SUFFIX_LETTERS
from kube_sandbox.storage.bookmarks import bookmarks
from kube_sandbox.storage.records import Change, ChangeType, Record
from kube_sandbox.storage.store import Store
from kube_sandbox.storage.watch import Watch, Watched, needed_version, timeout

_SYSTEM_USER = UserInfo("system:apiserver", (MASTERS, AUTHENTICATED))
_SUFFIX = 5  # letters


class APIServerComponents:
    """All parts of an API over one store."""

    def __init__(self, store: Store, keys: KeyFiles, token: str, *, accounts: bool) -> None:
        self._store = store
        self._registry = Registry()
        self._book = ServiceAllocations()
        self._watches = OpenWatches()
        self._stored = StoredObjects(store, _CONVERSIONS)
        self._access = RBACAuthorizer(self._objects)
        namespace = partial(self._stored.look, "namespaces", "")
        self._policies = ValidatingAdmissionPolicies(
            Sources(self._objects, namespace, self._registry.of_kind)
        )
        around = AdmissionContext(self._stored.look, self._objects, self._charge)
        asked = default_plugins(around, accounts=accounts, suffix=_suffix)
        admission = AdmissionChain(namespace, self._access, self._policies.admit, asked)
        self._writer = Writer(self._stored, BodyDecoder(), admission, new_uid, _suffix)
        marks = {DEFINITIONS: delete_definition, "namespaces": delete_namespace}
        self._deleter = Deleter(self._stored, admission, marks)
        self._tokens = TokenIssuer(keys.token_key.read_bytes(), self._stored.look)
        self._identities = Authenticator({token: ADMIN}, self._tokens)
        self._reader = Reader(self._stored, now)
        ways = {**strategies(self._book), DEFINITIONS: DefinitionStrategy()}
        for served in served_builtins(ways):
            self._registry.add(served)
        self._definitions = CRDController(
            self._registry, self._writer, self._deleter, _call_soon, now
        )
        self._api: APIHandler | None = None
        self.note: Callable[[HTTPRequest, UserInfo, int, datetime], None] | None = None

    def open(self, address: str) -> None:
        """Begin to answer at an address."""
        self._store.listen(self._on_change)
        for record in self._store.list("services"):
            self._note_service(record, is_there=True)
        self._definitions.changed = self._watches.end
        self._definitions.open()
        reviews = Reviews(self._access, self._identities)
        specials = SubresourceHandlers(self._writer, reviews, self._tokens, now, new_uid)
        documents = NonResourceHandler(
            Discovery(self._registry, address),
            OpenAPIDocuments(self._registry, lambda served: served.selectable),
            self._tokens,
            address,
            now,
        )
        self._api = APIHandler(
            Handlers(
                self._registry,
                self._reader,
                self._writer,
                self._deleter,
                BodyDecoder(),
                self._access,
                lambda headers: impersonated(
                    self._identities.asker(headers.get("Authorization", ""), now()),
                    headers.items(),
                    self._access,
                ),
                self._watch,
                documents.find,
                specials.table(),
                now,
                self._policies,
                self.note,
            )
        )

    def create_bootstrap_objects(self, port: int) -> None:
        """Create what every cluster has, as far as it is not there."""
        time = format_time(now())
        for obj in bootstrap_objects(port):
            served = self._registry.of_kind(Kind.of(obj["apiVersion"], obj["kind"]))
            metadata = obj["metadata"]
            place = (metadata.get("namespace", ""), metadata["name"])
            if served is not None and self._stored.record(served, *place) is None:
                complete_bootstrap_object(obj, new_uid(), time)
                self._stored.save(served, obj, None, dry_run=False)
            elif obj["kind"] == "Service":
                # See that the Service that is this server leads to where it listens now.
                redirect_metadata = obj["metadata"]
                live = self._stored.look(
                    "services", redirect_metadata["namespace"], redirect_metadata["name"]
                )
                ports = obj["spec"]["ports"]
                if live is not None and live["spec"].get("ports") != ports:
                    verbs = StoreClient(self._registry, self._writer, self._deleter, now)
                    changed = {**live, "spec": {**live["spec"], "ports": ports}}
                    verbs.replace("kube-apiserver", "services", changed)

    def background(self, workloads: Settings | None, authority: str) -> ControllerManager:
        """Return what happens in this cluster without being asked for."""
        verbs = StoreClient(self._registry, self._writer, self._deleter, now)
        authority = authority if workloads is not None else ""
        duties = ControllerManagerOptions(verbs.place, verbs.namespaced, workloads, authority)
        if authority:
            self._store.listen(NamespaceInitializer(verbs, authority, _call_soon).on_change)
            around = TokenSurroundings(
                self._stored.look,
                self._objects,
                lambda account, secret: self._tokens.issue_for(account, secret, now(), new_uid()),
                authority,
            )
            tokens = TokenSecretController(verbs, around, _call_soon)
            self._store.listen(tokens.on_change)
            tokens.open()
        found = ControllerManager(self._store, verbs, duties)
        self._definitions.serves = found.served
        return found

    def authenticate(self, headers: Mapping[str, str]) -> None:
        """Reject a client whose token is not known."""
        self._identities.asker(headers.get("Authorization", ""), now())

    def answer(self, call: HTTPRequest) -> Response | Stream:
        """Answer a request."""
        assert self._api is not None, "it is open"
        return self._api.answer(call)

    async def reached(self, version: int) -> None:
        """Return when a version is there, or when it was waited for long enough."""
        await wait_for_version(self._store, version)

    def _watch(self, served: Served, request: Request) -> WatchStream:
        asked = version_options_of(request.query, watch=True)
        selected = self._reader.selected(served, request)
        rendering = self._reader.rendering(served, request)
        loop = asyncio.get_running_loop()
        is_all = selected.is_all and not selected.scope.name
        watched = Watched(
            served.bucket,
            bookmarks(served.kind, is_custom=served.is_custom),
            request.target.namespace,
            None if is_all else selected.matches,
            _Events(rendering).show,
            bool(request.query.flag("allowWatchBookmarks")),
        )
        seconds = request.query.get("timeoutSeconds")
        lasts = timeout(
            int(seconds) if seconds.isdecimal() else None, secrets.randbelow(1000) / 1000
        )

        def begin() -> Watch:
            watch = Watch(self._store, watched, asked, loop.time(), lasts)
            return self._watches.add(served.bucket, watch)

        needed = needed_version(asked)
        return WatchStream(
            begin,
            partial(wait_for_version, self._store, needed)
            if needed > self._store.version
            else None,
        )

    def _objects(self, bucket: str, namespace: str = "") -> Iterable[KubeObject]:
        return [orjson.loads(each.value) for each in self._store.list(bucket, namespace)]

    def _charge(self, quota: KubeObject) -> None:
        """Store a quota's status, in the server's own name."""
        served = self._registry.of_kind(Kind("", "v1", "ResourceQuota"))
        assert served is not None, "it is built in"
        metadata = quota["metadata"]
        place = (metadata["namespace"], metadata["name"], "status")
        write_request = WriteRequest(
            served, *place, WriteOptions(), "kube-apiserver", _SYSTEM_USER, now()
        )
        self._writer.update(write_request, quota)

    def _on_change(self, change: Change) -> None:
        if change.bucket.endswith(RBAC):
            self._access.forget()
        elif change.bucket.endswith(POLICIES):
            self._policies.forget()
        elif change.bucket == "services":
            self._note_service(change.record, is_there=change.type is not ChangeType.DELETED)

    def _note_service(self, record: Record, *, is_there: bool) -> None:
        if is_there:
            self._book.put(record.namespace, record.name, orjson.loads(record.value))
        else:
            self._book.remove(record.namespace, record.name)


class _Events:
    """The objects of one watch's events: the first row of a table has headers."""

    def __init__(self, rendering: Rendering) -> None:
        self._rendering = rendering
        self._is_first = True

    def show(self, record: Record) -> bytes:
        """Show one."""
        headers, self._is_first = self._is_first, False
        return self._rendering.event(record.value, headers=headers)


def _autoscaler(obj: KubeObject, api_version: str) -> KubeObject:
    if obj["apiVersion"] == api_version:
        return obj
    to_v1 = api_version.endswith("/v1")
    return conversion.to_v1(obj) if to_v1 else conversion.to_v2(obj)


def _event(obj: KubeObject, api_version: str) -> KubeObject:
    if obj["apiVersion"] == api_version:
        return obj
    return events.to_core(obj) if api_version == "v1" else events.from_core(obj)


_CONVERSIONS: Mapping[str, Convert] = {
    "horizontalpodautoscalers.autoscaling": _autoscaler,
    "events": _event,
    "events.events.k8s.io": _event,
}


def now() -> datetime:
    """Return the time."""
    return datetime.now(UTC)


def new_uid() -> str:
    """Return an identity that nothing else has."""
    return str(uuid.uuid4())


def _suffix() -> str:
    return "".join(secrets.choice(SUFFIX_LETTERS) for _ in range(_SUFFIX))


def _call_soon(work: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(work)
