"""
One request that writes: what it is about, and whether an object is what it was sent as.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/registry/rest/meta.go
EnsureObjectNamespaceMatchesRequestNamespace; k8s.io/apiserver/pkg/endpoints/handlers/rest.go
checkName; k8s.io/apiserver/pkg/registry/rest/update.go BeforeUpdate;
k8s.io/apiserver/pkg/endpoints/handlers/namer.go ContextBasedNaming.Name.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kube_objects.go_text import quote
from kube_objects.refs import Kind, KubeObject
from kube_objects.times import format_time
from kube_sandbox import api_errors
from kube_sandbox.admission.attributes import AdmissionAttributes
from kube_sandbox.apiextensions.customresource.strategy import CustomStrategy
from kube_sandbox.authentication.user_info import UserInfo
from kube_sandbox.endpoints.options import WriteOptions, manager_or_agent
from kube_sandbox.endpoints.request_info import Request
from kube_sandbox.managedfields.manager import Types, Write
from kube_sandbox.registry.builtin_resources import storage_key
from kube_sandbox.registry.kinds import Served
from kube_sandbox.registry.strategy import RequestContext

_OTHER_NAMESPACE = (
    "the namespace of the provided object does not match the namespace sent on the request"
)
_MAX_VERSION_LENGTH = 19  # digits


@dataclass(slots=True)
class WriteRequest:
    """One request that writes."""

    served: Served
    namespace: str
    name: str
    subresource: str
    options: WriteOptions
    manager: str
    asker: UserInfo
    now: datetime
    warnings: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, served: Served, request: Request, options: WriteOptions, now: datetime
    ) -> "WriteRequest":
        """Return what a request asks to be written."""
        target, manager = request.target, manager_or_agent(options.manager, request.agent)
        return cls(
            served,
            target.namespace,
            target.name,
            target.subresource,
            options,
            manager,
            request.asker,
            now,
        )

    def request_context(self, find: Callable[[str, str, str], KubeObject | None]) -> RequestContext:
        """Return the context of the request for strategies."""
        return RequestContext(self.now, self.asker.user, find, self.options.dry_run)

    @property
    def write(self) -> Write:
        """Return the context of the write for managed fields."""
        served = self.served
        # How the other versions of a custom kind look, also those that are not served.
        strategy, kind = served.strategy, served.kind
        others: dict[str, Types] = {}
        if isinstance(strategy, CustomStrategy) and len(strategy.versions) != 1:
            others = {
                f"{kind.group}/{name}": Types.of(version.schema, custom=True)
                for name, version in strategy.versions.items()
                if name != kind.version
            }
        return Write(
            manager=self.manager,
            time=format_time(self.now),
            api_version=served.kind.api_version,
            subresource=self.subresource,
            kind=served.kind.kind,
            reset=served.strategy.reset_fields(self.subresource),
            others=others,
        )

    def admission_attributes(
        self, operation: str, obj: KubeObject, old: KubeObject | None
    ) -> AdmissionAttributes:
        """Return what policies are asked about."""
        place = (self.namespace, self.name, self.subresource)
        return AdmissionAttributes(
            operation, self.served, *place, obj, old, self.asker, self.options.dry_run
        )

    def not_found(self) -> api_errors.StatusError:
        """Return the error that the object is not there."""
        return api_errors.not_found(self.served.kind.group, self.served.plural, self.name)

    def conflict(self, why: str) -> api_errors.StatusError:
        """Return the error that the object is not what it was taken for."""
        return api_errors.conflict(self.served.kind.group, self.served.plural, self.name, why)

    def invalid(self, errors: list[Any], obj: KubeObject) -> api_errors.StatusError:
        """Return the error for an object, which is named by its own kind and name."""
        served = self.served
        kind = served.kind
        if served.is_custom and obj.get("apiVersion") and obj.get("kind"):
            kind = Kind.of(obj["apiVersion"], obj["kind"])
        group = kind.group if served.storage_group is None else served.storage_group
        return api_errors.invalid(group, kind.kind, self.name, errors)


def set_namespace(write_request: WriteRequest, obj: KubeObject) -> None:
    """See to it that an object says the namespace it is sent to."""
    metadata = obj["metadata"]
    wanted = write_request.namespace if write_request.served.namespaced else ""
    given = metadata.get("namespace", "")
    if given == wanted:
        return
    if not wanted:
        metadata.pop("namespace", None)
    elif given:
        raise api_errors.bad_request(_OTHER_NAMESPACE)
    else:
        metadata["namespace"] = wanted


def check_identity(write_request: WriteRequest, obj: KubeObject) -> None:
    """See to it that an object says where it was sent to, and no other place."""
    obj.setdefault("metadata", {})
    set_namespace(write_request, obj)
    check_name(write_request, obj)


def check_name(write_request: WriteRequest, obj: KubeObject) -> None:
    """Reject an object that has another name than it was sent to."""
    name = obj["metadata"].get("name", "")
    if not name:
        text = f"the name of the object ({write_request.name} based on URL) was undeterminable"
        raise api_errors.bad_request(f"{text}: name must be provided")
    if name != write_request.name:
        url_name = write_request.name
        message = f"the name of the object ({name}) does not match the name on the URL ({url_name})"
        raise api_errors.bad_request(message)


def version_of(obj: KubeObject) -> int:
    """Return the version that an object says to replace, 0 if it says none."""
    text = obj["metadata"].get("resourceVersion") or "0"
    if not text.isascii() or not text.isdecimal():
        raise api_errors.StatusError(
            500, "", f"strconv.ParseUint: parsing {quote(text)}: invalid syntax"
        )
    if len(text) > _MAX_VERSION_LENGTH:
        raise api_errors.StatusError(
            500, "", f"strconv.ParseUint: parsing {quote(text)}: value out of range"
        )
    return int(text)


def has_version(metadata: KubeObject) -> bool:
    """Return whether an object names a version; what is no number is none."""
    text = metadata.get("resourceVersion") or ""
    return text.isascii() and text.isdecimal() and int(text) > 0


def uid_mismatch(write_request: WriteRequest, wanted: str, actual: str) -> str:
    """Return the error that an object is another than the one that is meant."""
    text = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {actual}"
    key = storage_key(write_request.served, write_request.namespace, write_request.name)
    if write_request.options.dry_run:
        key = key.removeprefix("/registry")
    code = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0"
    return f"{code}, AdditionalErrorMsg: {text}"
