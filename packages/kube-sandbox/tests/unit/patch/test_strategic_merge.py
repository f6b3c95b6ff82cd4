"""Strategic merge patches, replayed against what a real API server answered."""

import copy
from typing import Any

import pytest
from sandbox_testing.patch_recordings import recorded

from kube_objects.builtins.catalog import catalog
from kube_objects.refs import Kind
from kube_objects.schemas import Schema
from kube_sandbox.api_errors import StatusError
from kube_sandbox.patch.strategic_merge import strategic_patch

# What a Deployment gets back when it is patched away.
DEFAULTED = {
    "rollingUpdate",
    "restartPolicy",
    "terminationGracePeriodSeconds",
    "dnsPolicy",
    "securityContext",
    "schedulerName",
}


def schema_of(group: str, version: str, kind: str) -> Schema:
    """Return the published schema of a built-in kind."""
    found = catalog.find(Kind(group, version, kind))
    assert found is not None
    return found.schema


def assert_fits(ours: Any, theirs: Any, before: Any, where: str = "") -> None:
    """Compare a patched object with what the API server made of it, less its defaults."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name, value in ours.items():
            is_dropped = name not in theirs and value in (None, [], {})
            if not is_dropped and not name.startswith("$"):
                assert name in theirs, f"{where}.{name}"
                was = before.get(name) if isinstance(before, dict) else None
                assert_fits(value, theirs[name], was, f"{where}.{name}")
        gone = set(before or ()) - set(ours) - DEFAULTED if isinstance(before, dict) else set()
        assert not gone & set(theirs), where
    elif isinstance(ours, list) and isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for index, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_fits(one, other, None, f"{where}[{index}]")
    else:
        assert ours == theirs, where


def test_patches_end_as_on_a_real_api_server() -> None:
    schema = schema_of("apps", "v1", "Deployment")
    deployment = recorded()["objects"]["deployment"]
    kept = copy.deepcopy(deployment)
    refused = changed = 0
    for case in recorded()["strategic-merge"]:
        patch = copy.deepcopy(case["patch"])
        try:
            found = strategic_patch(deployment, case["patch"], schema)
        except StatusError as error:
            status = error.status()
            for name in ("code", "message", "reason", "details"):
                assert status.get(name) == case.get(name), case["patch"]
            refused += 1
        else:
            if "object" in case:
                assert_fits(found, case["object"], deployment)
                changed += 1
            else:
                # No patch of these is wrong, only the object that comes of it.
                assert case["code"] == 422 or "undeterminable" in case["message"], case
        assert case["patch"] == patch
    assert deployment == kept
    assert refused > 20
    assert changed > 150


@pytest.mark.parametrize(
    ("order", "deleted", "expected"),
    [
        (["a", "z"], [], ["a", "z", "b", "c", "d"]),
        # A new item takes the place of a deleted one, behind those that stay.
        (["a", "z"], ["b"], ["a", "c", "d", "z"]),
        (["z", "a", "c"], ["b"], ["d", "z", "a", "c"]),
    ],
)
def test_the_order_of_a_list_is_the_real_one(
    order: list[str], deleted: list[str], expected: list[str]
) -> None:
    # Each seen on a real API server.
    pod = {"spec": {"containers": [{"name": each} for each in "abcd"]}}
    items: list[Any] = [{"name": "z"}, *({"name": each, "$patch": "delete"} for each in deleted)]
    named = [{"name": each} for each in order]
    patch = {"spec": {"$setElementOrder/containers": named, "containers": items}}
    found = strategic_patch(pod, patch, schema_of("", "v1", "Pod"))
    assert [each["name"] for each in found["spec"]["containers"]] == expected
