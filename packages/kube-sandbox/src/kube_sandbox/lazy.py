"""
Modules that are imported when they are first used.

A server must be ready within half a second, and a few modules take a noticeable part of that
although most runs never need them: `cryptography` is used to create keys, PyYAML to read YAML
bodies, `kube_cel` to evaluate the rules of custom resources. A module that needs one of them
declares it at its top, beside the other imports:

    if TYPE_CHECKING:
        from kube_sandbox.endpoints import yaml_bodies
    else:
        yaml_bodies = lazy_module("kube_sandbox.endpoints.yaml_bodies")

Type checkers and import-linter see an ordinary import.
"""

from importlib import import_module
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    """Stands in for a module until one of its attributes is read."""

    def __getattr__(self, name: str) -> Any:
        module = import_module(self.__name__)
        # From now on its attributes are found without coming here.
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


def lazy_module(name: str) -> Any:
    """Return a stand-in for a module, which imports it when an attribute is first read."""
    return _LazyModule(name)
