"""
Definitions and objects to try: tables of what people get wrong, and random ones.

`tools.recording.custom` asks a real API server what it makes of them. Random cases come from a
seed, so that a recording can be made again.
"""

import random
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from tools.recording import definitions

Json = Any
GROUP = "recorded.example.com"

STRINGS = ("", "a", "abc", "b-c", "A_b", "2024-01-02T03:04:05Z", "2024-01-02", "10.0.0.1", "x" * 12)
FORMATS = ("date-time", "date", "ipv4", "uri", "email", "byte", "uuid", "duration", "int-or-x")

# Parts of schemas.
TEXT: Json = {"type": "string", "maxLength": 10}
PARTS: Json = {"type": "object", "properties": {"x": {"type": "string", "maxLength": 5}}}
ITEM: Json = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}}}
MAP: Json = {
    "type": "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["k"],
}


def definition(kind: str, schema: Json, **more: Json) -> Json:
    """Make a definition with one version."""
    names = {"kind": kind, "plural": f"{kind.lower()}s"}
    stored = definitions.version("v1", schema, **{"storage": True, **more})
    return definitions.definition(GROUP, "Namespaced", names, stored)


def spec(**properties: Json) -> Json:
    """Make the schema of an object whose spec has fields."""
    return {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }


def obj(kind: str, body: Json, **more: Json) -> Json:
    """Make an object."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": kind,
        "metadata": {"name": "one"},
        "spec": body,
        **more,
    }


# Random schemas


class Random:
    """Makes schemas and values for them."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)

    def some(self, chance: float) -> bool:
        """Say yes sometimes."""
        return self.pick.random() < chance

    def schema(self, depth: int = 0) -> Json:
        """Make a part of a schema."""
        kinds = ["string"] * 3 + ["integer"] * 2 + ["number", "boolean", "both"]
        if depth < 3:
            kinds += ["object"] * 3 + ["array"] * 2 + ["map", "free"]
        part: Json = getattr(self, f"_{self.pick.choice(kinds)}")(depth)
        if self.some(0.1) and "x-kubernetes-list-type" not in part:
            part["nullable"] = True
        return part

    def _string(self, _depth: int) -> Json:
        part: Json = {"type": "string"}
        if self.some(0.2):
            part["enum"] = self.pick.sample(STRINGS, 3)
        if self.some(0.15):
            part["pattern"] = self.pick.choice(("^a", "b$", "^[a-z]*$"))
        if self.some(0.15):
            part["minLength"] = self.pick.randint(0, 3)
        if self.some(0.15):
            part["format"] = self.pick.choice(FORMATS)
        part["maxLength"] = self.pick.choice((2, 5, 30))
        if self.some(0.3):
            part["x-kubernetes-validations"] = [
                self._rule(
                    ("self.size() < 4", "self != 'abc'", "self == oldSelf", "self.startsWith('a')")
                )
            ]
        if self.some(0.2):
            part["default"] = self.pick.choice(part.get("enum") or ("a", "abc"))
        return part

    def _rule(self, texts: tuple[str, ...]) -> Json:
        rule: Json = {"rule": self.pick.choice(texts)}
        if self.some(0.4):
            rule["message"] = "is not as it should be"
        if self.some(0.2):
            rule["messageExpression"] = "'so it is not right'"
        if self.some(0.3):
            rule["reason"] = self.pick.choice(
                (
                    "FieldValueForbidden",
                    "FieldValueRequired",
                    "FieldValueInvalid",
                    "FieldValueDuplicate",
                )
            )
        if self.some(0.2) and "oldSelf" in rule["rule"]:
            rule["rule"] = rule["rule"].replace("oldSelf", "oldSelf.orValue(self)")
            rule["optionalOldSelf"] = True
        return rule

    def _integer(self, _depth: int) -> Json:
        part: Json = {"type": "integer"}
        if self.some(0.3):
            part["minimum"] = self.pick.choice((0, 2, -1.5))
        if self.some(0.3):
            part["maximum"] = self.pick.choice((3, 10, 7.5))
            if self.some(0.3):
                part["exclusiveMaximum"] = True
        if self.some(0.2):
            part["multipleOf"] = self.pick.choice((2, 3))
        if self.some(0.2):
            part["enum"] = [1, 2, 3]
        if self.some(0.2):
            part["default"] = self.pick.choice((1, 2, 6))
        if self.some(0.2):
            part["format"] = self.pick.choice(("int32", "int64"))
        if self.some(0.2):
            part["x-kubernetes-validations"] = [
                self._rule(("self > 2", "self >= oldSelf", "self % 2 == 0", "10 / self > 1"))
            ]
        return part

    def _number(self, _depth: int) -> Json:
        part: Json = {"type": "number"}
        if self.some(0.4):
            part["minimum"] = 0.5
            if self.some(0.4):
                part["exclusiveMinimum"] = True
        if self.some(0.3):
            part["multipleOf"] = self.pick.choice((0.5, 2))
        return part

    def _boolean(self, _depth: int) -> Json:
        return {"type": "boolean", **({"default": True} if self.some(0.2) else {})}

    def _both(self, _depth: int) -> Json:
        part: Json = {"x-kubernetes-int-or-string": True}
        if self.some(0.4):
            part["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        return part

    def _object(self, depth: int) -> Json:
        names = self.pick.sample("abcdef", self.pick.randint(1, 4))
        fields = {name: self.schema(depth + 1) for name in names}
        part: Json = {"type": "object", "properties": fields}
        if self.some(0.3):
            part["required"] = self.pick.sample(names, 1)
        if self.some(0.15):
            part["x-kubernetes-preserve-unknown-fields"] = True
        if self.some(0.1):
            part["maxProperties"] = 3
        if self.some(0.1):
            part["minProperties"] = 1
        if self.some(0.25):
            key = self.pick.choice(("oneOf", "anyOf", "allOf"))
            part[key] = [self._restriction(fields) for _ in range(2)]
        if self.some(0.1):
            part["not"] = {"required": [names[0]]}
        if self.some(0.2):
            rule = self._rule((f"has(self.{names[0]})", "self == oldSelf"))
            if self.some(0.3):
                rule["fieldPath"] = f".{names[0]}"
            part["x-kubernetes-validations"] = [rule]
        return part

    def _restriction(self, fields: Json) -> Json:
        name = self.pick.choice(list(fields))
        if self.some(0.5) or fields[name].get("type") != "string":
            return {"required": [name]}
        return {"properties": {name: {"enum": ["a", "abc"]}}}

    def _array(self, depth: int) -> Json:
        part: Json = {
            "type": "array",
            "maxItems": self.pick.choice((2, 5)),
            "items": self.schema(depth + 1),
        }
        if self.some(0.2):
            part["minItems"] = 1
        item = part["items"]
        if self.some(0.5) and item.get("type") in ("string", "integer") and "nullable" not in item:
            part["x-kubernetes-list-type"] = "set"
        elif item.get("type") == "object" and "properties" in item and "nullable" not in item:
            item["properties"]["k"] = {"type": "string", "maxLength": 5}
            item["required"] = ["k"]
            part["x-kubernetes-list-type"] = "map"
            part["x-kubernetes-list-map-keys"] = ["k"]
        return part

    def _map(self, depth: int) -> Json:
        part = self.schema(depth + 1)
        part.pop("default", None)
        return {"type": "object", "maxProperties": 4, "additionalProperties": part}

    def _free(self, _depth: int) -> Json:
        return {"x-kubernetes-preserve-unknown-fields": True}

    # Values

    def value(self, schema: Json) -> Json:
        """Make a value, right as a rule."""
        if self.some(0.04):
            return self.pick.choice((None, "zz", 1, 1.5, True, [], {}, {"q": 1}, ["zz"], 4.0))
        if "enum" in schema and self.some(0.8):
            return self.pick.choice(schema["enum"])
        match schema.get("type"):
            case "string":
                return self.pick.choice(STRINGS)
            case "integer":
                return self.pick.choice((-2, 0, 1, 2, 3, 6, 8))
            case "number":
                return self.pick.choice((0, 0.5, 1.25, 3, 2.0))
            case "boolean":
                return self.some(0.5)
            case "array":
                return [self.value(schema["items"]) for _ in range(self.pick.randint(0, 3))]
            case "object":
                return self._fields(schema)
            case _:
                return self.pick.choice((1, "a", 2.5, {"x": {"y": None}}, [1.0]))

    def _fields(self, schema: Json) -> Json:
        if "additionalProperties" in schema:
            keys = self.pick.sample("uvwx", self.pick.randint(0, 3))
            return {key: self.value(schema["additionalProperties"]) for key in keys}
        found = {
            name: self.value(part) for name, part in schema["properties"].items() if self.some(0.8)
        }
        if self.some(0.1):
            found["unknown"] = self.pick.choice((1, {"a": 1}, None))
        return found

    def changed(self, value: Json, schema: Json) -> Json:
        """Change a part of a value."""
        if isinstance(value, dict) and value and schema.get("type") == "object" and self.some(0.9):
            name = self.pick.choice(list(value))
            part = (schema.get("properties") or {}).get(name, schema.get("additionalProperties"))
            if isinstance(part, dict):
                return {**value, name: self.changed(value[name], part)}
        if isinstance(value, list) and value and schema.get("type") == "array" and self.some(0.8):
            index = self.pick.randrange(len(value))
            new = self.changed(value[index], schema["items"])
            return [*value[:index], new, *value[index + 1 :]]
        return self.value(schema)


def random_definition(seed: int) -> Json:
    """Make a definition."""
    make = Random(seed)
    body = make._object(0)
    schema: Json = {"type": "object", "properties": {"spec": body}}
    more: Json = {}
    if make.some(0.5):
        schema["properties"]["status"] = make._object(1)
        more["subresources"] = {"status": {}}
    return definition(f"Random{seed}", schema, **more)


def random_objects(crd: Json, seed: int, count: int) -> Iterator[tuple[Json, Json]]:
    """Make objects of a definition, and a change of each."""
    make = Random(seed * 1000 + 7)
    kind = crd["spec"]["names"]["kind"]
    schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    for _ in range(count):
        body = make.value(schema)
        yield obj(kind, body), obj(kind, make.changed(deepcopy(body), schema))


_WEAK = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def weakened(crd: Json) -> Json:
    """Return a definition that accepts anything, to store what the other one would not."""
    weak = deepcopy(crd)
    properties = {"spec": _WEAK, "status": _WEAK}
    weak["spec"]["versions"][0]["schema"] = {
        "openAPIV3Schema": {"type": "object", "properties": properties}
    }
    return weak
