"""
Objects of the store as dicts, in the version that is asked for, and back.

The store keeps an object in one version, as the bytes that are sent. Another version is converted
from it; most versions of a kind differ in their name only.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/runtime/serializer/versioning/versioning.go
codec.Decode, codec.Encode; etcd 3.6 server/embed/config.go DefaultMaxRequestBytes;
server/etcdserver/v3_server.go EtcdServer.processInternalRaftRequestOnce.
"""

from collections.abc import Callable, Mapping

import orjson

from kube_objects.refs import KubeObject
from kube_sandbox.api_errors import StatusError
from kube_sandbox.apiextensions.customresource.strategy import CustomStrategy
from kube_sandbox.registry.kinds import Served
from kube_sandbox.storage.records import Record
from kube_sandbox.storage.store import Store

# The limits of etcd and of its client. There they count what is written, which for built-in kinds
# is protobuf; here the object's JSON is counted.
_MAX_STORED_BYTES = 1536 * 1024
_MAX_SENT_BYTES = 2 * 1024 * 1024

# Turns an object of any version of a kind into one of the version named.
Convert = Callable[[KubeObject, str], KubeObject]


def renamed(obj: KubeObject, api_version: str) -> KubeObject:
    """Return an object as one of another version with the same fields."""
    return {**obj, "apiVersion": api_version}


class StoredObjects:
    """The store, seen as objects."""

    def __init__(self, store: Store, conversions: Mapping[str, Convert]) -> None:
        self.store = store
        self._conversions = conversions

    def record(self, served: Served, namespace: str, name: str) -> Record | None:
        """Return an object as it is stored."""
        return self.store.get(served.bucket, namespace if served.namespaced else "", name)

    def find(self, served: Served, namespace: str, name: str) -> KubeObject | None:
        """Return an object in the version served, to be changed as one likes."""
        record = self.record(served, namespace, name)
        return self.load(served, record) if record is not None else None

    def look(self, bucket: str, namespace: str, name: str) -> KubeObject | None:
        """Return an object as it is stored, whatever its kind."""
        record = self.store.get(bucket, namespace, name)
        return orjson.loads(record.value) if record is not None else None

    def load(self, served: Served, record: Record) -> KubeObject:
        """Return a record as an object of the version served."""
        obj: KubeObject = orjson.loads(record.value)
        return obj if self.is_stored(served) else self.converted(served, obj)

    def converted(self, served: Served, obj: KubeObject) -> KubeObject:
        """Return a stored object as one of the version served; it may be changed."""
        strategy = served.strategy
        if isinstance(strategy, CustomStrategy):
            return strategy.shown(obj)
        return self._convert(served, obj, served.kind.api_version)

    def value(self, served: Served, record: Record) -> bytes:
        """Return the bytes that are sent for a record."""
        if self.is_stored(served):
            return record.value
        return dumped(served, self.load(served, record))

    @staticmethod
    def is_stored(served: Served) -> bool:
        """Return whether objects are stored in the version served."""
        if served.storage_group is not None:
            return False
        return not served.storage_version or served.storage_version == served.kind.version

    @staticmethod
    def copy(obj: KubeObject) -> KubeObject:
        """Return an object that shares nothing with another."""
        copied: KubeObject = orjson.loads(orjson.dumps(obj))
        return copied

    def save(
        self, served: Served, obj: KubeObject, live: KubeObject | None, *, dry_run: bool
    ) -> KubeObject:
        """Store an object and return it with its new version; a dry-run stores nothing."""
        metadata = obj["metadata"]
        if dry_run:
            if live is not None:
                metadata["resourceVersion"] = live["metadata"]["resourceVersion"]
            return obj
        record = self._record(served, obj)
        if len(record.value) > _MAX_STORED_BYTES:
            # The error of etcd, or that of its client, which sends no more than another limit.
            size = len(record.value)
            if size <= _MAX_SENT_BYTES:
                raise StatusError(500, "", "etcdserver: request is too large")
            text = f"trying to send message larger than max ({size} vs. {_MAX_SENT_BYTES})"
            raise StatusError(500, "", f"rpc error: code = ResourceExhausted desc = {text}")
        self.store.put(served.bucket, record)
        # Another version may not have all that was written.
        return self.load(served, record) if served.is_custom and not self.is_stored(served) else obj

    def is_shown(self, served: Served, obj: KubeObject) -> bool:
        """
        Return whether the stored bytes of an object are exactly what is served.

        Not so if its schema, or that of the version asked for, has lost a field or got a default:
        then a write that changes nothing else makes that last.
        """
        record = self.record(served, obj["metadata"].get("namespace", ""), obj["metadata"]["name"])
        if not served.is_custom or record is None:
            return True
        raw = self.store.stored(served.bucket, record)
        if raw is record.value and self.is_stored(served):
            return True
        written: KubeObject = orjson.loads(raw)
        return written == self._stored(served, self.copy(obj))

    def remove(self, served: Served, obj: KubeObject, *, dry_run: bool) -> KubeObject:
        """Drop an object, of which this is the last state; return it with the last version."""
        if dry_run:
            return obj
        copied = {**obj, "metadata": {**obj["metadata"]}}
        self.store.delete(served.bucket, self._record(served, copied))
        return copied

    def _record(self, served: Served, obj: KubeObject) -> Record:
        """Create a record of an object; it is given the next version."""
        version = self.store.version + 1
        metadata = obj["metadata"]
        metadata["resourceVersion"] = str(version)
        stored = self._stored(served, obj)
        return Record(
            metadata.get("namespace", ""),
            metadata["name"],
            metadata["uid"],
            version,
            dumped(served, stored),
            metadata.get("labels") or {},
        )

    def _stored(self, served: Served, obj: KubeObject) -> KubeObject:
        """Return an object in the version in which it is stored."""
        strategy = served.strategy
        if isinstance(strategy, CustomStrategy):
            return strategy.stored(obj if self.is_stored(served) else self.copy(obj))
        if self.is_stored(served):
            return obj
        group, version = served.storage_group, served.storage_version
        if group is None:
            group = served.kind.group
        return self._convert(served, obj, f"{group}/{version}" if group else version)

    def _convert(self, served: Served, obj: KubeObject, api_version: str) -> KubeObject:
        return self._conversions.get(served.bucket, renamed)(obj, api_version)


def dumped(served: Served, obj: KubeObject) -> bytes:
    """
    Return the bytes of an object.

    What names its kind comes first, so that it can be cut off: lists of built-in kinds leave it
    out of their items.
    """
    kind = obj.pop("kind", served.kind.kind)
    api_version = obj.pop("apiVersion", served.kind.api_version)
    if served.is_custom:
        ordered = {"apiVersion": api_version, "kind": kind, **obj}
    else:
        ordered = {"kind": kind, "apiVersion": api_version, **obj}
    obj["apiVersion"], obj["kind"] = api_version, kind
    return orjson.dumps(ordered)


def head_length(value: bytes) -> int:
    """Return how many bytes of a built-in object open it and name its kind."""
    end = value.find(b',"', value.find(b'"apiVersion":'))
    return end + 1 if end > 0 else 1
