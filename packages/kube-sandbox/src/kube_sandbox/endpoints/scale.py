"""
Scales: what is served at `…/scale` is an object of its own, worked out from another and put back.

A write to it goes as any other, with the managed fields of the scale; what comes of it are the
replicas of the object, and the version that is to be replaced.

Follows kubernetes 1.35 pkg/registry/apps/deployment/storage/storage.go ScaleREST.Get,
ScaleREST.Update, scaleUpdatedObjectInfo.UpdatedObject;
k8s.io/apiextensions-apiserver/pkg/registry/customresource/etcd.go ScaleREST.Update.
"""

from collections.abc import Callable
from datetime import datetime
from functools import cache

import orjson

from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import Schema
from kube_sandbox import api_errors
from kube_sandbox.apiextensions.customresource import scale_subresource as custom_scaling
from kube_sandbox.endpoints.decoding import BodyDecoder, parse_apply, parse_patch
from kube_sandbox.endpoints.negotiation import Shape, negotiate
from kube_sandbox.endpoints.options import APPLY, write_options
from kube_sandbox.endpoints.request_info import Request
from kube_sandbox.endpoints.responses import Response
from kube_sandbox.endpoints.write import Writer
from kube_sandbox.endpoints.write_request import WriteRequest, check_identity
from kube_sandbox.managedfields.manager import Types, applied, updated
from kube_sandbox.managedfields.scale import Paths, of_parent, of_scale
from kube_sandbox.patch.json_patch import (
    JSON_PATCH,
    MERGE_PATCH,
    check_patch_type,
    json_patch,
    merge_patch,
)
from kube_sandbox.patch.strategic_merge import strategic_patch
from kube_sandbox.registry.builtin import scale_subresource
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.kinds import Served
from kube_sandbox.tables.render import partial

_SCALE = Kind("autoscaling", "v1", "Scale")
_OPTIONS = {"update": "UpdateOptions", "patch": "PatchOptions"}
_UNREGISTERED = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
_UNSET = -(2**31)  # replicas of a scale whose object has none


class ScaleHandler:
    """Answers requests for scales."""

    def __init__(self, writer: Writer, clock: Callable[[], datetime]) -> None:
        self._writer = writer
        self._bodies = BodyDecoder()
        self._clock = clock

    def answer(self, served: Served, request: Request) -> Response:
        """Read or write the scale of an object."""
        if request.verb == "get":
            scale = _scale_of(served, self._live(served, request))
            form = negotiate(request.accept, is_custom=served.is_custom)
            return _answer(partial(scale) if form.shape is Shape.METADATA else scale)
        patch_type = request.content_type.split(";", 1)[0].strip()
        if request.verb == "patch":
            check_patch_type(served, patch_type)
        options = write_options(
            request.query, _OPTIONS[request.verb], patch_type if request.verb == "patch" else ""
        )
        write_request = WriteRequest.of(
            Served(_SCALE, served.plural, served.namespaced, _schema, BaseStrategy(KindOptions())),
            request,
            options,
            self._clock(),
        )
        try:
            written = self._write(served, request, write_request, patch_type)
        except api_errors.StatusError as error:
            error.warnings = write_request.warnings
            raise
        answer = _answer(_scale_of(served, written))
        answer.warnings = write_request.warnings
        return answer

    def _write(
        self, served: Served, request: Request, write_request: WriteRequest, patch_type: str
    ) -> KubeObject:
        sent = None
        if request.verb == "update":
            try:
                sent, warnings = self._bodies.read(
                    write_request.served,
                    request.body,
                    request.content_type,
                    write_request.options.validation,
                )
            except api_errors.StatusError as error:
                if served.is_custom and error.code == 400:
                    error.message = _UNREGISTERED  # it cannot even say what is wrong
                raise
            write_request.warnings += warnings
            check_identity(write_request, sent)
        live = self._live(served, request)
        # The scale of an object with its managed fields.
        before = _scale_of(served, live, writing=True)
        if served.scale is not None and not custom_scaling.has_replicas(live, served.scale):
            before["spec"]["replicas"] = _UNSET
        managed = of_scale(live["metadata"].get("managedFields"), _paths(served))
        if managed:
            before["metadata"]["managedFields"] = managed
        types = Types.of(write_request.served.schema)
        if sent is not None:
            scale = updated(before, sent, types, write_request.write)
        else:
            if patch_type == APPLY:
                config = parse_apply(request.body)
                force = write_request.options.force
                merged = applied(before, config, types, write_request.write, force=force)
                scale = self._bodies.normal(write_request.served, merged, config)
            else:
                checked = write_request.options.validation != "Ignore"
                patch = parse_patch(request.body, patch_type, checked=checked)
                strategic = None
                if patch_type == JSON_PATCH:
                    obj = json_patch(before, patch, checked=checked)
                elif patch_type == MERGE_PATCH:
                    obj = merge_patch(before, patch, checked=checked)
                else:
                    obj, strategic = (
                        strategic_patch(before, patch, write_request.served.schema),
                        patch,
                    )
                obj, warnings = self._bodies.patched(
                    write_request.served, obj, write_request.options.validation, strategic
                )
                write_request.warnings += warnings
                scale = updated(before, obj, types, write_request.write)
            check_identity(write_request, scale)
        new = _with_scale(served, self._writer.stored.copy(live), scale)
        whole = WriteRequest.of(served, request, write_request.options, write_request.now)
        found = self._writer.replace(whole, new, live).value
        write_request.warnings += whole.warnings
        return found

    def _live(self, served: Served, request: Request) -> KubeObject:
        """Return the object whose scale is asked for, or raise NotFound under its own resource."""
        target = request.target
        live = self._writer.stored.find(served, target.namespace, target.name)
        if live is None:
            raise api_errors.not_found(served.kind.group, served.plural, target.name)
        return live


