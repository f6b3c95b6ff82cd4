import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.builders import definition
from tests.command import EXAMPLES, run

DEFINITIONS = sorted((EXAMPLES / "rgds").glob("*.yaml"))
each_definition = pytest.mark.parametrize("path", DEFINITIONS, ids=lambda path: path.stem)

# The keywords of draft 07 that a schema of ours may use, and what they are in Python.
DRAFT_07 = {
    **dict.fromkeys(("$schema", "title", "description", "type", "format", "pattern"), str),
    **dict.fromkeys(("properties",), dict),
    **dict.fromkeys(("required", "enum"), list),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), int),
    **dict.fromkeys(("minimum", "maximum"), (int, float)),
    **{"uniqueItems": bool, "additionalProperties": (bool, dict), "items": dict},
    **dict.fromkeys(("const", "default"), object),
}
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for below in (schema.get("properties") or {}).values():
        yield from parts(below)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from parts(schema[key])


def accepts(schema: dict[str, Any], value: Any) -> bool:
    """Say whether a value fits a schema of the keywords above."""
    if "const" in schema and value != schema["const"]:
        return False
    if "type" in schema and not isinstance(value, TYPES[schema["type"]]):  # type: ignore[arg-type]
        return False
    if "enum" in schema and value not in schema["enum"]:
        return False
    if isinstance(value, str):
        return re.search(schema.get("pattern", ""), value) is not None
    if isinstance(value, list):
        return all(accepts(schema.get("items", {}), item) for item in value)
    if isinstance(value, dict):
        return _accepts_object(schema, value)
    return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def _accepts_object(schema: dict[str, Any], value: dict[str, Any]) -> bool:
    if not set(schema.get("required", ())) <= set(value):
        return False
    others = schema.get("additionalProperties", True)
    fields = schema.get("properties", {})
    return all(
        accepts(fields[key], part) if key in fields else others is True or accepts(others, part)
        for key, part in value.items()
        if key in fields or others is not False
    ) and (others is not False or set(value) <= set(fields))


def generated(what: str, path: Path | str) -> str:
    done = run("generate", what, path)
    assert (done.code, done.err) == (0, "")
    return done.out


@each_definition
def test_a_sample_is_valid_for_its_own_definition(path: Path) -> None:
    Path("sample.yaml").write_text(generated("instance", path), encoding="utf-8")
    done = run("validate", "--strict", path.parent, "sample.yaml")
    assert (done.code, done.out) == (0, "")
    assert "5 definitions and 1 instance " in done.err


@each_definition
def test_a_json_schema_is_draft_07_and_accepts_the_sample(path: Path) -> None:
    schema = json.loads(generated("schema", path))
    assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"
    for part in parts(schema):
        for keyword, value in part.items():
            assert isinstance(value, DRAFT_07[keyword]), keyword  # type: ignore[arg-type]
        assert set(part.get("required", ())) <= set(part.get("properties", {}))
    sample = yaml.safe_load(generated("instance", path))
    assert accepts(schema, sample)
    assert not accepts(schema, {**sample, "spec": {**sample["spec"], "bogus": 1}})
    assert not accepts(schema, {**sample, "bogus": 1})
    assert not accepts(schema, {**sample, "kind": "Other"})


@each_definition
def test_a_crd_is_what_a_cluster_takes(path: Path) -> None:
    crd = yaml.safe_load(generated("crd", path))
    assert crd["kind"] == "CustomResourceDefinition"
    names = crd["spec"]["names"]
    assert crd["metadata"]["name"] == f"{names['plural']}.{crd['spec']['group']}"
    Path("crd.yaml").write_text(generated("crd", path), encoding="utf-8")
    Path("sample.yaml").write_text(generated("instance", path), encoding="utf-8")
    assert run("validate", "crd.yaml", "sample.yaml").code == 0


def test_a_role_is_the_example_of_the_deployment() -> None:
    example = EXAMPLES.parents[1] / "deploy" / "examples" / "aggregated-role.yaml"
    text = generated("role", EXAMPLES / "rgds" / "webapp.yaml")
    assert yaml.safe_load(text) == yaml.safe_load(example.read_text(encoding="utf-8"))


def test_a_role_reads_external_objects_and_writes_children() -> None:
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "r"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    resources = [
        {"id": "login", "externalRef": secret},
        {"id": "ours", "template": config},
        {"id": "theirs", "externalRef": {**config, "metadata": {"name": "other"}}},
        {"id": "role", "template": role},
    ]
    Path("rgd.yaml").write_text(json.dumps(definition(*resources)), encoding="utf-8")
    text = generated("role", "rgd.yaml")
    children = {
        (rule["apiGroups"][0], *rule["resources"]): rule["verbs"]
        for rule in yaml.safe_load(text)["rules"][3:]
    }
    read = ["get", "list", "watch"]
    assert children == {
        ("", "secrets"): read,
        ("", "configmaps"): [*read, "create", "patch", "delete"],
        ("rbac.authorization.k8s.io", "roles"): [*read, "create", "patch", "delete"],
    }
    assert "resources: # and every permission that these roles grant\n" in text


