from typing import Any

import pytest

from kro_gitops.engine.crd.build import CrdInputs, build_crd
from kro_gitops.engine.crd.compatibility import Change, breaking, compare, summary
from kube_objects.errors import SchemaError
from kube_objects.refs import KubeObject

Schema = dict[str, Any]
STRING: Schema = {"type": "string"}


def crd_with(spec: Schema, **inputs: Any) -> KubeObject:
    return build_crd(
        CrdInputs(**{"kind": "Kiosk", "api_version": "v1", **inputs}), spec, {"type": "object"}
    )


def struct(required: tuple[str, ...] = (), /, **fields: Schema) -> Schema:
    schema: Schema = {"type": "object", "properties": fields}
    return schema | {"required": list(required)} if required else schema


def changes(old: Schema, new: Schema) -> tuple[Change, ...]:
    return compare(crd_with(old), crd_with(new))


def told(old: Schema, new: Schema) -> list[tuple[str, str, bool]]:
    """List what kro sees."""
    found = changes(old, new)
    return [(one.path, one.description, one.breaking) for one in found if one.seen_by_kro]


def test_equal_crds_have_no_changes() -> None:
    assert changes(struct(a=STRING), struct(a=STRING)) == ()


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (STRING, {"type": "integer"}, "Type changed from string to integer"),
        (STRING, {**STRING, "pattern": "^a"}, "Validation pattern ^a was added"),
        (
            {**STRING, "pattern": "^a"},
            {**STRING, "pattern": "^b"},
            "Validation pattern changed from ^a to ^b",
        ),
        (
            {**STRING, "enum": ["x", 'é"']},
            {**STRING, "enum": ["x"]},
            'Enum value "é\\"" was removed',
        ),
        ({"enum": [1, 2]}, {"enum": [1]}, "Enum value 2 was removed"),
        ({}, {"minimum": 1.50}, "Minimum constraint 1.5 was added"),
        ({"minimum": 1}, {"minimum": 1e21}, f"Minimum was increased from 1 to 1{'0' * 21}"),
        ({}, {"maximum": 0.0000001}, "Maximum constraint 0.0000001 was added"),
        ({"maximum": 9}, {"maximum": 8}, "Maximum was decreased from 9 to 8"),
        ({}, {"minLength": 1}, "MinLength constraint 1 was added"),
        ({"minLength": 1}, {"minLength": 2}, "MinLength was increased from 1 to 2"),
        ({}, {"maxLength": 1}, "MaxLength constraint 1 was added"),
        ({"maxLength": 2}, {"maxLength": 1}, "MaxLength was decreased from 2 to 1"),
        ({}, {"minItems": 1}, "MinItems constraint 1 was added"),
        ({"minItems": 1}, {"minItems": 2}, "MinItems was increased from 1 to 2"),
        ({}, {"maxItems": 1}, "MaxItems constraint 1 was added"),
        ({"maxItems": 2}, {"maxItems": 1}, "MaxItems was decreased from 2 to 1"),
    ],
)
def test_what_breaks_a_field(old: Schema, new: Schema, text: str) -> None:
    assert told(struct(f=old), struct(f=new)) == [("spec.f", text, True)]


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ({"pattern": "^a"}, {}, "Validation pattern ^a was removed"),
        ({"enum": ["a"]}, {"enum": ["a", "b"]}, 'Enum value "b" was added'),
        ({"minimum": 2}, {"minimum": 1}, "Minimum was decreased from 2 to 1"),
        ({"minimum": 2}, {}, "Minimum constraint 2 was removed"),
        ({"maximum": 2}, {"maximum": 3}, "Maximum was increased from 2 to 3"),
        ({"maxItems": 2}, {}, "MaxItems constraint 2 was removed"),
        ({"description": "a"}, {}, "Description field was changed from a to "),
        ({"default": 1}, {"default": {"a": 2}}, 'Default value was changed from 1 to {"a":2}'),
        ({}, {"default": ""}, 'Default value was changed from  to ""'),
    ],
)
def test_what_does_not_break_a_field(old: Schema, new: Schema, text: str) -> None:
    assert told(struct(f=old), struct(f=new)) == [("spec.f", text, False)]


