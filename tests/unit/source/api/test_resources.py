"""The API of sources: every field of a spec has a place in the schema, and the other way round."""

import re
from typing import Any

import pytest

from kro_gitops.source.api.parse import Defaults, read_spec
from kro_gitops.source.api.resources import GIT_SOURCE_SCHEMA, SOURCE_INVENTORY_SCHEMA
from kro_gitops.source.api.schema import SPEC_SCHEMA
from kro_gitops.source.api.schema_parts import DURATION
from kro_gitops.source.api.types import SourceSpec
from kro_gitops.source.plan.result import Phase

SPEC = (
    "url ref paths ignore interval timeout suspend provider secretRef proxySecretRef blobFilter "
    "verify prune maxPrune allowEmpty deletionPolicy drift adopt force wait healthTimeout allow "
    "serviceAccountName dependsOn tracking notifications webhook pin pins"
)
STATUS = (
    "observedGeneration lastHandledReconcileAt phase lastAppliedRevision lastAttemptedRevision "
    "artifact commit inventory failures failuresOmitted warnings history pin pins plan "
    "webhookPath conditions"
)


def names(schema: dict[str, Any], *path: str) -> list[str]:
    for step in path:
        schema = schema["items"] if step == "[]" else schema["properties"][step]
    return list(schema["properties"])


def test_spec_and_status_have_the_fields_that_are_promised() -> None:
    assert names(SPEC_SCHEMA) == SPEC.split()
    assert names(GIT_SOURCE_SCHEMA, "status") == STATUS.split()


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("spec.ref", "branch tag semver semverFilter name commit"),
        ("spec.maxPrune", "percent count"),
        ("spec.drift.ignore.[].target", "group kind namespace name"),
        ("spec.allow", "namespaces kinds clusterScoped rgds instancesOf"),
        ("spec.tracking", "mode application argocdNamespace"),
        ("spec.pin", "commit reason expires by"),
        ("spec.pins.[]", "group kind namespace name commit reason expires by"),
        ("status.history.[]", "revision digest started finished result author message created "
         "changed pruned failed childrenCreated childrenChanged childrenDeleted childrenHeld"),
        ("status.failures.[]", "object file line column code message"),
        ("status.warnings.[]", "object file line column code message"),
        ("status.inventory", "objects definitions instances ready failed shards"),
    ],
)  # fmt: skip
def test_parts_have_the_fields_that_are_promised(path: str, fields: str) -> None:
    assert names(GIT_SOURCE_SCHEMA, *path.split(".")) == fields.split()


def test_defaults_of_the_schema_are_those_of_the_program() -> None:
    read = read_spec(
        {
            "apiVersion": "gitops.kro.run/v1alpha1",
            "kind": "GitSource",
            "metadata": {"name": "shop", "namespace": "team"},
            "spec": {
                "url": "https://git.example.com/shop",
                # Objects of which each field has a default, too.
                **{name: {} for name in ("ref", "maxPrune", "drift", "allow", "tracking")},
            },
        },
        Defaults(),
    )
    assert read == SourceSpec("https://git.example.com/shop")


def test_entries_of_an_inventory_are_one_field_to_the_api_server() -> None:
    entries = SOURCE_INVENTORY_SCHEMA["properties"]["entries"]
    assert entries["x-kubernetes-map-type"] == "atomic"
    assert list(entries["additionalProperties"]["properties"]) == [
        "version", "uid", "hash", "stage", "path", "revision",
    ]  # fmt: skip


def test_phases_are_those_of_the_program() -> None:
    phase = GIT_SOURCE_SCHEMA["properties"]["status"]["properties"]["phase"]
    assert phase["enum"] == [each.value for each in Phase]


@pytest.mark.parametrize("text", ["1s", "1m30s", "1.5h", "500ms", "1h0m0s", "0s", "10m"])
def test_durations(text: str) -> None:
    assert re.search(DURATION, text)


@pytest.mark.parametrize("text", ["", "1", "60", "1 m", "1d", "-1s", "1m 30s", "PT1M", "1us", "m"])
def test_what_is_no_duration(text: str) -> None:
    assert not re.search(DURATION, text)
