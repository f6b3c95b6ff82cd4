from typing import Any

import pytest

from kro_gitops.inspect.provenance.field_managers import (
    Writer,
    held_fields,
    holders,
    our_entry,
    writers,
)
from kro_gitops.inspect.provenance.field_names import format_steps
from kube_objects.problems import Path

OBJECT: dict[str, Any] = {
    "metadata": {"labels": {"a": "1"}, "finalizers": ["x/y", "z"]},
    "spec": {
        "args": ["a", "b"],
        "ports": [{"port": 80}, {"port": 443, "protocol": "UDP"}],
        "containers": [{"name": "web", "image": "i"}, {"name": "side", "image": "j"}],
    },
}
FIELDS: dict[str, Any] = {
    "f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:finalizers": {".": {}, 'v:"z"': {}}},
    "f:spec": {
        "f:args": {},
        "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}}},
        "f:containers": {'k:{"name":"side"}': {".": {}, "f:name": {}, "f:image": {}}},
    },
}


@pytest.mark.parametrize(
    ("path", "is_theirs"),
    [
        (("metadata", "labels", "a"), True),
        (("metadata", "labels", "b"), False),
        (("metadata", "labels"), True),
        (("metadata", "finalizers", 1), True),
        (("metadata", "finalizers", 0), False),
        (("spec", "args"), True),
        (("spec", "args", 1), True),  # a list that is one value
        (("spec", "ports", 0, "port"), True),  # its protocol has a default
        (("spec", "ports", 1, "port"), False),
        (("spec", "containers", 1, "image"), True),
        (("spec", "containers", 0, "image"), False),
        (("spec", "containers", 1, "command"), False),
        (("spec", "containers", 9, "image"), False),
        (("status", "x"), False),
    ],
)
def test_whose_a_field_is(path: Path, is_theirs: bool) -> None:
    assert Writer("them", fields=FIELDS).holds(path, OBJECT) is is_theirs


def test_an_entry_without_fields_holds_nothing() -> None:
    assert not Writer("them").holds(("spec",), OBJECT)


def test_the_innermost_fields_are_listed_as_people_write_them() -> None:
    found = [format_steps(steps) for steps in held_fields(Writer("them", fields=FIELDS))]
    assert found == [
        "metadata.labels.a",
        "metadata.finalizers[value=z]",
        "spec.args",
        "spec.ports[port=80,protocol=TCP].port",
        "spec.containers[name=side].name",
        "spec.containers[name=side].image",
    ]


def test_the_latest_writer_comes_first_and_ours_is_the_apply_on_the_object_itself() -> None:
    entries = [
        {"manager": "kro.run/applyset", "operation": "Apply", "time": "2026-01-01T00:00:00Z"},
        {"manager": "kubectl-edit", "operation": "Update", "time": "2026-01-02T00:00:00Z"},
        {"operation": "Update", "subresource": "status", "time": "2026-01-03T00:00:00Z"},
    ]
    entries[1]["fieldsV1"] = {"f:spec": {}}  # type: ignore[assignment]  # plain data
    found = writers({**OBJECT, "metadata": {"managedFields": entries}})
    assert [each.manager for each in found] == ["unknown", "kubectl-edit", "kro.run/applyset"]
    ours = our_entry(found, "kro.run/applyset")
    assert ours is not None
    assert ours.is_ours
    assert our_entry(found, "kubectl-edit") is None
    assert [each.manager for each in holders(found, ("spec", "args"), OBJECT)] == ["kubectl-edit"]