class TestFieldsOfAStructure:
    def test_a_removed_field_breaks(self) -> None:
        assert told(struct(a=STRING, b=STRING), struct(a=STRING)) == [
            ("spec.b", "Property b was removed", True)
        ]

    def test_kro_names_a_field_by_what_follows_its_last_dot(self) -> None:
        assert told(struct(**{"a.b": STRING}), struct()) == [
            ('spec["a.b"]', "Property b was removed", True)
        ]

    def test_a_new_optional_field_does_not_break(self) -> None:
        assert told(struct(), struct(a=STRING)) == [
            ("spec.a", "Optional property a was added", False)
        ]

    def test_a_new_required_field_breaks_though_kro_calls_it_optional(self) -> None:
        assert told(struct(), struct(("a",), a=STRING)) == [
            ("spec.a", "Optional property a was added", True)
        ]

    def test_a_new_required_field_with_default_does_not_break(self) -> None:
        assert told(struct(), struct(("a",), a={**STRING, "default": "x"})) == [
            ("spec.a", "Optional property a was added", False)
        ]

    def test_a_field_that_becomes_required_breaks_even_with_a_default(self) -> None:
        field = {**STRING, "default": "x"}
        assert told(struct(a=field), struct(("a",), a=field)) == [
            ("spec.a", "Field a is newly required", True)
        ]

    def test_a_field_that_becomes_optional_does_not_break(self) -> None:
        assert told(struct(("a",), a=STRING), struct(a=STRING)) == [
            ("spec.a", "Field a is no longer required", False)
        ]

    def test_a_required_field_that_loses_its_default_breaks(self) -> None:
        old = struct(("a",), a={**STRING, "default": "x"})
        assert told(old, struct(("a",), a=STRING)) == [
            ("spec.a", "Default value removed from required field a", True),
            ("spec.a", 'Default value was changed from "x" to ', False),
        ]

    def test_an_optional_field_that_loses_its_default_does_not_break(self) -> None:
        found = changes(struct(a={**STRING, "default": "x"}), struct(a=STRING))
        assert breaking(found) == ()


class TestLists:
    def test_items_are_compared(self) -> None:
        old = struct(ports={"type": "array", "items": struct(name=STRING)})
        new = struct(ports={"type": "array", "items": struct()})
        assert told(old, new) == [("spec.ports[].name", "Property name was removed", True)]

    def test_items_that_go_break(self) -> None:
        old = struct(ports={"type": "array", "items": STRING})
        assert told(old, struct(ports={"type": "array"})) == [
            ("spec.ports[]", "Property items was removed", True)
        ]

    def test_items_that_come_do_not_break(self) -> None:
        new = struct(ports={"type": "array", "items": STRING})
        assert told(struct(ports={"type": "array"}), new) == [
            ("spec.ports[]", "Optional property items was added", False)
        ]


def test_after_a_change_of_type_nothing_below_is_compared() -> None:
    old = struct(f=struct(a=STRING))
    assert told(old, struct(f={"type": "array", "items": STRING})) == [
        ("spec.f", "Type changed from object to array", True)
    ]


def test_the_status_counts_too() -> None:
    inputs = CrdInputs("Kiosk", "v1")
    old = build_crd(inputs, struct(), struct(url=STRING))
    new = build_crd(inputs, struct(), struct())
    assert summary(compare(old, new)) == "Property url was removed"


class TestTheVersion:
    def test_another_name_breaks_and_is_all_that_is_told(self) -> None:
        new = crd_with(struct(b=STRING), api_version="v2")
        found = compare(crd_with(struct(a=STRING)), new)
        assert [(one.path, one.description) for one in found] == [
            ("version", "Type changed from v1 to v2")
        ]

    def test_a_version_that_is_no_longer_served_breaks(self) -> None:
        new = crd_with(struct())
        new["spec"]["versions"][0]["served"] = False
        assert summary(compare(crd_with(struct()), new)) == "Type changed from true to false"

    def test_a_status_subresource_that_goes_breaks(self) -> None:
        new = crd_with(struct())
        new["spec"]["versions"][0]["subresources"] = {}
        assert summary(compare(crd_with(struct()), new)) == "Property status was removed"

    def test_printer_columns_do_not_break(self) -> None:
        column = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
        old = crd_with(struct(), printer_columns=(column,))
        assert compare(old, crd_with(struct(), printer_columns=({**column, "priority": 0},))) == ()
        assert compare(old, crd_with(struct())) == (
            Change(
                "version.additionalPrinterColumns",
                "Additional printer columns were changed",
                breaking=False,
            ),
        )

    def test_a_crd_with_two_versions_cannot_be_compared(self) -> None:
        old = crd_with(struct())
        old["spec"]["versions"] *= 2
        with pytest.raises(SchemaError) as caught:
            compare(old, crd_with(struct()))
        assert caught.value.message == (
            "expected exactly one version in each CRD, got 2 old and 1 new versions"
        )

    def test_a_version_without_schema_cannot_be_compared(self) -> None:
        old = crd_with(struct())
        del old["spec"]["versions"][0]["schema"]
        with pytest.raises(SchemaError, match="old version v1 has no schema"):
            compare(old, crd_with(struct()))


