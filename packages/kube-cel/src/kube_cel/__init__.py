"""
The Common Expression Language (CEL) with the libraries of the Kubernetes API server and of kro.

    environment = kube_cel.Environment.rules().extend(schemas={"self": schema})
    program = kube_cel.compile("self.spec.replicas <= 5", environment)
    program.evaluate({"self": obj})

An `Environment` declares functions and variables, `compile` parses and type-checks an expression in
it, and the `Program` evaluates JSON data any number of times. The package knows OpenAPI schemas and
JSON; it does no I/O and knows nothing of a cluster.

Callers that need the single steps (references before types, a cost estimate, templates with several
expressions) import the modules: `parser`, `checker`, `references`, `costs`, `interpolation`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kube_cel.budget import Budget
    from kube_cel.environment import Environment
    from kube_cel.errors import (
        BuildError,
        ConversionError,
        EvaluationError,
        EvaluationStopped,
        ExpressionError,
        MissingData,
        MissingVariable,
        UnknownValue,
    )
    from kube_cel.issues import CheckError, Issue, ParseError
    from kube_cel.program import Program
    from kube_cel.program import compile_text as compile

__version__ = "0.1.0"

__all__ = [
    "Budget",
    "BuildError",
    "CheckError",
    "ConversionError",
    "Environment",
    "EvaluationError",
    "EvaluationStopped",
    "ExpressionError",
    "Issue",
    "MissingData",
    "MissingVariable",
    "ParseError",
    "Program",
    "UnknownValue",
    "compile",
]

_MODULES = {
    "budget": ("Budget",),
    "environment": ("Environment",),
    "errors": (
        "BuildError",
        "ConversionError",
        "EvaluationError",
        "EvaluationStopped",
        "ExpressionError",
        "MissingData",
        "MissingVariable",
        "UnknownValue",
    ),
    "issues": ("CheckError", "Issue", "ParseError"),
    "program": ("Program", "compile"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}

if not TYPE_CHECKING:  # mypy would take any name for an attribute of this module

    def __getattr__(name: str) -> Any:
        """
        Import what the facade exports on first use (PEP 562).

        Every `import kube_cel.errors` runs this file. A command-line tool that only catches an
        error must not pay for the compiler and its function library, about 60 modules.
        """
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f"{__name__}.{_MODULE_OF[name]}")
        value = getattr(module, "compile_text" if name == "compile" else name)
        globals()[name] = value
        return value
