"""How large and how deep an object may be, in the words of a real API server."""

import time
from pathlib import Path
from typing import Any

import pytest
from sandbox_testing.in_process_api import InProcessAPI

from kube_sandbox.nesting import MAX_DEPTH

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
FOOS = "/apis/x.io/v1/namespaces/default/foos"
APPLY = "application/apply-patch+yaml"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"
MIB = 1024 * 1024
YAML_PREFIX = "error decoding YAML: error converting YAML to JSON: yaml: "
OPEN_SCHEMA = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "foos.x.io"},
    "spec": {
        "group": "x.io",
        "scope": "Namespaced",
        "names": {"plural": "foos", "kind": "Foo"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": OPEN_SCHEMA},
            }
        ],
    },
}


@pytest.fixture
async def api(tmp_path: Path) -> InProcessAPI:
    found = InProcessAPI(tmp_path)
    await found.serve(DEFINITION)
    return found


def foo(name: str, spec: Any) -> dict[str, Any]:
    return {"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": name}, "spec": spec}


def nested_lists(levels: int) -> str:
    return "[" * levels + "]" * levels


def foo_text(name: str, levels: int) -> bytes:
    """Return a body whose whole depth is this."""
    head = f'"apiVersion":"x.io/v1","kind":"Foo","metadata":{{"name":"{name}"}}'
    return f'{{{head},"spec":{nested_lists(levels - 1)}}}'.encode()


def test_an_object_of_the_greatest_depth_can_be_written_and_deleted(api: InProcessAPI) -> None:
    for code, method, path, body, content_type in (
        (201, "POST", FOOS, foo_text("a", MAX_DEPTH), "application/json"),
        (200, "PATCH", f"{FOOS}/a?fieldManager=x&force=1", foo_text("a", MAX_DEPTH), APPLY),
        (200, "PATCH", f"{FOOS}/a", f'{{"m":{nested_lists(MAX_DEPTH - 1)}}}'.encode(), MERGE_PATCH),
        (200, "PATCH", f"{FOOS}/a", b'{"metadata":{"finalizers":["x.io/y"]}}', MERGE_PATCH),
        (200, "GET", f"{FOOS}/a", b"", ""),
        (200, "GET", FOOS, b"", ""),
        (200, "DELETE", f"{FOOS}/a", b"", "application/json"),
        (200, "PATCH", f"{FOOS}/a", b'{"metadata":{"finalizers":null}}', MERGE_PATCH),
        (404, "GET", f"{FOOS}/a", b"", ""),
    ):
        found, answer = api.ask(method, path, body, content_type)
        assert found == code, answer.get("message")


def test_maps_nest_as_deep_as_lists(api: InProcessAPI) -> None:
    spec: Any = 1
    for _ in range(MAX_DEPTH - 1):
        spec = {"a": spec}
    code, _ = api.ask("PATCH", f"{FOOS}/a?fieldManager=x", foo("a", spec), APPLY)
    assert code == 201
    # The answer prints the value, which it walks as well.
    text = f"apiVersion: v1\nkind: ConfigMap\ndata: {{x: {'{a: ' * 190}1{'}' * 190}}}"
    code, answer = api.ask("PATCH", f"{CONFIG_MAPS}/a?fieldManager=x", text.encode(), APPLY)
    assert code == 500
    assert ".data.x: expected string, got &value.valueUnstructured{Value:map" in answer["message"]


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 1023, 5000])
def test_what_is_deeper_is_rejected_as_a_real_server_rejects_10000_levels(
    api: InProcessAPI, levels: int
) -> None:
    api.ask("POST", FOOS, foo("a", {}))
    api.ask("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    why = "invalid character '[' exceeded max depth"
    lists = nested_lists(levels)
    for method, path, body, content_type, prefix in (
        ("POST", FOOS, foo_text("b", levels), "application/json", "json parse error: "),
        ("PATCH", f"{FOOS}/a", lists.encode(), MERGE_PATCH, "error decoding patch: "),
        ("PATCH", f"{FOOS}/a", lists.encode(), JSON_PATCH, "error decoding patch: "),
        ("PATCH", f"{CONFIG_MAPS}/a", lists.encode(), STRATEGIC_PATCH, ""),
        ("DELETE", f"{FOOS}/a", lists.encode(), "application/json", "json parse error: "),
    ):
        code, answer = api.ask(method, path, body, content_type)
        assert code == 400
        assert prefix + why in answer["message"]
        assert prefix or answer["message"] == why


@pytest.mark.parametrize(
    "value",
    [
        nested_lists(MAX_DEPTH + 1),
        "[" * (MAX_DEPTH + 1),
        "{a: " * (MAX_DEPTH + 1) + "1" + "}" * (MAX_DEPTH + 1),
        "- " * (MAX_DEPTH + 1) + "a",
    ],
)
def test_deep_yaml_is_rejected_with_its_line(api: InProcessAPI, value: str) -> None:
    text = f"apiVersion: x.io/v1\nkind: Foo\nmetadata: {{name: a}}\nspec:\n {value}\n".encode()
    why = f"line 5: exceeded max depth of {MAX_DEPTH}"
    code, answer = api.ask("PATCH", f"{FOOS}/a?fieldManager=x", text, APPLY)
    assert (code, answer["message"]) == (400, YAML_PREFIX + why)
    code, answer = api.ask("POST", FOOS, text, "application/yaml")
    assert (code, answer["message"]) == (
        400,
        f"the object provided is unrecognized (must be of type Foo): yaml: {why} "
        f"({text[:30].hex()} ...)",
    )


@pytest.mark.parametrize("value", ["[", "- ", "{a: ", "? ", "!!x ["])
def test_deep_yaml_costs_no_more_than_it_is_long(api: InProcessAPI, value: str) -> None:
    before = time.process_time()
    for text in (value * 300_000, f"x: *a\ny: {value * 300_000}"):
        code, _ = api.ask("PATCH", f"{FOOS}/a?fieldManager=x", text.encode(), APPLY)
        assert code == 400
    assert time.process_time() - before < 3


def test_the_copies_of_a_patch_are_limited(api: InProcessAPI) -> None:
    api.ask("POST", FOOS, foo("a", {"list": ["x" * 100], "map": {}}))
    double = {"op": "copy", "from": "/spec/list", "path": "/spec/list/-"}
    code, _ = api.ask("PATCH", f"{FOOS}/a?dryRun=All", [double] * 14, JSON_PATCH)
    assert code == 200
    nest = {"op": "copy", "from": "/spec/map", "path": "/spec/map/a"}
    for operations in ([double] * 15, [double] * 100, [nest] * 300, [nest] * 10_000):
        code, answer = api.ask("PATCH", f"{FOOS}/a?dryRun=All", operations, JSON_PATCH)
        assert code == 422
        assert answer == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "the server rejected our request due to an error in our request",
            "reason": "Invalid",
            "details": {},
            "code": 422,
        }


