"""
Errors with a stable code, a message and a remedy.

    CodedError
    └── InvalidError         the author must change something; a retry does not help
        ├── SchemaError      a malformed schema
        └── RefusedError     well-formed, but not allowed

Packages that build on this one add their own branches below `CodedError`.
"""

from kube_objects.problems import WHOLE, Spot


class CodedError(Exception):
    """The base class: `code` is stable and documented, `hint` is the remedy, if one is known."""

    def __init__(self, code: str, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint

    @property
    def full_text(self) -> str:
        """Return message and hint in one line."""
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InvalidError(CodedError):
    """The author must change something; a retry does not help."""


class SchemaError(InvalidError):
    """A malformed schema, or a malformed text that describes one; `spot` is relative to it."""

    def __init__(self, code: str, message: str, *, spot: Spot = WHOLE, hint: str = "") -> None:
        super().__init__(code, message, hint=hint)
        self.spot = spot


class RefusedError(InvalidError):
    """Well-formed, but not allowed."""
