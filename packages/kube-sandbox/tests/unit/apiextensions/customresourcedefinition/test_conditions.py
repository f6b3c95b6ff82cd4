"""What becomes of the status of a definition."""

from datetime import timedelta
from typing import Any

from sandbox_testing.crd_recordings import NOW, define, established
from sandbox_testing.definitions import definition, spec

from kube_sandbox.apiextensions.customresourcedefinition.conditions import (
    FINALIZER,
    accepted,
    deleted,
    next_status,
    terminated,
    terminating,
)

LATER = NOW + timedelta(seconds=5)
CRD = definition(spec(a={"type": "string"}))


def told(crd: dict[str, Any]) -> dict[str, tuple[str, str]]:
    return {
        each["type"]: (each["status"], each["reason"]) for each in crd["status"]["conditions"] or ()
    }


def rival(**names: Any) -> dict[str, Any]:
    other = definition(spec(a={"type": "string"}))
    other["metadata"]["name"] = "others.example.com"
    other["spec"]["names"] = {"kind": "Other", "plural": "others", **names}
    return define(other, [])


def test_names_are_accepted_before_a_definition_is_established() -> None:
    new = define(CRD, [])
    assert told(new) == {}
    first = next_status(new, [], NOW)
    assert first is not None
    assert told(first) == {
        "NamesAccepted": ("True", "NoConflicts"),
        "Established": ("False", "Installing"),
    }
    second = next_status(first, [], LATER)
    assert second is not None
    assert told(second)["Established"] == ("True", "InitialNamesAccepted")
    times = [each["lastTransitionTime"] for each in second["status"]["conditions"]]
    assert times == ["2026-01-01T00:00:00Z", "2026-01-01T00:00:05Z"]
    assert next_status(second, [], LATER) is None
    assert told(new) == {}


def test_names_of_another_definition_are_not_accepted() -> None:
    new = accepted(rival(shortNames=["thing", "ok"], listKind="Thing"), [established(CRD)], NOW)
    assert told(new) == {
        "NamesAccepted": ("False", "ListKindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert new["status"]["conditions"][0]["message"] == '"Thing" is already in use'
    names = {"plural": "others", "singular": "other", "kind": "Other"}
    assert new["status"]["acceptedNames"] == names


def test_names_that_become_free_are_accepted() -> None:
    waiting = accepted(rival(shortNames=["thing"]), [established(CRD)], NOW)
    assert told(waiting)["NamesAccepted"] == ("False", "ShortNamesConflict")
    assert told(accepted(waiting, [], LATER))["Established"] == ("True", "InitialNamesAccepted")


def test_an_established_definition_stays_so_when_new_names_conflict() -> None:
    crd = accepted(rival(), [established(CRD)], NOW)
    crd = {
        **crd,
        "spec": {**crd["spec"], "names": {**crd["spec"]["names"], "shortNames": ["thing"]}},
    }
    new = accepted(crd, [established(CRD)], LATER)
    assert told(new)["NamesAccepted"] == ("False", "ShortNamesConflict")
    assert told(new)["Established"][0] == "True"
    assert "shortNames" not in new["status"]["acceptedNames"]


def test_a_deleted_definition_waits_for_its_objects() -> None:
    crd = deleted(established(CRD), NOW)
    assert crd["metadata"]["finalizers"] == [FINALIZER]
    assert crd["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert told(crd)["Terminating"] == ("True", "InstanceDeletionPending")
    crd = terminating(crd, LATER)
    assert told(crd)["Terminating"] == ("True", "InstanceDeletionInProgress")
    crd = terminated(crd, LATER)
    assert told(crd)["Terminating"] == ("False", "InstanceDeletionCompleted")
    assert "finalizers" not in crd["metadata"]


def test_a_definition_that_was_never_established_leaves_no_objects() -> None:
    crd = terminated(deleted(define(CRD, []), NOW), NOW)
    assert told(crd)["Terminating"] == ("False", "NeverEstablished")