def test_a_copy_changes_apart_from_what_it_is_a_copy_of(api: InProcessAPI) -> None:
    api.ask("POST", FOOS, foo("a", {"one": {"x": [1]}}))
    operations = [
        {"op": "copy", "from": "/spec/one", "path": "/spec/two"},
        {"op": "add", "path": "/spec/two/x/-", "value": 2},
        {"op": "add", "path": "/spec/one/x/-", "value": 3},
    ]
    _, answer = api.ask("PATCH", f"{FOOS}/a", operations, JSON_PATCH)
    assert answer["spec"] == {"one": {"x": [1, 3]}, "two": {"x": [1, 2]}}


def test_an_object_is_as_large_as_etcd_takes_it(api: InProcessAPI) -> None:
    code, _ = api.ask("POST", FOOS, foo("a", {"text": "x" * (1536 * 1024 - 1000)}))
    assert code == 201
    large = {"text": "x" * (1536 * 1024)}
    for method, path, body, content_type in (
        ("POST", FOOS, foo("b", large), "application/json"),
        ("PATCH", f"{FOOS}/b?fieldManager=x", foo("b", large), APPLY),
        ("PATCH", f"{FOOS}/a", {"spec": large}, MERGE_PATCH),
    ):
        code, answer = api.ask(method, path, body, content_type)
        assert code == 500
        assert answer == {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": "etcdserver: request is too large",
            "code": 500,
        }
    code, answer = api.ask("POST", FOOS, foo("b", {"text": "x" * (2 * MIB)}))
    assert code == 500
    assert answer["message"].startswith(
        "rpc error: code = ResourceExhausted desc = trying to send message larger than max (2097"
    )
    assert answer["message"].endswith(" vs. 2097152)")
    assert api.ask("GET", f"{FOOS}/b")[0] == 404
    # A dry-run is not sent to etcd.
    assert api.ask("POST", f"{FOOS}?dryRun=All", foo("b", large))[0] == 201


def test_a_large_config_map_is_named_as_upstream_does(api: InProcessAPI) -> None:
    config_map = {"metadata": {"name": "a"}, "data": {"a": "x" * MIB, "b": "y"}}
    _, answer = api.ask("POST", CONFIG_MAPS, config_map)
    assert answer["message"] == (
        'ConfigMap "a" is invalid: []: Too long: may not be more than 1048576 bytes'
    )


@pytest.mark.parametrize(
    ("patch_type", "validation", "why"),
    [
        (STRATEGIC_PATCH, "Strict", "unexpected end of JSON input"),
        (STRATEGIC_PATCH, "Ignore", "unexpected end of JSON input"),
        (MERGE_PATCH, "Strict", "error decoding patch: unexpected end of JSON input"),
        (MERGE_PATCH, "Ignore", "Invalid JSON Patch"),
        (JSON_PATCH, "Strict", "error decoding patch: unexpected end of JSON input"),
        (JSON_PATCH, "Ignore", "unexpected end of JSON input"),
    ],
)
def test_a_patch_that_is_no_json_is_rejected_in_the_words_of_its_decoder(
    api: InProcessAPI, patch_type: str, validation: str, why: str
) -> None:
    api.ask("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    path = f"{CONFIG_MAPS}/a?fieldValidation={validation}"
    code, answer = api.ask("PATCH", path, b"{", patch_type)
    assert (code, answer["message"]) == (400, why)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a: [", "yaml: line 1: did not find expected node content (613a205b)"),
        ("a: b: c", "yaml: mapping values are not allowed in this context (613a20623a2063)"),
    ],
)
def test_a_body_that_is_no_yaml_is_shown(api: InProcessAPI, text: str, why: str) -> None:
    code, answer = api.ask("POST", CONFIG_MAPS, text.encode(), "application/yaml")
    prefix = "the object provided is unrecognized (must be of type ConfigMap): "
    assert (code, answer["message"]) == (400, prefix + why)
