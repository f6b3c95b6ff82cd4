"""Small objects for stores, and a store that holds them."""

from collections.abc import Mapping

import orjson

from kube_sandbox.storage.store import Change, History, Record, Store

BUCKET = "configmaps"


def record(
    name: str,
    version: int,
    *,
    namespace: str = "shop",
    labels: Mapping[str, str] | None = None,
    data: str = "",
) -> Record:
    metadata = {"name": name, "namespace": namespace, "resourceVersion": str(version)}
    value = orjson.dumps({"kind": "ConfigMap", "metadata": metadata, "data": data})
    return Record(namespace, name, f"uid-of-{name}", version, value, dict(labels or {}))


def put(store: Store, name: str, bucket: str = BUCKET, **more: object) -> Change:
    return store.put(bucket, record(name, store.version + 1, **more))  # type: ignore[arg-type] # keywords of record


def delete(store: Store, name: str, namespace: str = "shop") -> Change:
    found = store.get(BUCKET, namespace, name)
    assert found is not None
    data = orjson.loads(found.value)["data"]
    last = record(name, store.version + 1, namespace=namespace, labels=found.labels, data=data)
    return store.delete(BUCKET, last)


def stored(*names: str, history: History | None = None) -> Store:
    store = Store(history)
    for name in names:
        put(store, name)
    return store


def names(records: object) -> list[str]:
    assert isinstance(records, list)
    return [each.name for each in records]
