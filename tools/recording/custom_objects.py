"""Objects that people get wrong, one way at a time."""

from typing import Any

from tools.recording.custom_cases import ITEM, MAP, PARTS, TEXT, definition, obj, spec

Json = Any


def _each(*values: Json) -> tuple[Json, ...]:
    return values


_EVERYTHING = definition(
    "Every",
    spec(
        s={"type": "string", "maxLength": 5, "minLength": 2, "pattern": "^a"},
        e={"type": "string", "enum": ["a", "b"]},
        n={"type": "integer", "enum": [1, 2]},
        i={"type": "integer", "minimum": 1, "maximum": 5.5, "multipleOf": 2},
        x={"type": "integer", "minimum": 1, "exclusiveMinimum": True},
        f={"type": "number", "maximum": 2.5, "exclusiveMaximum": True, "multipleOf": 0.5},
        b={"type": "boolean"},
        o={"type": "object", "required": ["p", "q"], "properties": {"p": {"type": "string"}}},
        m={
            "type": "object",
            "maxProperties": 2,
            "minProperties": 1,
            "additionalProperties": {"type": "integer"},
        },
        l={"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string"}},
        t={"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        k={**MAP, "items": ITEM},
        y={"x-kubernetes-int-or-string": True},
        u={"x-kubernetes-preserve-unknown-fields": True},
        z={"type": "object", "additionalProperties": False},
        a={"type": "object", "additionalProperties": True},
        w={"type": "string", "nullable": True},
        d={"type": "string", "default": "d"},
        g={"type": "object", "default": {}, "properties": {"h": {"type": "integer", "default": 3}}},
        r={
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        v={
            "type": "object",
            "oneOf": [{"required": ["a"]}, {"required": ["b", "c"]}],
            "properties": {n: {"type": "string"} for n in "abc"},
        },
        c={
            "type": "object",
            "anyOf": [
                {"properties": {"a": {"enum": ["x"]}}},
                {"properties": {"a": {"minLength": 4}}},
            ],
            "not": {"required": ["b"]},
            "allOf": [{"maxProperties": 1}],
            "properties": {n: {"type": "string"} for n in "ab"},
        },
        **{
            f"form{index}": {"type": "string", "format": form}
            for index, form in enumerate(
                (
                    "date-time",
                    "date",
                    "ipv4",
                    "uri",
                    "email",
                    "byte",
                    "uuid",
                    "duration",
                    "odd",
                    "hostname",
                    "cidr",
                    "mac",
                )
            )
        },
    ),
)
_POD: Json = {"apiVersion": "v1", "kind": "Pod"}


def _every(*bodies: Json) -> list[Json]:
    return [obj("Every", body) for body in bodies]


_SCALED = definition(
    "Scaled",
    {
        "type": "object",
        "properties": {
            "spec": PARTS | {"x-kubernetes-preserve-unknown-fields": True},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
    subresources={
        "scale": {
            "specReplicasPath": ".spec.n.m",
            "statusReplicasPath": ".status.n",
            "labelSelectorPath": ".status.s",
        }
    },
)
_RULED = definition(
    "Ruled",
    {
        "type": "object",
        "x-kubernetes-validations": [
            {"rule": "self.metadata.name != 'two'", "message": "bad name", "fieldPath": ".spec.a"},
            {"rule": "has(self.spec) && self.kind == 'Ruled'"},
        ],
        "properties": {
            "spec": {
                "type": "object",
                "x-kubernetes-validations": [
                    {
                        "rule": "!has(self.a) || self.a != 'x'",
                        "messageExpression": "'a is ' + self.a",
                    },
                    {"rule": "self.l[0] == 1", "reason": "FieldValueForbidden"},
                    {"rule": "self.m['k'] > 1", "message": " spaced  ", "fieldPath": ".m.k"},
                ],
                "properties": {
                    "a": {
                        **TEXT,
                        "x-kubernetes-validations": [
                            {"rule": "self.size() < 4", "reason": "FieldValueDuplicate"},
                            {
                                "rule": "self != 'bad'",
                                "messageExpression": "string(1 / (self.size() - 3))",
                            },
                        ],
                    },
                    "l": {
                        "type": "array",
                        "maxItems": 5,
                        "items": {
                            "type": "integer",
                            "x-kubernetes-validations": [{"rule": "10 / self > 1"}],
                        },
                    },
                    "m": {
                        "type": "object",
                        "maxProperties": 3,
                        "additionalProperties": {
                            "type": "integer",
                            "x-kubernetes-validations": [{"rule": "self < 5"}],
                        },
                    },
                    "d": {
                        "type": "string",
                        "format": "date-time",
                        "x-kubernetes-validations": [
                            {"rule": "self > timestamp('2020-01-01T00:00:00Z')"}
                        ],
                    },
                    "p": {
                        "x-kubernetes-int-or-string": True,
                        "x-kubernetes-validations": [
                            {"rule": "type(self) == int ? self > 1 : self == 'a'"}
                        ],
                    },
                    "namespace": TEXT,
                    "e": {
                        "type": "object",
                        "x-kubernetes-embedded-resource": True,
                        "x-kubernetes-preserve-unknown-fields": True,
                        "x-kubernetes-validations": [{"rule": "self.metadata.name == 'x'"}],
                    },
                },
            }
        },
    },
)

OBJECTS: list[tuple[Json, list[Json]]] = [
    (
        _EVERYTHING,
        [
            *_every(
                *(
                    {"s": v}
                    for v in _each(
                        "a", "b", "abcdef", "äää", "aé", "abc", 5, None, [], {}, True, 1.5
                    )
                ),
                *({"e": v} for v in _each("a", "c", 97, 1, None, "", ["a"])),
                *({"n": v} for v in _each(1, 3, 1.0, 1.5, 2.5, "1", True)),
                *({"i": v} for v in _each(0, 3, 4, 6, 7, 4.0, 2.5, "4", 1e30, 10**19, -(10**18))),
                *({"x": v} for v in _each(1, 2, 1.5)),
                *({"f": v} for v in _each(2, 2.5, 3, 0.3, 1.5, 1e-7, "1", 2.0)),
                *({"b": v} for v in _each(True, "true", 1, None)),
                *({"o": v} for v in _each({}, {"p": "a"}, {"p": 1, "q": 1}, [], "x", None)),
                *(
                    {"m": v}
                    for v in _each(
                        {},
                        {"a": 1},
                        {"a": "x", "b": 2},
                        {"a": 1, "b": 2, "c": 3},
                        {"a": None},
                    )
                ),
                *({"l": v} for v in _each([], ["a"], ["a", 1], ["a", "b", "c"], [None], "a")),
                *(
                    {"t": v}
                    for v in _each(["a", "b"], ["a", "a"], ["a", "a", "a", "b", "b"], [1, 1])
                ),
                *(
                    {"k": v}
                    for v in _each(
                        [{"k": "a"}],
                        [{"k": "a"}, {"k": "a"}],
                        [{}],
                        [{"k": "a", "z": 1}],
                        ["a"],
                    )
                ),
                *({"y": v} for v in _each(1, "a", 1.5, True, None, [])),
                *({"u": v} for v in _each(1.0, None, {"a": {"b": 1.0}}, [None, {"x": None}])),
                *({"z": v} for v in _each({}, {"a": 1})),
                *(
                    {"a": v}
                    for v in _each({"b": 1}, {"b": {"c": 1}}, {"b": [{"c": 1}, [{"d": 1}]]})
                ),
                *({"w": v} for v in _each(None, "a", 1)),
                *({"d": v} for v in _each(None, "x", "")),
                *({"g": v} for v in _each(None, {}, {"h": 1}, {"h": None}, {"h": "x"}, {"zz": 1})),
                *(
                    {"v": v}
                    for v in _each({}, {"a": "x"}, {"a": "x", "b": "x", "c": "y"}, {"b": "x"}, "x")
                ),
                *(
                    {"c": v}
                    for v in _each(
                        {"a": "x"},
                        {"a": "y"},
                        {"a": "long"},
                        {"b": "y"},
                        {"a": "y", "b": "z"},
                    )
                ),
                *({f"form{n}": v} for n in range(12) for v in _each("", "zz", 5)),
                *(
                    {f"form{n}": v}
                    for n, v in enumerate(
                        (
                            "2024-01-02T03:04:05Z",
                            "2024-01-02",
                            "1.2.3.4",
                            "http://x",
                            "a@b.c",
                            "YQ==",
                            "123e4567-e89b-12d3-a456-426614174000",
                            "5s",
                            "odd",
                            "a.b",
                            "10.0.0.0/8",
                            "00:11:22:33:44:55",
                        )
                    )
                ),
                {"form0": True},
                {"form1": ["x"]},
                None,
                [],
                "x",
                {"unknown": 1, "o": {"p": "a", "q": 1, "r": 2}, "k": [{"k": "a", "z": 1}]},
                *(
                    {"r": v}
                    for v in _each(
                        {},
                        _POD,
                        {
                            **_POD,
                            "metadata": {"name": "A", "namespace": "B", "labels": {"a b": "c d"}},
                        },
                        {**_POD, "metadata": {"name": "a/b", "foo": 1, "finalizers": ["x y"]}},
                        {**_POD, "metadata": None, "spec": {"x": None}},
                        {**_POD, "metadata": {"labels": {"a": 1}}},
                        {
                            **_POD,
                            "metadata": {
                                "creationTimestamp": None,
                                "generation": 0,
                                "ownerReferences": [{}],
                            },
                        },
                        {**_POD, "metadata": []},
                        {"apiVersion": "a/b/c", "kind": "a_b"},
                        {"apiVersion": "", "kind": ""},
                        {"apiVersion": 1, "kind": "Pod"},
                        [],
                    )
                ),
            ),
            {**obj("Every", {"unknown": 1, "o": {"zz": 1}}), "query": "&fieldValidation=Strict"},
            {**obj("Every", {"unknown": 1}, zz=1, status={}), "query": "&fieldValidation=Strict"},
            {**obj("Every", {"unknown": 1}, zz=1), "query": "&fieldValidation=Ignore"},
            {
                **obj("Every", {"r": {**_POD, "metadata": {"foo": 1}}}),
                "query": "&fieldValidation=Strict",
            },
            *(
                {**obj("Every", {}), "metadata": metadata}
                for metadata in _each(
                    {"name": "A_b"},
                    {"name": "one", "labels": {"a": 1}},
                    {"name": "one", "labels": {"a": None}, "annotations": {}, "foo": 1},
                    {"name": "one", "labels": []},
                    {"name": "one", "generation": "x"},
                    {"name": "one", "generation": 7},
                    {"name": "one", "creationTimestamp": "x"},
                    {"name": "one", "creationTimestamp": "2020-01-01T00:00:00+02:00"},
                    {"name": "one", "ownerReferences": [{"kind": 1}]},
                    {"name": "one", "ownerReferences": [{"foo": 1}]},
                    {"name": "one", "finalizers": ["a", "b.c", "d/e", "orphan", "x y"]},
                    {"name": "one", "finalizers": ["a", "b.c", "d/e", "orphan"]},
                    {"name": "one", "finalizers": [1]},
                    [],
                    "x",
                )
            ),
        ],
    ),
    (
        _SCALED,
        [
            obj("Scaled", {"n": {"m": v}})
            for v in _each(1, -1, 2**31, 1.0, "x", None, True, [1], {"a": "b"})
        ]
        + [obj("Scaled", {"n": v}) for v in _each(1, "x", [], None)]
        + [
            obj("Scaled", {}, status=v)
            for v in _each({"n": -1}, {"n": "x"}, {"s": 5}, {"s": "a=b"}, {})
        ],
    ),
    (
        _RULED,
        [
            obj("Ruled", body)
            for body in (
                {"l": [1], "m": {"k": 2}},
                {"a": "x", "l": [1], "m": {"k": 2}},
                {"a": "long", "l": [2], "m": {"k": 1}},
                {"a": "bad", "l": [], "m": {}},
                {"a": "abcd", "l": [1, 0, 20], "m": {"k": 2, "j": 9}},
                {"l": [1], "m": {"k": 2}, "d": "2000-01-01T00:00:00Z"},
                {"l": [1], "m": {"k": 2}, "d": "x"},
                {"l": [1], "m": {"k": 2}, "p": 1},
                {"l": [1], "m": {"k": 2}, "p": "b"},
                {"l": [1], "m": {"k": 2}, "e": {**_POD, "metadata": {"name": "y"}}},
                {"l": [1], "m": {"k": 2}, "e": _POD},
                {"l": ["x"], "m": {"k": 2}},
                None,
            )
        ]
        + [{**obj("Ruled", {"l": [1], "m": {"k": 2}}), "metadata": {"name": "two"}}],
    ),
]