@pytest.mark.parametrize("what", ["crd", "instance", "role"])
def test_json_says_the_same_as_yaml(what: str) -> None:
    path = DEFINITIONS[0]
    assert run("generate", what, path, "-o", "json").json == yaml.safe_load(generated(what, path))


def sample_of(spec: dict[str, Any], **more: Any) -> tuple[dict[str, Any], str]:
    """Return the sample of a definition, which must be valid, and its text."""
    Path("rgd.yaml").write_text(json.dumps(definition(spec=spec, **more)), encoding="utf-8")
    text = generated("instance", "rgd.yaml")
    Path("sample.yaml").write_text(text, encoding="utf-8")
    done = run("validate", "rgd.yaml", "sample.yaml")
    assert (done.code, done.out) == (0, "")
    fields: dict[str, Any] = yaml.safe_load(text)["spec"]
    return fields, text


PORT = {"Port": {"name": "string | required=true", "number": "integer | minimum=1 maximum=9"}}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param("string", "text", id="a string"),
        pytest.param('string | default="x"', "x", id="a default"),
        pytest.param('string | enum="a,b"', "a", id="an enum"),
        pytest.param("string | maxLength=2", "a", id="a short one"),
        pytest.param("string | minLength=300", "text" + "x" * 296, id="a long one"),
        pytest.param('string | pattern="^[0-9]+(Mi|Gi)$"', "1Gi", id="a quantity"),
        pytest.param('string | pattern="^[A-Z]{3}-[0-9]+$"', "AAA-1", id="a key"),
        pytest.param("integer | minimum=5", 5, id="at least"),
        pytest.param("integer | maximum=-3", -3, id="at most"),
        pytest.param("float | minimum=0.5 maximum=0.7", 0.5, id="a fraction"),
        pytest.param("boolean", True, id="a boolean"),
        pytest.param("object", {}, id="anything"),
        pytest.param("[]string | minItems=2", ["text", "text"], id="a list"),
        pytest.param("[]string | minItems=2 uniqueItems=true", ["text", "text2"], id="a set"),
        pytest.param("[]integer | minItems=2 uniqueItems=true", [1, 2], id="a set of numbers"),
        pytest.param("[][]integer", [[1]], id="a list of lists"),
        pytest.param("map[string]integer", {"key": 1}, id="a map"),
        pytest.param("Port", {"name": "text", "number": 1}, id="a type"),
        pytest.param(
            "[]Port | minItems=2 listType=map listMapKey=name",
            [{"name": "text", "number": 1}, {"name": "text2", "number": 1}],
            id="a list with keys",
        ),
    ],
)
def test_every_field_of_a_sample_has_a_value_that_fits(field: str, value: Any) -> None:
    assert sample_of({"field": field}, types=PORT)[0] == {"field": value}


def test_comments_tell_what_a_field_takes() -> None:
    fields = {
        "a": 'string | required=true description="what it is" pattern="^[a-z]+$"',
        "b": "integer | default=2 minimum=1 maximum=3",
        "c": 'string | enum="x,y" immutable=true',
        "d": 'string | validation="self != \\"\\""',
    }
    text = sample_of(fields)[1]
    assert "  a: text # required; what it is; matches ^[a-z]+$\n" in text
    assert "  b: 2 # optional; from 1 to 3\n" in text
    assert "  c: x # optional; one of x, y; cannot be changed\n" in text
    assert '  d: text # optional; rule: self != ""\n' in text


def test_a_description_cannot_leave_its_comment() -> None:
    fields = {"a": 'string | description="x\ny: z\x1b[31m"'}
    sample, text = sample_of(fields)
    assert sample == {"a": "text"}
    assert "\x1b" not in text


def test_editors_do_not_ask_for_what_has_a_default() -> None:
    spec = {"a": 'string | required=true default="x"', "b": "string | required=true"}
    Path("rgd.yaml").write_text(json.dumps(definition(spec=spec)), encoding="utf-8")
    assert json.loads(generated("schema", "rgd.yaml"))["properties"]["spec"]["required"] == ["b"]


def test_a_cluster_scoped_kind_has_no_namespace() -> None:
    Path("rgd.yaml").write_text(json.dumps(definition(scope="Cluster")), encoding="utf-8")
    sample = yaml.safe_load(generated("instance", "rgd.yaml"))
    assert sample["metadata"] == {"name": "my-kiosk"}


def test_nothing_is_printed_for_a_definition_that_does_not_compile() -> None:
    Path("rgd.yaml").write_text(json.dumps(definition(spec={"a": "strng"})), encoding="utf-8")
    for what in ("crd", "instance", "schema"):
        done = run("generate", what, "rgd.yaml")
        assert (done.code, done.out) == (1, "")
        assert "error[unknown-type]" in done.err
