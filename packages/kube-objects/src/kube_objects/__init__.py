"""
Kubernetes objects as plain data, and the rules that concern them.

Names of objects and kinds (`refs`), schemas (`schemas`, `builtins`, `crds`, `openapi`), YAML with
the position of every field (`documents`), validation as an API server does it (`validation`), label
selectors, status conditions, managed fields, and the text forms of Go.

An object is a dict (`KubeObject`), everything else a frozen dataclass. All functions are pure,
except that the catalogue of built-in kinds reads its own data files.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kube_objects.builtins.catalog import catalog
    from kube_objects.conditions import Condition, ConditionSet
    from kube_objects.crds import kinds_of_crd
    from kube_objects.documents import Document, LoadResult, load
    from kube_objects.errors import CodedError, InvalidError, RefusedError, SchemaError
    from kube_objects.label_selectors import Selector
    from kube_objects.paths import format_path
    from kube_objects.problems import Finding, Origin, Path, Problem, Severity, Spot
    from kube_objects.refs import Kind, KubeObject, ObjectRef
    from kube_objects.schemas import KindSchema, LayeredSchemas, Schema, Schemas, SchemaSet
    from kube_objects.validation import Checks, validate
    from kube_objects.yaml_writer import to_yaml

__version__ = "0.1.0"

__all__ = [
    "Checks",
    "CodedError",
    "Condition",
    "ConditionSet",
    "Document",
    "Finding",
    "InvalidError",
    "Kind",
    "KindSchema",
    "KubeObject",
    "LayeredSchemas",
    "LoadResult",
    "ObjectRef",
    "Origin",
    "Path",
    "Problem",
    "RefusedError",
    "Schema",
    "SchemaError",
    "SchemaSet",
    "Schemas",
    "Selector",
    "Severity",
    "Spot",
    "catalog",
    "format_path",
    "kinds_of_crd",
    "load",
    "to_yaml",
    "validate",
]

_MODULES = {
    "builtins.catalog": ("catalog",),
    "conditions": ("Condition", "ConditionSet"),
    "crds": ("kinds_of_crd",),
    "documents": ("Document", "LoadResult", "load"),
    "errors": ("CodedError", "InvalidError", "RefusedError", "SchemaError"),
    "label_selectors": ("Selector",),
    "paths": ("format_path",),
    "problems": ("Finding", "Origin", "Path", "Problem", "Severity", "Spot"),
    "refs": ("Kind", "KubeObject", "ObjectRef"),
    "schemas": ("KindSchema", "LayeredSchemas", "Schema", "SchemaSet", "Schemas"),
    "validation": ("Checks", "validate"),
    "yaml_writer": ("to_yaml",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:  # mypy would take any name for an attribute of this module

    def __getattr__(name: str) -> Any:
        """
        Import what the facade exports on first use (PEP 562).

        Every `import kube_objects.refs` runs this file. A command-line tool that only needs names
        must not pay for the YAML parser, RE2 and the schema checker.
        """
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f"{__name__}.{_MODULE_OF[name]}")
        value = globals()[name] = getattr(module, name)
        return value
