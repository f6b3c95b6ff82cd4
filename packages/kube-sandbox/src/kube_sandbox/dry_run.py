"""
Whether an API server would accept an object, without a server: a server-side apply as a dry run.

For tools that check manifests. The parts are those that answer requests, over a store that stays
empty: every namespace is there, nothing else is, and the client may do everything. Admission
plugins and policies depend on other objects of a cluster, so none is asked.

Follows kubernetes 1.35 k8s.io/apiserver/pkg/endpoints/handlers/patch.go applyPatcher;
k8s.io/apiserver/pkg/registry/generic/registry/store.go Store.Create.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime

import orjson

from kube_objects.refs import Kind, KubeObject
from kube_sandbox.admission.chain import AdmissionChain
from kube_sandbox.api_errors import StatusError
from kube_sandbox.apiextensions.customresourcedefinition import conditions
from kube_sandbox.apiextensions.customresourcedefinition.strategy import DefinitionStrategy
from kube_sandbox.apiextensions.served_kinds import served_of
from kube_sandbox.authentication.user_info import ADMIN
from kube_sandbox.authorization.rbac import RBACAuthorizer
from kube_sandbox.endpoints.decoding import BodyDecoder, parse_apply
from kube_sandbox.endpoints.options import WriteOptions
from kube_sandbox.endpoints.stored_objects import StoredObjects
from kube_sandbox.endpoints.write import Writer
from kube_sandbox.endpoints.write_request import WriteRequest
from kube_sandbox.registry.builtin.registry import strategies
from kube_sandbox.registry.builtin.services.ip_allocation import ServiceAllocations
from kube_sandbox.registry.builtin_resources import served_builtins
from kube_sandbox.registry.kinds import Registry
from kube_sandbox.storage.store import Store

_CRDS = "customresourcedefinitions.apiextensions.k8s.io"
_NOW = datetime(2000, 1, 1, tzinfo=UTC)
_UID = "00000000-0000-0000-0000-000000000000"
_NAMESPACE: KubeObject = {"metadata": {}}
_OPTIONS = WriteOptions(force=True, dry_run=True, validation="Strict")


class DryRun:
    """Kinds, and what an API server that serves them would say to an object."""

    def __init__(self) -> None:
        self._registry = Registry()
        ways = {**strategies(ServiceAllocations()), _CRDS: DefinitionStrategy()}
        for served in served_builtins(ways):
            self._registry.add(served)
        self._definitions = self._registry.find("apiextensions.k8s.io", "v1", _CRDS.split(".")[0])
        stored = StoredObjects(Store(), {})
        chain = AdmissionChain(lambda name: _NAMESPACE, RBACAuthorizer(lambda plural: ()))
        self._writer = Writer(stored, BodyDecoder(), chain, lambda: _UID, lambda: "xxxxx")

    def serves(self, kind: Kind) -> bool:
        """Return whether a kind is known."""
        return self._registry.of_kind(kind) is not None

    def serve(self, crd: KubeObject) -> bool:
        """Serve the kinds of a CRD from now on; return False if the CRD would be rejected."""
        try:
            accepted = self._applied(crd)
        except StatusError:
            return False
        for served in served_of(conditions.accepted(accepted, (), _NOW)):
            self._registry.remove(served.kind.group, served.plural)
        for served in served_of(conditions.accepted(accepted, (), _NOW)):
            self._registry.add(served)
        return True

    def refusal_of(self, obj: KubeObject) -> Mapping[str, object] | None:
        """
        Return the Status with which an object would be rejected; None if it would be accepted.

        Its kind must be known. A namespaced object names its namespace.
        """
        try:
            self._applied(obj)
        except StatusError as error:
            return error.status()
        return None

    def _applied(self, obj: KubeObject) -> KubeObject:
        served = self._registry.of_kind(Kind.of(obj["apiVersion"], obj["kind"]))
        assert served is not None, "the caller asks for kinds that are known"
        metadata = obj.get("metadata") or {}
        namespace, name = metadata.get("namespace") or "", metadata.get("name") or ""
        request = WriteRequest(
            served,
            namespace if served.namespaced else "",
            name,
            "",
            _OPTIONS,
            "kro-gitops",
            ADMIN,
            _NOW,
        )
        return self._writer.apply(request, parse_apply(_body(obj))).value


def _body(obj: KubeObject) -> bytes:
    try:
        return orjson.dumps(obj)
    except TypeError:  # an integer of more than 64 bits
        return json.dumps(obj).encode()