@cache
def _schema() -> Schema:
    """Return the schema of a scale; its metadata are those of any object."""
    known = catalog.find(Kind("autoscaling", "v1", "HorizontalPodAutoscaler"))
    metadata = known.schema["properties"]["metadata"] if known is not None else {}
    number, text = {"type": "integer", "format": "int32"}, {"type": "string"}
    return {
        "type": "object",
        "properties": {
            "apiVersion": text,
            "kind": text,
            "metadata": metadata,
            "spec": {"type": "object", "properties": {"replicas": number}},
            "status": {"type": "object", "properties": {"replicas": number, "selector": text}},
        },
    }


def _scale_of(served: Served, obj: KubeObject, *, writing: bool = False) -> KubeObject:
    if served.scale is not None:
        return custom_scaling.scale_of(obj, served.scale, writing=writing)
    return scale_subresource.scale_of(obj)


def _with_scale(served: Served, obj: KubeObject, scale: KubeObject) -> KubeObject:
    """Return an object with what its scale says."""
    metadata, replicas = scale.get("metadata") or {}, (scale.get("spec") or {}).get("replicas", 0)
    before = obj["metadata"].get("managedFields")
    if served.scale is None:
        errors = scale_subresource.check_scale(scale)
        if errors:
            raise api_errors.invalid(_SCALE.group, _SCALE.kind, obj["metadata"]["name"], errors)
        uid = metadata.get("uid")
        actual = obj["metadata"]["uid"]
        if uid and uid != actual:
            why = f"Precondition failed: UID in precondition: {uid}, UID in object meta: {actual}"
            kind = f"{served.plural}/scale"
            raise api_errors.conflict(served.kind.group, kind, obj["metadata"]["name"], why)
        obj = scale_subresource.with_scale(obj, scale)
        obj["metadata"]["resourceVersion"] = metadata.get("resourceVersion", "")
    else:
        if replicas == _UNSET:
            raise custom_scaling.no_replicas(served.scale)
        custom_scaling.put_replicas(obj, served.scale, replicas)
        if metadata.get("resourceVersion"):
            obj["metadata"]["resourceVersion"] = metadata["resourceVersion"]
    managed = metadata.get("managedFields")
    version = served.kind.api_version
    obj["metadata"]["managedFields"] = of_parent(before, managed, version, _paths(served))
    return obj


def _paths(served: Served) -> Paths:
    """Return where each version of a kind keeps its replicas."""
    if served.scale is None:
        return {served.kind.api_version: ("spec", "replicas")}
    path = tuple(served.scale.spec_replicas.removeprefix(".").split("."))
    versions = getattr(served.strategy, "versions", {})
    group = served.kind.group
    return {f"{group}/{each}": path for each in versions} | {served.kind.api_version: path}


def _answer(scale: KubeObject) -> Response:
    return Response(200, orjson.dumps(scale))
