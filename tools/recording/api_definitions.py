"""Custom kinds whose documents show all that definitions can ask for."""

from tools.recording.definitions import OBJECT, Json, definition, version

RICH: Json = {
    "type": "object",
    "description": "A widget & a <thing>.",
    "required": ["spec"],
    "x-kubernetes-validations": [{"rule": "has(self.spec)", "message": "no spec"}],
    "externalDocs": {"url": "https://example.com"},
    "properties": {
        "apiVersion": {"type": "string"},
        "metadata": {"type": "object", "properties": {"name": {"type": "string"}}},
        "spec": {
            "type": "object",
            "title": "The spec",
            "example": {"a": 1},
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "format": "int32", "minimum": 0, "default": 3},
                "ratio": {"type": "number", "exclusiveMinimum": True, "minimum": 0.5},
                "color": {"type": "string", "enum": ["red"], "nullable": True, "minLength": 0},
                "any": {"x-kubernetes-preserve-unknown-fields": True, "nullable": False},
                "port": {"x-kubernetes-int-or-string": True},
                "quantity": {
                    "x-kubernetes-int-or-string": True,
                    "anyOf": [{"type": "integer"}, {"type": "string"}],
                    "pattern": "^[0-9]+$",
                },
                "strange": {"x-kubernetes-int-or-string": True, "anyOf": [{"pattern": "^1"}]},
                "list": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}},
                    },
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}},
                "open": {"type": "object", "additionalProperties": True},
                "inner": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                    "required": ["kind"],
                },
                "one": {
                    "type": "object",
                    "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                    "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                    "not": {"required": ["a", "b"]},
                    "allOf": [{"properties": {"a": {"minLength": 2}}}],
                },
            },
        },
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    },
}


SCALE = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
DEFINITIONS = (
    definition(
        "g.example.com",
        "Namespaced",
        {
            "plural": "widgets",
            "kind": "Widget",
            "shortNames": ["wi", "w"],
            "categories": ["all", "things"],
        },
        version(
            "v1",
            RICH,
            storage=True,
            subresources={"status": {}, "scale": SCALE},
            selectableFields=[{"jsonPath": ".spec.color"}],
        ),
        version("v1beta1", {**OBJECT, "x-kubernetes-preserve-unknown-fields": True}),
        version("v1alpha1", served=False),
    ),
    definition(
        "g.example.com",
        "Cluster",
        {"plural": "anvils", "kind": "Anvil", "singular": "ambos"},
        version("v1", storage=True, subresources={"status": {}}),
    ),
    definition(
        "gv.k8s.example.com",
        "Namespaced",
        {"plural": "glasses", "kind": "Glasses", "listKind": "GlassesCollection"},
        version("v1"),
        version("v2", storage=True),
        *(version(each) for each in ("v10", "v11beta1", "v3alpha2", "zoo", "bar")),
    ),
)
