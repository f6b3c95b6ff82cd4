"""
The annotation in which `kubectl apply` without the server's help keeps what it applied.

Who went over to server-side apply with kubectl meets fields that their own former self owns: those
that stand in the annotation as they are live are no conflict. The annotation is kept up to
date, so that the way back stays open.

Follows kubernetes 1.35 k8s.io/apimachinery/pkg/util/managedfields/internal/lastappliedmanager.go
lastAppliedManager.Apply, lastAppliedManager.allowedConflictsFromLastApplied;
k8s.io/apimachinery/pkg/util/managedfields/internal/lastappliedupdater.go lastAppliedUpdater.Apply.
"""

from typing import Any

import orjson

from kube_objects.go_format import json_text
from kube_objects.refs import KubeObject
from kube_sandbox.managedfields import fieldset
from kube_sandbox.managedfields.fieldset import FieldSet
from kube_sandbox.managedfields.typed import compare, fields_of
from kube_sandbox.managedfields.updater import UpdateContext
from kube_sandbox.managedfields.validation import is_valid

MANAGER = "kubectl"
_ANNOTATION = "kubectl.kubernetes.io/last-applied-configuration"
_MAX_ANNOTATION_BYTES = 256 * 1024  # bytes of all annotations together


def allowed(setting: UpdateContext, live: KubeObject) -> FieldSet:
    """Return the fields that were applied and are still as they were."""
    text = _annotations(live).get(_ANNOTATION)
    try:
        config = orjson.loads(text) if text else None
    except orjson.JSONDecodeError:
        return {}
    # An object without a kind is none.
    if not isinstance(config, dict) or not config.get("kind"):
        return {}
    if config.get("apiVersion") != setting.version:
        return {}
    if not all(is_valid(each, setting.root, may_repeat=False) for each in (live, config)):
        return {}
    found = compare(config, live, setting.root)
    fields = fields_of(config, setting.root)
    for changed in (found.modified, found.added, found.removed):
        fields = fieldset.difference(fields, changed)
    return fields


def _annotations(obj: KubeObject) -> dict[str, Any]:
    metadata = obj.get("metadata") or {}
    return metadata.get("annotations") or {}


def update_last_applied(obj: KubeObject, config: KubeObject) -> KubeObject:
    """Return an object whose annotation, if it has one, holds what was applied now."""
    annotations = _annotations(obj)
    if not annotations.get(_ANNOTATION):
        return obj
    metadata = dict(config.get("metadata") or {})
    if metadata.get("annotations"):
        rest = {key: text for key, text in metadata["annotations"].items() if key != _ANNOTATION}
        metadata["annotations"] = rest
    found = {**annotations, _ANNOTATION: (json_text({**config, "metadata": metadata}) + "\n")}
    size = sum(len(key.encode()) + len(value.encode()) for key, value in found.items())
    if size > _MAX_ANNOTATION_BYTES:
        del found[_ANNOTATION]
    return {**obj, "metadata": {**obj["metadata"], "annotations": found}}
