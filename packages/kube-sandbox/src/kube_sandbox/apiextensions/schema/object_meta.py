"""
The metadata of a custom object, or of an object inside one, as Go reads it into its struct.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta/coerce.go
GetObjectMetaWithOptions, SetObjectMeta.
"""

from typing import Any

from kube_objects.refs import KubeObject
from kube_sandbox.apiextensions.schema.go_structs import (
    DecodePosition,
    Read,
    Struct,
    as_is,
    integer,
    kept_flag,
    kept_text,
    list_of,
    mismatch,
    omitting,
    text,
    texts,
    texts_by_key,
    time,
    uid,
)

_OWNER_NAMES = ("apiVersion", "kind", "name", "uid")
_OWNER = Struct(
    "OwnerReference",
    {
        **dict.fromkeys(_OWNER_NAMES, kept_text),
        **dict.fromkeys(("controller", "blockOwnerDeletion"), kept_flag),
    },
    dict.fromkeys(_OWNER_NAMES, ""),
)
_MANAGER_TEXTS: dict[str, Read] = dict.fromkeys(
    ("manager", "operation", "apiVersion", "fieldsType", "subresource"), text
)
_MANAGER = Struct("ManagedFieldsEntry", {**_MANAGER_TEXTS, "time": time, "fieldsV1": as_is})
_TEXTS: dict[str, Read] = dict.fromkeys(
    ("name", "generateName", "namespace", "selfLink", "resourceVersion"), text
) | {"uid": uid}
METADATA = Struct(
    "ObjectMeta",
    {
        **_TEXTS,
        "generation": omitting(integer()),
        "creationTimestamp": time,
        "deletionTimestamp": time,
        "deletionGracePeriodSeconds": integer(),
        "labels": texts_by_key,
        "annotations": texts_by_key,
        "ownerReferences": omitting(list_of(_OWNER)),
        "finalizers": texts,
        "managedFields": omitting(list_of(_MANAGER)),
    },
)


def read_metadata(metadata: Any) -> tuple[KubeObject, list[str]]:
    """
    Return metadata as it is kept, and the paths below it of fields that are unknown.

    Raises `Malformed` for what is no metadata.
    """
    if metadata is None:
        return {}, []
    spot = DecodePosition()
    if not isinstance(metadata, dict):
        raise mismatch(metadata, spot, "v1.ObjectMeta")
    return METADATA.read(metadata, spot), spot.unknown
