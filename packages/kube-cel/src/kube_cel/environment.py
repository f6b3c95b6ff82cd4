"""
Environments: the variables, object types and functions an expression can use.

An `Environment` is immutable; `extend` returns a larger one and shares the types derived so far.
There are two to start from: `Environment.kro()`, with the functions of the kro library, and
`Environment.rules()`, for validation rules of the API server.

Types are derived from OpenAPI schemas, and lazily: a Deployment has thousands of fields, an
expression reads three of them. The type of a schema is derived when a field of its parent is looked
up. Its name appears in messages: `__type_<variable>`, then the escaped property names, `@idx` for
the elements of a list, `@elem` for the values of a map.
"""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from kube_cel.escaping import RESERVED_WORDS, escape, unescape
from kube_cel.signatures import (
    KRO_TABLES,
    KRO_TABLES_AFTER_MACRO,
    RULES_TABLES,
    Overload,
    read_tables,
)
from kube_cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    list_of,
    map_of,
    object_of,
    optional_of,
)

__all__ = ["Environment", "Library", "ObjectDeclaration", "Profile", "Schema", "escape", "unescape"]

Schema = dict[str, Any]

TYPE_NAME_PREFIX = "__type_"
CONDITION = object_of("kro.run.Condition")
RUNTIME = object_of("kro.run.Runtime")

INT_OR_STRING = "x-kubernetes-int-or-string"
PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
EMBEDDED_RESOURCE = "x-kubernetes-embedded-resource"

_EMPTY: Mapping[str, Any] = MappingProxyType({})

_SCALARS = {"boolean": BOOL, "number": DOUBLE, "integer": INT}
_STRING_FORMATS = {
    "byte": BYTES,
    "duration": DURATION,
    "date": TIMESTAMP,
    "date-time": TIMESTAMP,
}

# Names of types that are values: `type(x) == int`.
_TYPE_NAMES = {
    **{one.kind: one for one in (BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT)},
    **{one.kind: one for one in (DURATION, TIMESTAMP, Type("type"))},
    "list": list_of(DYN),
    "map": map_of(DYN, DYN),
    "optional_type": optional_of(DYN),
    "net.IP": object_of("net.IP"),
    "net.CIDR": object_of("net.CIDR"),
}

# `Environment.kro()` with schemas knows two more, and names what they hold differently.
_ANY = object_of("any")
_TYPE_NAMES_BESIDE_SCHEMAS = {
    "duration": DURATION,
    "timestamp": TIMESTAMP,
    "list": list_of(_ANY),
    "map": map_of(_ANY, _ANY),
}

_STRING_SCHEMA: Schema = {"type": "string"}
_CONDITION_SCHEMA: Schema = {
    "type": "object",
    "properties": dict.fromkeys(("type", "status", "reason", "message"), _STRING_SCHEMA),
}

_TypedCall = tuple[str, bool, tuple[Type, ...]]  # name, has a receiver, arguments

_MAX_CACHED_RESULTS = 10_000


class Library:
    """
    The functions of a profile, found by how they are called.

    `results` holds what calls returned whose argument types name no object: those are the
    same in all environments, few, and most of all calls.
    """

    __slots__ = ("_by_call", "functions", "results")

    def __init__(self, functions: Mapping[str, tuple[Overload, ...]]) -> None:
        self.functions = functions
        self.results: dict[_TypedCall, Type] = {}
        self._by_call: dict[tuple[str, bool, int], list[Overload]] = {}
        for overloads in functions.values():
            for one in overloads:
                call = (one.function, one.is_member, len(one.parameters))
                self._by_call.setdefault(call, []).append(one)

    def candidates(self, function: str, is_member: bool, count: int) -> list[Overload]:
        """List the overloads with that name, style and number of arguments, receiver included."""
        return self._by_call.get((function, is_member, count), [])

    def remember(self, call: _TypedCall, result: Type) -> None:
        """Keep a result for the next time, if it holds everywhere."""
        is_general = not result.is_open and not any(map(_depends, call[2]))
        if is_general and len(self.results) < _MAX_CACHED_RESULTS:
            self.results[call] = result


def _depends(examined: Type) -> bool:
    """Return whether a type means something in one environment or expression only."""
    return examined.name != "" or any(map(_depends, examined.parameters))


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """
    In what the two environments differ.

    `Environment.kro()` reads unknown fields as dyn and lets literals mix types. The API server's
    rules do neither, have no `cel.bind`, and check `format` by an older string library.
    `library_after_macro` is in force in an expression's first macro and after it.
    """

    library: Library
    library_after_macro: Library
    type_names: Mapping[str, Type]
    type_names_beside_schemas: Mapping[str, Type]
    exposes_unknown_fields: bool
    mixes_literals: bool
    has_bindings: bool
    strings_version: int


