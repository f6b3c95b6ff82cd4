"""Definitions that people get wrong, one way at a time."""

from typing import Any

from tools.recording.custom_cases import ITEM, MAP, PARTS, TEXT, definition, spec

Json = Any


def _with(change: Json, **properties: Json) -> Json:
    crd = definition("Told", spec(**(properties or {"a": {"type": "string"}})))
    crd["spec"].update(change)
    return crd


def _version(**change: Json) -> Json:
    crd = definition("Told", spec(a={"type": "string"}))
    crd["spec"]["versions"][0].update(change)
    return crd


def _named(**names: Json) -> Json:
    crd = definition("Told", spec(a={"type": "string"}))
    crd["spec"]["names"].update(names)
    return crd


def _rule(schema: Json, *rules: Json) -> Json:
    return definition("Told", spec(a={**schema, "x-kubernetes-validations": list(rules)}))


def _root(**keywords: Json) -> Json:
    return definition("Told", {"type": "object", **keywords})


DEFINITIONS: list[Json] = [
    # The definition itself
    _with({"group": ""}),
    _with({"group": "a_b"}),
    _with({"group": "example"}),
    _with({"group": "example.k8s.io"}),
    _with({"scope": "Other"}),
    _with({"scope": ""}),
    _with({"versions": []}),
    _with({"versions": None}),
    _with({"preserveUnknownFields": True}),
    _with({"conversion": {"strategy": "Other"}}),
    _with({"conversion": {"strategy": "Webhook"}}),
    _with({"conversion": {"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}}),
    _with(
        {
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"clientConfig": {}, "conversionReviewVersions": ["v1", "v1", "A"]},
            }
        }
    ),
    _with({"zz": 1}),
    _named(kind="A_b"),
    _named(kind=""),
    _named(plural=""),
    _named(plural="other"),
    _named(singular="A"),
    _named(listKind="Told"),
    _named(listKind="a b"),
    _named(shortNames=["ok", "Not"], categories=["all", "No"]),
    _named(shortNames=["ok", "td"], categories=["all"]),
    _version(storage=False),
    _version(served=False),
    _version(name="V1"),
    _version(name=""),
    _version(schema=None),
    _version(schema={}),
    _version(deprecated=True, deprecationWarning=""),
    _version(deprecated=True, deprecationWarning="x" * 257),
    _version(deprecated=True, deprecationWarning="a\nb"),
    _version(deprecated=True, deprecationWarning="do not"),
    _version(deprecationWarning="do not"),
    _version(subresources={}),
    _version(subresources={"status": {}, "scale": {}}),
    _version(
        subresources={"scale": {"specReplicasPath": "spec.n", "statusReplicasPath": ".spec.n"}}
    ),
    _version(
        subresources={
            "scale": {
                "specReplicasPath": ".spec.n",
                "statusReplicasPath": ".status.n",
                "labelSelectorPath": ".other",
            }
        }
    ),
    _version(additionalPrinterColumns=[{"name": "", "type": "", "jsonPath": ""}]),
    _version(
        additionalPrinterColumns=[
            {"name": "A", "type": "text", "format": "odd", "jsonPath": "spec"},
            {
                "name": "B",
                "type": "date",
                "format": "date",
                "jsonPath": ".spec[0].x",
                "priority": 0,
            },
        ]
    ),
    _version(selectableFields=[{"jsonPath": p} for p in ("", ".spec.a", ".spec.a", ".spec", "a")]),
    _version(
        selectableFields=[{"jsonPath": p} for p in (".spec.b", ".spec['a']", ".metadata.name")]
    ),
    # The keywords of a schema
    definition("Told", {"type": "array"}),
    definition("Told", {}),
    definition("Told", {"type": "object", "nullable": True}),
    _root(additionalProperties=True),
    _root(
        properties={"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}}
    ),
    _root(
        properties={
            "metadata": {
                "type": "object",
                "properties": {"name": {"type": "string", "maxLength": 5}},
            }
        }
    ),
    _root(properties={"metadata": {"type": "string"}, "kind": {"type": "integer"}}),
    _root(properties={"metadata": {"type": "object", "default": {"name": "x"}}}),
    _version(
        schema={"openAPIV3Schema": {"type": "object", "anyOf": [{"required": ["spec"]}]}},
        subresources={"status": {}},
    ),
    *(
        definition("Told", spec(a=schema))
        for schema in (
            {},
            {"type": "text"},
            {"type": "null"},
            {"type": "string", "foo": 1},
            {"type": "array"},
            {"type": "array", "items": {}},
            {"type": "array", "items": [{"type": "string"}]},
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            {
                "type": "object",
                "properties": {"x": {"type": "string"}},
                "additionalProperties": False,
            },
            {
                "type": "object",
                "properties": {"x": {"type": "string"}},
                "additionalProperties": True,
            },
            {"type": "object", "additionalProperties": True},
            {"type": "string", "id": "x", "$ref": "y", "$schema": "z"},
            {"type": "object", "patternProperties": {"x": {"type": "string"}}},
            {
                "type": "object",
                "definitions": {"x": {"type": "string"}},
                "dependencies": {"x": ["y"]},
            },
            {"type": "array", "items": {"type": "string"}, "additionalItems": True},
            {"type": "string", "pattern": "["},
            {"type": "string", "pattern": "(?=a)"},
            {"type": "string", "pattern": "a**", "format": "odd"},
            {"type": "string", "format": "odd"},
            {"x-kubernetes-int-or-string": True, "x-kubernetes-preserve-unknown-fields": True},
            {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "integer"}, {"type": "string"}],
            },
            {
                "x-kubernetes-int-or-string": True,
                "anyOf": [{"type": "string"}, {"type": "integer"}],
            },
            {
                "x-kubernetes-int-or-string": True,
                "allOf": [{"anyOf": [{"type": "integer"}, {"type": "string"}]}, {"pattern": "a"}],
            },
            {"x-kubernetes-preserve-unknown-fields": False},
            {"type": "string", "x-kubernetes-embedded-resource": True},
            {"type": "object", "x-kubernetes-embedded-resource": True},
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "additionalProperties": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "properties": {
                    "kind": {"type": "integer"},
                    "metadata": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "x-kubernetes-preserve-unknown-fields": True,
                    },
                },
            },
            {
                "type": "string",
                "anyOf": [
                    {
                        "type": "string",
                        "title": "x",
                        "description": "y",
                        "default": "z",
                        "nullable": True,
                    }
                ],
            },
            {
                "type": "object",
                "allOf": [
                    {
                        "properties": {"q": {"minLength": 1}, "metadata": {}},
                        "additionalProperties": {"type": "string"},
                    }
                ],
            },
            {
                "type": "object",
                "not": {
                    "x-kubernetes-list-type": "set",
                    "x-kubernetes-map-type": "atomic",
                    "x-kubernetes-validations": [{"rule": "true"}],
                },
            },
            {"type": "string", "x-kubernetes-list-type": "set"},
            {
                "x-kubernetes-preserve-unknown-fields": True,
                "x-kubernetes-list-type": "set",
                "x-kubernetes-map-type": "atomic",
            },
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "odd"},
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-map-type": "odd"},
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-map-keys": ["k"]},
            {
                "type": "array",
                "items": {"type": "string"},
                "x-kubernetes-list-type": "set",
                "x-kubernetes-list-map-keys": ["k"],
            },
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "set"},
            {
                "type": "array",
                "items": {
                    "type": "array",
                    "items": {"type": "string"},
                    "x-kubernetes-list-type": "set",
                },
                "x-kubernetes-list-type": "set",
            },
            {
                "type": "array",
                "items": {"type": "string", "nullable": True},
                "x-kubernetes-list-type": "set",
            },
            {"type": "array", "x-kubernetes-list-type": "map"},
            {**MAP, "items": {"type": "string"}},
            {**MAP, "items": {"type": "object", "properties": {"k": {"type": "string"}}}},
            {**MAP, "items": {"type": "object", "properties": {"j": {"type": "string"}}}},
            {**MAP, "items": {**ITEM, "nullable": True}},
            {**MAP, "items": {**ITEM, "properties": {"k": {"type": "object"}}}},
            {**MAP, "items": {**ITEM, "properties": {"k": {"type": "string", "nullable": True}}}},
            {**MAP, "items": ITEM, "x-kubernetes-list-map-keys": ["k", "k"]},
            {**MAP, "items": ITEM},
            # Defaults
            {"type": "string", "default": 1},
            {"type": "string", "default": None},
            {"type": "string", "default": "a", "enum": ["b"]},
            {"type": "string", "default": "a", "minLength": 2, "pattern": "^b"},
            {"type": "integer", "default": 1.0},
            {"type": "integer", "default": 1.5},
            {"type": "object", "default": {"x": 1}},
            {
                "type": "object",
                "default": {"x": 1, "y": 2},
                "properties": {"x": {"type": "integer"}},
            },
            {
                "type": "object",
                "default": {},
                "required": ["x"],
                "properties": {"x": {"type": "integer", "default": 1}},
            },
            {"type": "array", "default": [1], "items": {"type": "string"}},
            {
                "type": "array",
                "default": ["a", "a"],
                "items": {"type": "string"},
                "x-kubernetes-list-type": "set",
            },
            {"type": "object", "additionalProperties": {"type": "string", "default": "a"}},
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
                "default": {"metadata": {}},
            },
            {
                "type": "string",
                "maxLength": 5,
                "default": "abc",
                "x-kubernetes-validations": [{"rule": "self == 'x'"}],
            },
            {"type": 1},
            {"type": "string", "maxLength": 1.5},
            {
                "type": "string",
                "enum": ["a", None, 1.0],
                "minLength": 0,
                "title": "",
                "required": [],
                "example": 1.0,
                "externalDocs": {"url": "x"},
            },
            {"type": "object", "additionalProperties": 5},
            {
                "type": "number",
                "maximum": 3.0,
                "minimum": 1.5,
                "exclusiveMinimum": False,
                "multipleOf": 0.5,
            },
        )
    ),
    # Rules
    _rule(TEXT, {"rule": ""}),
    _rule(TEXT, {"rule": "true", "message": " "}),
    _rule(TEXT, {"rule": "true", "message": "a\nb"}),
    _rule(TEXT, {"rule": "true &&\ntrue"}),
    _rule(TEXT, {"rule": "true &&\ntrue", "message": "x"}),
    _rule(TEXT, {"rule": "true", "messageExpression": " "}),
    _rule(TEXT, {"rule": "true", "reason": "Other"}),
    _rule(TEXT, {"rule": "true", "fieldPath": ".x"}),
    _rule(PARTS, {"rule": "true", "fieldPath": ".x"}),
    _rule(PARTS, {"rule": "true", "fieldPath": "['x']"}, {"rule": "true", "fieldPath": ".y"}),
    _rule(PARTS, {"rule": "true", "fieldPath": " "}, {"rule": "true", "fieldPath": ".x\n"}),
    _rule(TEXT, {"rule": "self"}),
    _rule(TEXT, {"rule": "self.x == 1"}),
    _rule(TEXT, {"rule": "self =="}),
    _rule(TEXT, {"rule": "other == 1"}),
    _rule(TEXT, {"rule": "self == 1", "messageExpression": "1"}),
    _rule(TEXT, {"rule": "self == 'a'", "messageExpression": "1"}),
    _rule(TEXT, {"rule": "self == 'a'", "messageExpression": "self + x"}),
    _rule(TEXT, {"rule": "self == oldSelf", "optionalOldSelf": True}),
    _rule(TEXT, {"rule": "self == 'a'", "optionalOldSelf": True}),
    _rule(TEXT, {"rule": "self == 'a'", "optionalOldSelf": False}),
    _rule(TEXT, {"rule": "self == oldSelf.orValue(self)", "optionalOldSelf": True}),
    _rule(PARTS, {"rule": "self == oldSelf && self.x == oldSelf.x"}),
    _rule(PARTS, {"rule": "self.y == 1"}, {"rule": "self == 1"}, {"rule": "has(self.x.y)"}),
    _rule(TEXT, {"rule": "quantity(self).isGreaterThan(quantity('1'))"}),
    _rule(TEXT, {"rule": "isIP(self) && ip(self).family() == 4"}),
    _rule(TEXT, {"rule": "self.matches('^a')", "message": "must begin with a"}),
    _rule({"x-kubernetes-preserve-unknown-fields": True}, {"rule": "true"}),
    definition(
        "Told",
        spec(
            a={
                "type": "array",
                "maxItems": 3,
                "items": {**TEXT, "x-kubernetes-validations": [{"rule": "self == oldSelf"}]},
            }
        ),
    ),
    definition(
        "Told",
        {
            "type": "object",
            "properties": {"spec": PARTS},
            "x-kubernetes-validations": [
                {"rule": "self.metadata.name.size() < 5 && self.spec.x == 'a'"},
                {"rule": "self.metadata.labels.size() > 1"},
            ],
        },
    ),
]
