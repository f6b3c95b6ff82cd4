"""
Create, update, patch and apply: from the request body to the stored object.

The steps have the order of the API server, because it decides which of two errors is reported: the
body is decoded, defaults and managed fields are set, the namespace is checked, then the rules of
the kind, then those common to all objects; only then whether the object exists. A write that
changes nothing is not stored.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/registry/generic/registry/store.go Store.Create,
Store.Update; k8s.io/apiserver/pkg/endpoints/handlers/update.go UpdateResource;
k8s.io/apiserver/pkg/endpoints/handlers/patch.go patcher.patchResource,
applyPatcher.applyPatchToCurrentObject; k8s.io/apiserver/pkg/endpoints/handlers/rest.go
dedupOwnerReferencesAndAddWarning.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from kube_objects.refs import KubeObject
from kube_objects.times import format_time
from kube_sandbox import api_errors
from kube_sandbox.admission.chain import AdmissionChain
from kube_sandbox.apiextensions.customresource.strategy import CustomStrategy
from kube_sandbox.endpoints.decoding import BodyDecoder
from kube_sandbox.endpoints.stored_objects import StoredObjects
from kube_sandbox.endpoints.write_request import (
    WriteRequest,
    check_name,
    has_version,
    set_namespace,
    uid_mismatch,
    version_of,
)
from kube_sandbox.managedfields.manager import Types, applied, restore_unchanged_times, updated
from kube_sandbox.registry import name_validation, object_meta
from kube_sandbox.registry.field_errors import invalid
from kube_sandbox.registry.kinds import Served

_CONFLICT_MESSAGE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
_AFTER_ADMISSION = " after mutating admission happens"
_NAMES_EXHAUSTED = ", the server was not able to generate a unique name for the object"
_SET_BY_SERVER = (
    "creationTimestamp",
    "uid",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
)
_MAX_NAME_ATTEMPTS = 8  # at a generated name


@dataclass(frozen=True, slots=True)
class Written:
    """What came of it: the object as it is now, as it is sent."""

    value: KubeObject
    is_new: bool = False


class Writer:
    """Writes objects."""

    def __init__(
        self,
        stored: StoredObjects,
        bodies: BodyDecoder,
        admission: AdmissionChain,
        new_uid: Callable[[], str],
        suffix: Callable[[], str],
    ) -> None:
        self.stored = stored
        self._bodies = bodies
        self._admission = admission
        self._new_uid = new_uid
        self._suffix = suffix

    def create(self, write_request: WriteRequest, obj: KubeObject) -> Written:
        """Store a new object that was read from a body."""
        metadata = obj.setdefault("metadata", {})
        for name in _SET_BY_SERVER:
            metadata.pop(name, None)
        set_namespace(write_request, obj)
        self._drop_doubles(write_request, obj)
        obj = updated(None, obj, _types(write_request.served), write_request.write)
        self._let_in(write_request, obj)
        if metadata.get("name") or not metadata.get("generateName"):
            return self._create(write_request, obj)
        base = obj["metadata"]["generateName"]
        for attempt in range(_MAX_NAME_ATTEMPTS):
            named = {**obj, "metadata": {**obj["metadata"]}}
            name = name_validation.generated(base, self._suffix())
            named["metadata"]["name"] = name
            try:
                return self._create(replace(write_request, name=name), self.stored.copy(named))
            except api_errors.StatusError as error:
                if error.reason != "AlreadyExists" or attempt + 1 == _MAX_NAME_ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    def update(self, write_request: WriteRequest, obj: KubeObject) -> Written:
        """Replace an object by one that was read from a body."""
        obj.setdefault("metadata", {})
        set_namespace(write_request, obj)
        check_name(write_request, obj)
        live = self.stored.find(write_request.served, write_request.namespace, write_request.name)
        self._drop_doubles(write_request, obj)
        if live is None and not write_request.served.strategy.creates_on_update:
            raise write_request.not_found()
        uid, actual = obj["metadata"].get("uid"), live["metadata"]["uid"] if live else ""
        if uid and uid != actual:
            raise write_request.conflict(uid_mismatch(write_request, uid, actual))
        new = updated(live, obj, _types(write_request.served), write_request.write)
        if live is None:
            return self._create_in_place(write_request, new)
        return self.replace(write_request, new, live)

    def patch(
        self,
        write_request: WriteRequest,
        change: Callable[[KubeObject], KubeObject],
        strategic: Any = None,
    ) -> Written:
        """
        Change an object that must be there; `change` gets a copy of its own.

        A strategic merge patch is passed too, because error messages show it.
        """
        live = self.stored.find(write_request.served, write_request.namespace, write_request.name)
        if live is None:
            raise write_request.not_found()
        new = change(self.stored.copy(live))
        validation = write_request.options.validation
        new, warnings = self._bodies.patched(write_request.served, new, validation, strategic)
        write_request.warnings += warnings
        new = updated(live, new, _types(write_request.served), write_request.write)
        set_namespace(write_request, new)
        check_name(write_request, new)
        self._drop_doubles(write_request, new, _AFTER_ADMISSION)
        return self.replace(write_request, new, live)

    def apply(self, write_request: WriteRequest, config: KubeObject) -> Written:
        """Have the fields of a configuration, whether the object is there or not."""
        live = self.stored.find(write_request.served, write_request.namespace, write_request.name)
        if live is None and write_request.subresource:
            raise write_request.not_found()
        new = applied(
            live,
            config,
            _types(write_request.served),
            write_request.write,
            force=write_request.options.force,
        )
        new = self._bodies.normal(write_request.served, new, config)
        metadata = new.setdefault("metadata", {})
        if live is None and metadata.get("uid"):
            raise write_request.conflict(
                f"uid mismatch: the provided object specified uid {metadata['uid']}, "
                "and no existing object was found"
            )
        set_namespace(write_request, new)
        check_name(write_request, new)
        self._drop_doubles(write_request, new, _AFTER_ADMISSION)
        if live is None:
            return self._create_in_place(write_request, new)
        return self.replace(write_request, new, live)

    def require(self, write_request: WriteRequest) -> None:
        """Reject if the object is not there."""
        if (
            self.stored.record(write_request.served, write_request.namespace, write_request.name)
            is None
        ):
            raise write_request.not_found()

    # A new object

    def _let_in(self, write_request: WriteRequest, obj: KubeObject) -> None:
        """Ask whether an object may be there; plugins change it before it is given a name."""
        self._admission.create(
            write_request.served, write_request.namespace, obj, write_request.asker
        )
        self._admission.mutate(write_request.admission_attributes("CREATE", obj, None))

    def _create_in_place(self, write_request: WriteRequest, obj: KubeObject) -> Written:
        """Create an object that was to be changed and is not there."""
        version_of(obj)
        self._let_in(write_request, obj)
        return self._create(write_request, obj, is_update=True)

    def _create(
        self, write_request: WriteRequest, obj: KubeObject, *, is_update: bool = False
    ) -> Written:
        served, context = write_request.served, write_request.request_context(self.stored.look)
        metadata = obj["metadata"]
        metadata["uid"] = self._new_uid()
        metadata["creationTimestamp"] = format_time(write_request.now)
        write_request.name = metadata.get("name", "")
        served.strategy.prepare_create(obj, context)
        errors = served.strategy.validate_create(obj, context)
        if not errors:
            errors = object_meta.common_create(obj, served.namespaced)
        if errors:
            raise write_request.invalid(errors, obj)
        write_request.warnings += served.strategy.warnings(obj, None)
        write_request.warnings += self._admission.admit(
            write_request.admission_attributes("CREATE", obj, None)
        )
        if not is_update and not write_request.options.dry_run and has_version(metadata):
            text = "resourceVersion should not be set on objects to be created"
            raise api_errors.StatusError(500, "", text)
        existing = self.stored.record(served, write_request.namespace, write_request.name)
        if existing is not None:
            is_generated = bool(metadata.get("generateName"))
            group, plural = write_request.served.kind.group, write_request.served.plural
            error = api_errors.already_exists(group, plural, write_request.name)
            if b'"deletionTimestamp":' in existing.value:
                error.message = f"object is being deleted: {error.message}"
            if is_generated:
                if write_request.served.storage_group is not None:
                    group = write_request.served.storage_group
                    error = api_errors.already_exists(group, plural, write_request.name)
                error.message += _NAMES_EXHAUSTED
                error.details["retryAfterSeconds"] = 1
                error.headers["Retry-After"] = "1"
            raise error
        if not write_request.options.dry_run:
            metadata.pop("resourceVersion", None)
            metadata.pop("selfLink", None)
        stored = self.stored.save(served, obj, None, dry_run=write_request.options.dry_run)
        return Written(stored, is_new=True)

    # An object that is there

    def replace(self, write_request: WriteRequest, new: KubeObject, live: KubeObject) -> Written:
        """Put a changed object in the place of the one that is there."""
        served, context = write_request.served, write_request.request_context(self.stored.look)
        self._check_version(write_request, new, live)
        metadata, former = new["metadata"], live["metadata"]
        if "generation" in former:
            metadata["generation"] = former["generation"]
        else:
            metadata.pop("generation", None)
        self._admission.mutate(write_request.admission_attributes("UPDATE", new, live))
        served.strategy.prepare_update(new, live, write_request.subresource, context)
        # No update changes these.
        metadata.setdefault("uid", former["uid"])
        metadata["creationTimestamp"] = former["creationTimestamp"]
        if "deletionTimestamp" in former:
            metadata["deletionTimestamp"] = former["deletionTimestamp"]
        if "deletionGracePeriodSeconds" in former:
            metadata.setdefault("deletionGracePeriodSeconds", former["deletionGracePeriodSeconds"])
        new = restore_unchanged_times(live, new)
        errors = [
            *object_meta.common_update(new, live, served.namespaced),
            *served.strategy.validate_update(new, live, write_request.subresource, context),
        ]
        if errors:
            if isinstance(served.strategy, CustomStrategy):
                write_request.warnings += served.strategy.ratcheted_warnings(new)
            raise write_request.invalid(errors, new)
        write_request.warnings += served.strategy.warnings(new, live)
        self._admission.update(served, new, live, write_request.asker)
        write_request.warnings += self._admission.admit(
            write_request.admission_attributes("UPDATE", new, live)
        )
        # Whether the last finalizer is gone of an object that is to be deleted.
        if new["metadata"].get("finalizers") or "deletionTimestamp" not in former:
            is_finished = False
        elif served.bucket == "namespaces" and new.get("spec", {}).get("finalizers"):
            is_finished = False  # a namespace has others in its spec: until it is empty
        else:
            is_finished = not former.get("deletionGracePeriodSeconds")
        if is_finished:
            # The watch event shows its former state.
            self.stored.remove(served, live, dry_run=write_request.options.dry_run)
            return Written(new)
        if not write_request.options.dry_run:
            metadata.pop("selfLink", None)  # it is never stored
        if new == live and self.stored.is_shown(served, live):
            return Written(live)
        stored = self.stored.save(served, new, live, dry_run=write_request.options.dry_run)
        return Written(stored)

    def _check_version(
        self, write_request: WriteRequest, new: KubeObject, live: KubeObject
    ) -> None:
        current = live["metadata"]["resourceVersion"]
        version = version_of(new)
        if not version:
            served = write_request.served
            if not served.strategy.allows_unconditional_update:
                text = "must be specified for an update"
                error = invalid("metadata.resourceVersion", 0, text)
                raise api_errors.invalid(
                    served.kind.group, served.plural, write_request.name, [error]
                )
            new["metadata"]["resourceVersion"] = current
        elif version != int(current):
            raise write_request.conflict(_CONFLICT_MESSAGE)

    def _drop_doubles(self, write_request: WriteRequest, obj: KubeObject, when: str = "") -> None:
        """Drop owner references that stand twice."""
        owners = obj["metadata"].get("ownerReferences")
        if not owners or len(owners) < 2:
            return
        kept: list[Any] = []
        for owner in owners:
            if owner not in kept:
                kept.append(owner)
        if len(kept) < len(owners):
            doubles = [each.get("uid", "") for i, each in enumerate(owners) if each in owners[:i]]
            write_request.warnings.append(
                f".metadata.ownerReferences contains duplicate entries{when}; API server dedups "
                "owner references in 1.20+, and may reject such requests as early as 1.24; please "
                f"fix your requests; duplicate UID(s) observed: {', '.join(doubles)}"
            )
            obj["metadata"]["ownerReferences"] = kept


def _types(served: Served) -> Types:
    return Types.of(served.schema, custom=served.is_custom)
