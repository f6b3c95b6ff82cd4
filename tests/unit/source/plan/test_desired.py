from typing import Any

import pytest
import yaml

from kro_gitops.source.files.manifests import read
from kro_gitops.source.files.revision import Item, SourceFile
from kro_gitops.source.plan.desired import Desired, Provenance, ReservedKeyError, State, assess
from kro_gitops.source.plan.stages import Stage
from kro_gitops.tracking.inventory import Entry
from kro_gitops.tracking.methods import TrackingMetadata
from kube_objects.managed_fields import CachedObject, pack_owned_fields
from kube_objects.refs import Kind, ObjectRef

SETTINGS = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings"},
    "data": {"color": "blue"},
}
REF = ObjectRef(Kind("", "v1", "ConfigMap"), "shop", "settings")


def item(obj: dict[str, Any] | None = None, path: str = "a.yaml") -> Item:
    content = yaml.safe_dump(obj or SETTINGS).encode()
    [manifest] = read([(path, content)]).manifests
    return Item.of(manifest, SourceFile(path, content))


def wanted(
    of: Item | None = None,
    commit: str = "c1",
    entry: Entry | None = None,
    marks: TrackingMetadata | None = None,
) -> Desired:
    provenance = Provenance("shop/repo", commit)
    return provenance.stamp(of or item(), REF, entry, Stage.OBJECTS, marks or TrackingMetadata())


def live(of: Desired, **changes: Any) -> CachedObject:
    """Give the object as the server would keep it after an apply of ours."""
    fields: dict[str, Any] = {
        "f:metadata": {
            "f:annotations": {f"f:{key}": {} for key in of.object["metadata"]["annotations"]},
            "f:labels": {f"f:{key}": {} for key in of.object["metadata"]["labels"]},
        },
        "f:data": {f"f:{key}": {} for key in of.object["data"]},
    }
    fields |= changes.pop("fields", {})
    manager = {"manager": "kro-gitops/source", "operation": "Apply", "fieldsV1": fields}
    metadata = {**of.object["metadata"], "uid": "u", **changes}
    obj = {**of.object, "metadata": {**metadata, "managedFields": [manager]}}
    return CachedObject(obj, pack_owned_fields(obj, "kro-gitops/source"))


def test_an_object_says_where_it_comes_from() -> None:
    made = wanted()
    metadata = made.object["metadata"]
    assert metadata["namespace"] == "shop"
    assert metadata["annotations"] == {
        "gitops.kro.run/source": "shop/repo",
        "gitops.kro.run/path": "a.yaml",
        "gitops.kro.run/revision": "c1",
    }
    assert made.object["data"] == {"color": "blue"}


def test_the_revision_is_that_of_the_last_change_of_content() -> None:
    unchanged = Entry(REF, "u", item().digest, revision="c0")
    assert wanted(commit="c9", entry=unchanged).revision == "c0"
    changed = Entry(REF, "u", "another", revision="c0")
    assert wanted(commit="c9", entry=changed).revision == "c9"
    assert wanted(commit="c9").revision == "c9"


def test_the_hash_does_not_know_the_revision_but_the_file() -> None:
    assert wanted(commit="c1").hash == wanted(commit="c2").hash
    assert wanted(item(path="b.yaml")).hash != wanted().hash
    assert (
        wanted(marks=TrackingMetadata({}, {"argocd.argoproj.io/tracking-id": "x"})).hash
        != wanted().hash
    )


def test_leftovers_of_a_cluster_are_not_applied() -> None:
    dirty = {
        **SETTINGS,
        "status": {"a": 1},
        "metadata": {"name": "settings", "uid": "x", "resourceVersion": "7", "generation": 3},
    }
    metadata = wanted(item(dirty)).object["metadata"]
    assert {"uid", "resourceVersion", "generation"}.isdisjoint(metadata)
    assert "status" not in wanted(item(dirty)).object


def test_a_cluster_scoped_object_has_no_namespace_whatever_the_file_says() -> None:
    written = {**SETTINGS, "metadata": {"name": "settings", "namespace": "odd"}}
    ref = ObjectRef(REF.kind, "", "settings")
    made = Provenance("s/r", "c").stamp(item(written), ref, None, Stage.OBJECTS, TrackingMetadata())
    assert "namespace" not in made.object["metadata"]


@pytest.mark.parametrize("section", ["labels", "annotations"])
def test_a_file_may_not_claim_to_be_of_another_source(section: str) -> None:
    key = "gitops.kro.run/source"
    forged = {**SETTINGS, "metadata": {"name": "settings", section: {key: "other/repo"}}}
    with pytest.raises(ReservedKeyError, match="may not stand in git") as caught:
        wanted(item(forged))
    assert caught.value.problem.spot.path == ("metadata", section, key)


@pytest.mark.parametrize("label", ["kro.run/owned", "applyset.kubernetes.io/part-of"])
def test_a_file_may_not_claim_to_be_a_child_of_an_instance(label: str) -> None:
    forged = {**SETTINGS, "metadata": {"name": "settings", "labels": {label: "true"}}}
    with pytest.raises(ReservedKeyError):
        wanted(item(forged))


def test_people_may_say_what_they_wish() -> None:
    asked = {"gitops.kro.run/prune": "disabled", "gitops.kro.run/wave": "2"}
    made = wanted(item({**SETTINGS, "metadata": {"name": "settings", "annotations": asked}}))
    assert asked.items() <= made.object["metadata"]["annotations"].items()


def test_what_was_applied_and_not_touched_is_current() -> None:
    made = wanted()
    assert assess(made, live(made)) is State.CURRENT
    assert assess(made, None) is State.ABSENT


def test_a_change_in_git_is_no_drift() -> None:
    before = wanted()
    after = wanted(item({**SETTINGS, "data": {"color": "red"}}))
    assert assess(after, live(before)) is State.CHANGED


def test_a_field_that_somebody_took_is_drift() -> None:
    made = wanted()
    assert (
        assess(made, live(made, fields={"f:data": {}})) is State.CURRENT
    )  # one field to the server
    assert assess(made, live(made, fields={"f:data": {"f:size": {}}})) is State.DRIFTED


def test_what_is_being_deleted_is_waited_for() -> None:
    made = wanted()
    assert assess(made, live(made, deletionTimestamp="2026-01-01T00:00:00Z")) is State.DELETING


def test_an_entry_has_no_hash_until_its_object_is_there() -> None:
    made = wanted()
    assert made.entry() == Entry(REF, "", "", "OBJECTS", "a.yaml", "c1")
    assert made.entry("u").hash == made.item.digest