class ObjectDeclaration:
    """
    An object type: which fields it has.

    `name` is the type's name, `schema` what it was made from, `preserves_unknown` whether
    fields not declared are dyn instead of a mistake.
    """

    __slots__ = ("_declared", "_fields", "_types", "name", "preserves_unknown", "schema")

    def __init__(self, name: str, schema: Schema, types: "SchemaTypes") -> None:
        self.name = name
        self.schema = schema
        self.preserves_unknown = types.exposes_unknown and schema.get(PRESERVE_UNKNOWN) is True
        self._types = types
        self._declared: dict[str, Type | None] = {}
        self._fields: dict[str, Type] | None = None

    @property
    def properties(self) -> Mapping[str, Schema]:
        """The schemas of the properties, by their own (not escaped) names."""
        return self.schema.get("properties") or _EMPTY

    @property
    def fields(self) -> Mapping[str, Type]:
        """All declared fields by escaped name, in the order of the schema."""
        if self._fields is None:
            names = [name for name in map(escape, self.properties) if name is not None]
            typed = ((name, self.declared(name)) for name in names)
            self._fields = {name: found for name, found in typed if found is not None}
        return self._fields

    def find(self, name: str) -> Type | None:
        """Find the type of a field as an author may write it, or None if there is none."""
        found = self.declared(name)
        if found is None and name in RESERVED_WORDS:
            found = self.declared(f"__{name}__")
        if found is None and self.preserves_unknown:
            return DYN
        return found

    def declared(self, name: str) -> Type | None:
        """Find the type of a declared field by its escaped name."""
        try:
            return self._declared[name]
        except KeyError:
            schema = self.schema_of(name)
            found = None if schema is None else self._types.derive(schema, f"{self.name}.{name}")
            self._declared[name] = found
            return found

    def schema_of(self, name: str) -> Schema | None:
        """Find the schema of a field by its escaped name."""
        plain = unescape(name)
        if plain is None or escape(plain) != name:
            return None
        return self.properties.get(plain)


class SchemaTypes:
    """The types derived from one schema so far: of its root, and of fields that were looked up."""

    __slots__ = ("declarations", "exposes_unknown", "root", "schema")

    def __init__(self, name: str, schema: Schema, *, exposes_unknown: bool = True) -> None:
        self.schema = schema
        self.exposes_unknown = exposes_unknown
        self.declarations: dict[str, ObjectDeclaration] = {}
        self.root = self.derive(schema, name)

    def derive(self, schema: Schema, name: str) -> Type | None:
        """Make the type of a schema, or None where expressions cannot see such a value."""
        if schema.get(INT_OR_STRING) is True or schema.get("format") == "int-or-string":
            return DYN
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = kind[0] if kind else None
        match kind if isinstance(kind, str) else "":
            case "object":
                additional = schema.get("additionalProperties")
                if isinstance(additional, dict):
                    value = self.derive(additional, f"{name}.@elem")
                    if value is None and not self.exposes_unknown:
                        return None
                    return map_of(STRING, value or DYN)
                if schema.get(EMBEDDED_RESOURCE) is True:
                    # Add what every embedded resource has, unless all of it is declared.
                    properties = schema.get("properties") or {}
                    metadata = properties.get("metadata") or {}
                    named = (metadata.get("properties") or {}).keys() >= {"name", "generateName"}
                    if named and {"apiVersion", "kind"} <= properties.keys():
                        schema = schema
                    else:
                        names = {"name": _STRING_SCHEMA, "generateName": _STRING_SCHEMA}
                        added = {
                            "apiVersion": _STRING_SCHEMA,
                            "kind": _STRING_SCHEMA,
                            "metadata": {"type": "object", "properties": names},
                        }
                        schema = {**schema, "properties": {**properties, **added}}
                self.declarations[name] = ObjectDeclaration(name, schema, self)
                return object_of(name)
            case "array":
                items = schema.get("items")
                element = self.derive(items, f"{name}.@idx") if isinstance(items, dict) else None
                return None if element is None else list_of(element)
            case "string":
                return _STRING_FORMATS.get(schema.get("format", ""), STRING)
            case kind:
                return _SCALARS.get(kind)

    def find(self, name: str) -> Type | None:
        """Find a type by its full name, making the types on the way."""
        found = self.root
        for step in name.split(".")[1:]:
            if found is None:
                return None
            if found.kind == "object":
                found = self.declarations[found.name].declared(step)
            elif found.parameters and step in ("@idx", "@elem"):
                found = found.parameters[-1]
            else:
                return None
        return found


# A kind's schema is the same dict wherever the kind is used, so its types are derived once.
_MAX_SHARED_TYPES = 1024
_SHARED_TYPES: dict[tuple[str, int, bool], SchemaTypes] = {}


