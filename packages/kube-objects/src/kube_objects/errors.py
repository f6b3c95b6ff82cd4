"""
Errors with a stable code, a message and a remedy.

    CodedError
    └── InvalidError         the author must change something; a retry changes nothing
        ├── SchemaError      a schema that means nothing
        └── RefusedError     understood, but no rule allows it

Packages that build on this one add their own branches below `CodedError`.
"""

from kube_objects.problems import WHOLE, Spot


class CodedError(Exception):
    """The root: `code` is stable, `hint` is the remedy where one is known."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    @property
    def told(self) -> str:
        """Return message and hint in one line."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidError(CodedError):
    """The author must change something; a retry changes nothing."""


class SchemaError(InvalidError):
    """A schema, or a text that describes one, which means nothing; `spot` is relative to it."""

    def __init__(self, code: str, message: str, *, spot: Spot = WHOLE, hint: str = "") -> None:
        super().__init__(code, message, hint=hint)
        self.spot = spot


class RefusedError(InvalidError):
    """Understood, but no rule allows it."""
