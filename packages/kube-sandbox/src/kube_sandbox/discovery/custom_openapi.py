"""
The OpenAPI document of a group and version of custom kinds.

Made as a real API server makes it: each kind's schema with what every object has, its list, and
an operation for everything that can be asked. What all such documents share — parameters,
components of the meta group — is given as data read from a real one.

Follows kubernetes 1.35 k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder/builder.go
BuildOpenAPIV3, builder.buildKubeNative, builder.buildRoute.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from kube_objects.refs import Kind
from kube_objects.schemas import Schema
from kube_sandbox.registry.kinds import Served

Json = dict[str, Any]

_REF = "#/components/schemas/"
_META = "io.k8s.apimachinery.pkg.apis.meta.v1."
_AUTOSCALING = "io.k8s.api.autoscaling."
_SCALE = f"{_AUTOSCALING}v1.Scale"
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]

# What is published of a schema, besides the schemas in it.
_KEPT = (
    *("type", "nullable", "description", "title", "default", "format", "pattern", "enum"),
    *("maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "multipleOf", "uniqueItems"),
    *("maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"),
    *("required", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
    *("x-kubernetes-int-or-string", "x-kubernetes-list-map-keys", "x-kubernetes-list-type"),
    *("x-kubernetes-map-type", "x-kubernetes-validations"),
)
_DROPPED_IF_FALSE = frozenset(
    (
        *("nullable", "exclusiveMaximum", "exclusiveMinimum", "uniqueItems"),
        *("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"),
        "x-kubernetes-int-or-string",
    )
)
_DROPPED_IF_EMPTY: tuple[Any, ...] = ("", [], None)

_LIST_OPTIONS = (
    *("allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit"),
    *("resourceVersion", "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch"),
)
_WRITE_OPTIONS = ("dryRun", "fieldManager", "fieldValidation")
_PARAMETERS: Mapping[str, tuple[str, ...]] = {
    "list": _LIST_OPTIONS,
    "deletecollection": _LIST_OPTIONS,
    "get": ("resourceVersion",),
    "post": _WRITE_OPTIONS,
    "put": _WRITE_OPTIONS,
    "patch": (*_WRITE_OPTIONS, "force"),
    "delete": (
        *("dryRun", "gracePeriodSeconds", "ignoreStoreReadErrorWithClusterBreakingPotential"),
        *("orphanDependents", "propagationPolicy"),
    ),
}
_OK, _CREATED, _ACCEPTED = (200, "OK"), (201, "Created"), (202, "Accepted")
_RESPONSES: Mapping[str, tuple[tuple[int, str], ...]] = {
    "post": (_OK, _CREATED, _ACCEPTED),
    "put": (_OK, _CREATED),
    "delete": (_OK, _ACCEPTED),
}
_MEDIA_TYPES = ("application/json", "application/yaml")
_PATCHES = (
    *("application/apply-patch+yaml", "application/json-patch+json"),
    "application/merge-patch+json",
)
# Method, action, and the verb that names and describes the operation.
_COLLECTION = (
    ("get", "list", "list"),
    ("post", "post", "create"),
    ("delete", "deletecollection", "deletecollection"),
)
_OBJECT = (
    ("get", "get", "read"),
    ("put", "put", "replace"),
    ("delete", "delete", "delete"),
    ("patch", "patch", "patch"),
)
_PART = tuple(each for each in _OBJECT if each[0] != "delete")


@dataclass(frozen=True, slots=True)
class SharedDefinitions:
    """What documents of custom kinds have in common."""

    openapi: str
    info: Json
    parameters: Mapping[str, Json]  # by name, or by method and name
    components: Mapping[str, Json]
    fields: Mapping[str, Json]  # of every object: apiVersion, kind, metadata
    embedded: Mapping[str, Json]  # the same of an object within an object
    list: Json  # the metadata of a list


def document(
    kinds: Sequence[Served], common: SharedDefinitions, selectable: Mapping[Served, Iterable[str]]
) -> Json:
    """Return the document of custom kinds of one group and version."""
    paths: Json = {}
    schemas: Json = {}
    for served in kinds:
        paths |= _Paths(served, common).all()
        kind = served.kind
        group_version = {"group": kind.group, "version": kind.version}
        fields = [{"fieldPath": each.removeprefix(".")} for each in selectable.get(served, ())]
        more = {"x-kubernetes-selectable-fields": fields} if fields else {}
        schema = published(served.schema, common.embedded)
        # An object without any schema has no named fields: clients would take them for all.
        if served.schema:
            schema["properties"] = {**schema.get("properties", {}), **common.fields}
        else:
            schema = {"type": "object"}
        schema["x-kubernetes-group-version-kind"] = [group_version | {"kind": kind.kind}]
        items = {
            "description": f"List of {served.plural}. More info: https://git.k8s.io/community/"
            "contributors/devel/sig-architecture/api-conventions.md",
            "type": "array",
            "items": {"$ref": _REF + model_name(kind)},
        }
        names = {name: common.fields[name] for name in ("apiVersion", "kind")}
        of_list = {
            "description": f"{served.list_name} is a list of {kind.kind}",
            "type": "object",
            "required": ["items"],
            "properties": names | {"items": items, "metadata": common.list},
            "x-kubernetes-group-version-kind": [group_version | {"kind": served.list_name}],
        }
        list_kind = Kind(kind.group, kind.version, served.list_name)
        schemas |= {model_name(kind): schema | more, model_name(list_kind): of_list | more}
    has_scale = any("scale" in served.subresources for served in kinds)
    shared = {
        name: schema
        for name, schema in common.components.items()
        if has_scale or not name.startswith(_AUTOSCALING)
    }
    return {
        "openapi": common.openapi,
        "info": common.info,
        "paths": dict(sorted(paths.items())),
        "components": {"schemas": dict(sorted((schemas | shared).items()))},
    }


def model_name(kind: Kind) -> str:
    """Name a component: `com.example.g.v1.Widget`."""
    return ".".join((*reversed(kind.group.split(".")), kind.version, kind.kind))


def published(schema: Schema, embedded: Mapping[str, Json]) -> Schema:
    """Return what is published of a structural schema."""
    found = _checks(schema)
    if schema.get("properties"):
        found["properties"] = {
            name: published(part, embedded) for name, part in schema["properties"].items()
        }
    for key in ("items", "additionalProperties"):
        part = schema.get(key)
        if part is not None and part is not False:
            found[key] = published(part, embedded) if isinstance(part, dict) else part
    if schema.get("x-kubernetes-int-or-string") is True:
        # Spell out that a number or a text may stand here, unless the schema does.
        conditions = found.get("allOf", [])
        if any(each.get("anyOf") == _INT_OR_STRING for each in (found, *conditions[:1])):
            both_types: Schema = {}
        elif "anyOf" not in found:
            both_types = {"anyOf": _INT_OR_STRING}
        else:
            both_types = {"allOf": [{"anyOf": _INT_OR_STRING}, *conditions]}
        found |= both_types
    if schema.get("x-kubernetes-embedded-resource") is True:
        found["properties"] = {**found.get("properties", {}), **embedded}
        required = found.get("required", [])
        missing = (name for name in ("kind", "apiVersion") if name not in required)
        found["required"] = [*required, *missing]
    return found


def _checks(schema: Schema) -> Schema:
    """Return what a schema says of a value itself, and the conditions on it."""
    found = {
        key: schema[key]
        for key in _KEPT
        if key in schema
        and schema[key] not in _DROPPED_IF_EMPTY
        and not (key in _DROPPED_IF_FALSE and schema[key] is False)
    }
    for key in ("allOf", "anyOf", "oneOf"):
        if schema.get(key):
            found[key] = [_condition(each) for each in schema[key]]
    if schema.get("not") is not None:
        found["not"] = _condition(schema["not"])
    return found


def _condition(schema: Schema) -> Schema:
    """Return a schema that only restricts what another describes."""
    found = _checks(schema)
    if schema.get("properties"):
        found["properties"] = {
            name: _condition(each) for name, each in schema["properties"].items()
        }
    if isinstance(schema.get("items"), dict):
        found["items"] = _condition(schema["items"])
    return found


class _Paths:
    """The operations of one kind."""

    def __init__(self, served: Served, common: SharedDefinitions) -> None:
        self._wait_served = served
        self._common = common
        self._kind = served.kind
        self._scope = "Namespaced" if served.namespaced else ""

    def all(self) -> Json:
        """Return the operations by path."""
        served, kind = self._wait_served, self._kind
        root = f"/apis/{kind.group}/{kind.version}"
        found: Json = {}
        if served.namespaced:
            listing = self._operation("list", "list", "", f"{self._kind.kind}ForAllNamespaces")
            parameters = (*listing.pop("parameters"), self._parameter("pretty"))
            names = sorted(parameters, key=itemgetter("name"))
            found[f"{root}/{served.plural}"] = {"get": listing, "parameters": names}
            root += "/namespaces/{namespace}"
        root = f"{root}/{served.plural}"
        found[root] = self._path(_COLLECTION, named=False)
        found[f"{root}/{{name}}"] = self._path(_OBJECT)
        for part in served.subresources:
            found[f"{root}/{{name}}/{part}"] = self._path(_PART, part)
        return found

    def _path(
        self, operations: Iterable[tuple[str, str, str]], part: str = "", *, named: bool = True
    ) -> Json:
        noun = f"{self._scope}{self._kind.kind}{part.title()}"
        found: Json = {
            method: self._operation(action, verb, part, noun) for method, action, verb in operations
        }
        names = [
            *(
                [self._parameter("name") | {"description": f"name of the {self._kind.kind}"}]
                if named
                else ()
            ),
            *([self._parameter("namespace")] if self._wait_served.namespaced else ()),
            self._parameter("pretty"),
        ]
        return found | {"parameters": names}

    def _operation(self, action: str, verb: str, part: str, noun: str) -> Json:
        kind = self._kind
        group = kind.group.removesuffix(".k8s.io")
        prefix, rest = ("delete", "Collection") if verb == "deletecollection" else (verb, "")
        place = _camel(group, capital=True) + _camel(kind.version, capital=True)
        found: Json = {
            "tags": [f"{_camel(group)}_{_camel(kind.version)}"],
            "description": self._description(verb, part),
            "operationId": f"{prefix}{place}{rest}{noun}",
            "parameters": [self._parameter(name, action) for name in _PARAMETERS[action]],
        }
        match action:
            case "post" | "put":
                body: Json = {"content": _content(self._answer(action, part)), "required": True}
            case "patch":
                body = {"content": _content(f"{_META}Patch", _PATCHES), "required": True}
            case "delete":
                body = {"content": _content(f"{_META}DeleteOptions")}
            case _:
                body = {}
        responses = {
            str(code): {"description": text, "content": _content(self._answer(action, part))}
            for code, text in _RESPONSES.get(action, (_OK,))
        }
        return found | {
            **({"requestBody": body} if body else {}),
            "responses": responses | {"401": {"description": "Unauthorized"}},
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": {
                "group": kind.group,
                "version": kind.version,
                "kind": kind.kind,
            },
        }

    def _description(self, verb: str, part: str) -> str:
        kind = self._kind.kind
        of_part = f" {part} of" if part else ""
        match verb:
            case "list":
                return f"list{of_part} objects of kind {kind}"
            case "patch":
                return f"partially update{of_part} the specified {kind}"
            case "deletecollection":
                return f"delete collection of {kind}"
            case "create" | "delete":
                if kind.endswith("s") and not kind.endswith("ss"):
                    article = " "  # a plural has none
                else:
                    article = " an " if kind[0].lower() in "aeiou" else " a "
                return f"{verb}{of_part}{article}{kind}"
            case _:
                return f"{verb}{of_part} the specified {kind}"

    def _answer(self, action: str, part: str) -> str:
        """Name the component that an operation answers with."""
        if action in ("delete", "deletecollection"):
            return f"{_META}Status"
        if part == "scale":
            return _SCALE
        kind = self._wait_served.list_name if action == "list" else self._kind.kind
        return model_name(Kind(self._kind.group, self._kind.version, kind))

    def _parameter(self, name: str, action: str = "") -> Json:
        parameters = self._common.parameters
        return parameters.get(f"{action} {name}") or parameters[name]


def _content(component: str, media_types: Iterable[str] = _MEDIA_TYPES) -> Json:
    return {each: {"schema": {"$ref": _REF + component}} for each in media_types}


def _camel(text: str, *, capital: bool = False) -> str:
    """Join words to a name as operations have them: `gExampleCom`."""
    found = ""
    for place, character in enumerate(text):
        if character.isalpha() or character == "_" or (place and character.isdigit()):
            found += character.upper() if capital else character
            capital = False
        else:
            capital = True
    return found
