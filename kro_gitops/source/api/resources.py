"""
The API of sources: kinds, schemas of spec and status, printer columns.

A `GitSource` names a repository and what may be done with it, a `SourceInventory` lists what a
source has applied. The descriptions that a CRD needs are in `source.api.crd`.
"""

from kro_gitops.engine.api import printer_column
from kro_gitops.metadata import SOURCE_NAME
from kro_gitops.source.api.schema import SPEC_SCHEMA
from kro_gitops.source.api.schema_parts import (
    COUNT,
    GENERATION,
    TIME,
    Schema,
    record,
    sequence,
    text,
    texts,
)
from kro_gitops.source.kinds import GIT_SOURCE_KIND as GIT_SOURCE_KIND
from kro_gitops.source.kinds import SOURCE_INVENTORY_KIND as SOURCE_INVENTORY_KIND

GIT_SOURCE_PLURAL = "gitsources"
SOURCE_INVENTORY_PLURAL = "sourceinventories"

PHASES = (
    "Applying",
    "Waiting",
    "Healthy",
    "Degraded",
    "Failed",
    "Suspended",
    "Deleting",
)
RESULTS = ("Healthy", "Applied", "Degraded", "Failed")


_FAILURE = record(
    {
        **texts(("object", "file")),
        "line": COUNT,
        "column": COUNT,
        **texts(("code", "message")),
    }
)
_HISTORY = record(
    {
        **texts(("revision", "digest")),
        "started": TIME,
        "finished": TIME,
        "result": {"type": "string", "enum": list(RESULTS)},
        **texts(("author", "message")),
        **dict.fromkeys(("created", "changed", "pruned", "failed"), COUNT),
        **dict.fromkeys(
            ("childrenCreated", "childrenChanged", "childrenDeleted", "childrenHeld"), COUNT
        ),
    },
    "revision",
)
_OBJECT = dict.fromkeys(("group", "kind", "namespace", "name"), text())
_PLAN = record(
    {
        **texts(("request", "revision")),
        **dict.fromkeys(("created", "changed", "deleted"), COUNT),
        "objects": sequence(
            record(
                {
                    "action": {"type": "string", "enum": ["Create", "Change", "Delete"]},
                    **_OBJECT,
                    "file": text(),
                    "instance": record(_OBJECT),
                    "uncertain": {"type": "boolean"},
                }
            )
        ),
        "objectsOmitted": COUNT,
        "failures": sequence(text()),
        "notes": sequence(text()),
        "error": record(texts(("code", "message"))),
    }
)
_CONDITION = record(
    {
        "type": text(316),
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        **texts(("reason", "message")),
        "lastTransitionTime": TIME,
        "observedGeneration": GENERATION,
    },
    "status",
    "type",
)
_BY_TYPE: Schema = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]}
_COUNTED = ("objects", "definitions", "instances", "ready", "failed", "shards")

_STATUS = record(
    {
        "observedGeneration": GENERATION,
        "lastHandledReconcileAt": text(),
        "phase": {"type": "string", "enum": list(PHASES)},
        "lastAppliedRevision": text(),
        "lastAttemptedRevision": text(),
        "artifact": record({**texts(("revision", "digest")), "lastUpdateTime": TIME}),
        "commit": record(
            {**texts(("id", "author", "committer", "message", "signature")), "time": TIME}
        ),
        "inventory": record(dict.fromkeys(_COUNTED, COUNT)),
        "failures": sequence(_FAILURE),
        "failuresOmitted": COUNT,
        "warnings": sequence(_FAILURE),
        "history": sequence(_HISTORY),
        "pin": record({**texts(("commit", "reason", "by")), "expires": TIME}),
        "pins": sequence(record({**_OBJECT, **texts(("commit", "reason", "by")), "expires": TIME})),
        "plan": _PLAN,
        "webhookPath": text(),
        "conditions": sequence(_CONDITION, **_BY_TYPE),
    }
)

_WHOLE: Schema = {
    "apiVersion": text(),
    "kind": text(),
    "metadata": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}
GIT_SOURCE_SCHEMA: Schema = record({**_WHOLE, "spec": SPEC_SCHEMA, "status": _STATUS}, "spec")

ENTRY_FIELDS = ("version", "uid", "hash", "stage", "path", "revision")
# Atomic, so that the API server keeps one line about the owner of all entries, not one each.
_ENTRIES: Schema = {
    "type": "object",
    "additionalProperties": record(texts(ENTRY_FIELDS)),
    "x-kubernetes-map-type": "atomic",
}
SOURCE_INVENTORY_SCHEMA: Schema = record({**_WHOLE, "entries": _ENTRIES})


_AGE = printer_column("AGE", ".metadata.creationTimestamp", "date")
_READY = '.status.conditions[?(@.type=="Ready")]'

# What `kubectl get` shows; the wide ones only with `-o wide`.
GIT_SOURCE_COLUMNS = (
    printer_column("URL", ".spec.url", is_wide=True),
    printer_column("READY", f"{_READY}.status"),
    printer_column("PHASE", ".status.phase", is_wide=True),
    printer_column("REVISION", ".status.lastAppliedRevision"),
    printer_column("OBJECTS", ".status.inventory.objects", "integer"),
    printer_column("STATUS", f"{_READY}.message"),
    _AGE,
)
SOURCE_INVENTORY_COLUMNS = (
    printer_column("SOURCE", ".metadata.labels." + SOURCE_NAME.replace(".", r"\.")),
    _AGE,
)
