"""
CustomResourceDefinitions of a repository, validated before definitions use their kinds.

The schema of a CRD describes schemas by themselves, without end; the built-in one stops after
the first level, so each level is validated separately.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from kube_objects.builtins.catalog import catalog
from kube_objects.paths import find
from kube_objects.problems import Path, Problem
from kube_objects.refs import Kind, KubeObject
from kube_objects.schemas import Schema
from kube_objects.validation import Checks, validate

_CRD = Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
_VERSIONS: Path = ("spec", "versions")
_SCHEMA: Path = ("schema", "openAPIV3Schema")
_ONE = ("items", "additionalProperties", "not")
_LISTED = ("allOf", "anyOf", "oneOf")


def check_crd(crd: KubeObject) -> Iterator[Problem]:
    """Yield everything in a CRD that has the wrong shape."""
    for problem in _shape_problems(crd):
        yield replace(problem, code="invalid-crd")


def _shape_problems(crd: KubeObject) -> Iterator[Problem]:
    served = catalog.schema_of(_CRD)
    assert served is not None
    yield from validate(crd, served.schema, Checks(built_in=True))
    fields = find(served.schema, ("properties", "spec", "properties", "versions", "items"))
    form: Schema = fields["properties"]["schema"]["properties"]["openAPIV3Schema"]
    versions = find(crd, _VERSIONS)
    for index in range(len(versions) if isinstance(versions, list) else 0):
        place = (*_VERSIONS, index, *_SCHEMA)
        for path, schema in _below(find(crd, place), place):
            yield from validate(schema, form, Checks(built_in=True, prefix=path))


def named_kinds(crd: KubeObject) -> Iterator[Kind]:
    """Yield the kinds that a CRD means to serve, as far as that can be read."""
    group, name = find(crd, ("spec", "group")), find(crd, ("spec", "names", "kind"))
    versions = find(crd, _VERSIONS)
    if isinstance(group, str) and isinstance(name, str) and isinstance(versions, list):
        for index in range(len(versions)):
            version = find(crd, (*_VERSIONS, index, "name"))
            if isinstance(version, str):
                yield Kind(group, version, name)


def _below(schema: Any, path: Path) -> Iterator[tuple[Path, Schema]]:
    """Walk the schemas inside a schema, at any depth."""
    if not isinstance(schema, dict):
        return
    for place, part in _parts(schema, path):
        if isinstance(part, dict):
            yield place, part
            yield from _below(part, place)


def _parts(schema: Schema, path: Path) -> Iterator[tuple[Path, Any]]:
    properties = schema.get("properties")
    if isinstance(properties, dict):
        for name, part in properties.items():
            yield (*path, "properties", name), part
    for key in _ONE:
        yield (*path, key), schema.get(key)
    for key in _LISTED:
        listed = schema.get(key)
        for index, part in enumerate(listed if isinstance(listed, list) else ()):
            yield (*path, key, index), part