@pytest.mark.parametrize(
    ("old", "new", "path", "text", "breaks"),
    [
        pytest.param(
            STRING,
            {**STRING, "enum": ["b", "a"]},
            "spec.f",
            'Enum with the values "a", "b" was added',
            True,
            id="a first enum",
        ),
        pytest.param(
            {**STRING, "enum": ["a"]}, STRING, "spec.f", "Enum was removed", False, id="no enum"
        ),
        pytest.param(
            {"type": "object", "additionalProperties": STRING},
            {"type": "object", "additionalProperties": {"type": "integer"}},
            "spec.f[*]",
            "Type changed from string to integer",
            True,
            id="map values of another type",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": STRING},
            struct(),
            "spec.f[*]",
            "Map values were removed",
            True,
            id="a map that becomes a structure",
        ),
        pytest.param(
            {"type": "object", "additionalProperties": True},
            {"type": "object", "additionalProperties": STRING},
            "spec.f[*]",
            "Map values were restricted",
            True,
            id="values that may no longer be anything",
        ),
        pytest.param(
            {"type": "object"},
            {"type": "object", "additionalProperties": STRING},
            "spec.f[*]",
            "Map values were added",
            False,
            id="a structure that becomes a map",
        ),
        pytest.param(
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            {"type": "object"},
            "spec.f",
            "Unknown fields are no longer preserved",
            True,
            id="unknown fields that are pruned",
        ),
        pytest.param(
            {"type": "object"},
            {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            "spec.f",
            "Unknown fields are now preserved",
            False,
            id="unknown fields that are kept",
        ),
        pytest.param(
            {"type": "array"},
            {"type": "array", "x-kubernetes-list-type": "set"},
            "spec.f",
            "List type changed from atomic to set",
            True,
            id="a list that becomes a set",
        ),
        pytest.param(
            {"type": "array", "x-kubernetes-list-type": "set"},
            {"type": "array"},
            "spec.f",
            "List type changed from set to atomic",
            False,
            id="a set that becomes a list",
        ),
        pytest.param(
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a"]},
            {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"]},
            "spec.f",
            "List map keys changed from a to a, b",
            True,
            id="other keys",
        ),
        pytest.param(
            STRING,
            {**STRING, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
            "spec.f",
            "Validation rule self == oldSelf was added",
            True,
            id="a new rule",
        ),
        pytest.param(
            {**STRING, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
            STRING,
            "spec.f",
            "Validation rule self == oldSelf was removed",
            False,
            id="a rule less",
        ),
    ],
)
def test_what_kro_does_not_see(
    old: Schema, new: Schema, path: str, text: str, breaks: bool
) -> None:
    [change] = changes(struct(f=old), struct(f=new))
    assert (change.path, change.description, change.breaking) == (path, text, breaks)
    assert not change.seen_by_kro
    assert summary([change]) == "no breaking changes"
    assert summary([change], beyond_kro=True) == (text if breaks else "no breaking changes")


def test_what_a_crd_keeps_for_life_is_noticed() -> None:
    found = compare(crd_with(struct()), crd_with(struct(), scope="Cluster"))
    assert [(one.path, one.description, one.seen_by_kro) for one in found] == [
        ("scope", "Scope changed from Namespaced to Cluster", False)
    ]


def test_breaking_changes_come_with_a_hint() -> None:
    [change] = changes(struct(a=STRING), struct())
    assert change.hint == "existing instances lose the value of this field"


def test_changes_are_sorted_by_path() -> None:
    old = struct(c=STRING, a=STRING, b={"type": "integer", "minimum": 1})
    new = struct(b={"type": "integer", "minimum": 2}, d=STRING)
    assert [one.path for one in changes(old, new)] == ["spec.a", "spec.b", "spec.c", "spec.d"]


class TestTheSummary:
    def test_without_breaking_changes(self) -> None:
        assert summary(changes(struct(), struct(a=STRING))) == "no breaking changes"

    def test_three_are_spelt_out(self) -> None:
        assert summary(changes(struct(a=STRING, b=STRING, c=STRING), struct())) == (
            "Property a was removed; Property b was removed; Property c was removed"
        )

    def test_the_rest_is_counted(self) -> None:
        old = struct(**dict.fromkeys("abcde", STRING))
        assert summary(changes(old, struct())) == (
            "Property a was removed; Property b was removed; Property c was removed; "
            "and 2 more changes"
        )