def _schema_types(name: str, schema: Schema, exposes_unknown: bool) -> SchemaTypes:
    key = (name, id(schema), exposes_unknown)  # the value keeps the schema alive
    found = _SHARED_TYPES.get(key)
    if found is None:
        if len(_SHARED_TYPES) >= _MAX_SHARED_TYPES:
            _SHARED_TYPES.clear()
        found = SchemaTypes(name, schema, exposes_unknown=exposes_unknown)
        _SHARED_TYPES[key] = found
    return found


def _type_roots(examined: Type) -> Iterator[str]:
    if examined.name:
        yield examined.name.partition(".")[0]
    for parameter in examined.parameters:
        yield from _type_roots(parameter)


class Environment:
    """The declared variables and object types, and the functions of a profile."""

    __slots__ = ("_schema_types", "profile", "variables")

    def __init__(
        self,
        profile: Profile,
        variables: Mapping[str, Type],
        schema_types: Mapping[str, SchemaTypes],
    ) -> None:
        self.profile = profile
        self.variables = variables
        self._schema_types = schema_types  # by the first part of the type names they made

    @staticmethod
    @cache
    def kro() -> "Environment":
        """Return the environment with the kro library; the same object each time."""
        profile = Profile(
            Library(read_tables(KRO_TABLES)),
            Library(read_tables(KRO_TABLES_AFTER_MACRO)),
            type_names={**_TYPE_NAMES, CONDITION.name: CONDITION},
            type_names_beside_schemas=_TYPE_NAMES_BESIDE_SCHEMAS,
            exposes_unknown_fields=True,
            mixes_literals=True,
            has_bindings=True,
            strings_version=5,
        )
        conditions = SchemaTypes(CONDITION.name, _CONDITION_SCHEMA)
        return Environment(profile, {"runtime": RUNTIME}, {"kro": conditions})

    @staticmethod
    @cache
    def rules() -> "Environment":
        """Return the functions of validation rules in a CRD; the same object each time."""
        library = Library(read_tables(RULES_TABLES))
        profile = Profile(
            library,
            library,
            type_names=_TYPE_NAMES,
            type_names_beside_schemas=_EMPTY,
            exposes_unknown_fields=False,
            mixes_literals=False,
            has_bindings=False,
            strings_version=2,
        )
        return Environment(profile, {}, {})

    @property
    def functions(self) -> Mapping[str, tuple[Overload, ...]]:
        """All overloads by function name, namespaces included: `hash.sha256`."""
        return self.profile.library.functions

    @property
    def type_names(self) -> Mapping[str, Type]:
        """The names of types that are values: `int`, `google.protobuf.Duration`."""
        names = self.profile.type_names
        if any(name.startswith(TYPE_NAME_PREFIX) for name in self._schema_types):
            return {**names, **self.profile.type_names_beside_schemas}
        return names

    def extend(
        self,
        schemas: Mapping[str, Schema] = _EMPTY,
        types: Mapping[str, Type] = _EMPTY,
    ) -> "Environment":
        """
        Return an environment with more variables, by schema or by type; replaces existing ones.

        A variable whose schema has no type (only preserve-unknown-fields) is not declared.
        """
        variables = {**self.variables}
        schema_types = {**self._schema_types}
        for variable, schema in schemas.items():
            name = f"{TYPE_NAME_PREFIX}{variable}"
            made = _schema_types(name, schema, self.profile.exposes_unknown_fields)
            schema_types[name] = made
            if made.root is not None:
                variables[variable] = made.root
        variables.update(types)
        return Environment(self.profile, variables, schema_types)

    def types_of(self, variables: Iterable[str]) -> tuple[Hashable, ...]:
        """
        Return a key that is equal only for environments in which variables have the same types.

        An expression that uses no other variables compiles to the same program in all of them.
        """
        has_schemas = any(name.startswith(TYPE_NAME_PREFIX) for name in self._schema_types)
        found: list[Hashable] = [self.profile, has_schemas]
        for name in variables:
            declared = self.variables.get(name)
            found += (name, declared, self._schema_types.get(f"{TYPE_NAME_PREFIX}{name}"))
            if declared is not None:  # an element of a list has a type of the list's schema
                found += (self._schema_types.get(root) for root in _type_roots(declared))
        return tuple(found)

    def schema_of(self, variable: str) -> Schema | None:
        """Return the schema a variable was declared with."""
        found = self._schema_types.get(f"{TYPE_NAME_PREFIX}{variable}")
        return found.schema if found is not None else None

    def fields(self, owner: Type) -> ObjectDeclaration | None:
        """Return what is known of an object type; None for opaque types and for others."""
        if owner.kind != "object":
            return None
        types = self._schema_types.get(owner.name.partition(".")[0])
        return types.declarations.get(owner.name) if types is not None else None

    def find_type(self, name: str) -> Type | None:
        """Find a type made from a schema by its full name, `__type_pod.spec.containers.@idx`."""
        types = self._schema_types.get(name.partition(".")[0])
        return types.find(name) if types is not None else None
