"""
Names by the rules of DNS, with the messages of Kubernetes for those that break them.

The messages are those of k8s.io/apimachinery, pkg/util/validation/validation.go.
"""

import re
from dataclasses import dataclass

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"


@dataclass(frozen=True, slots=True)
class NameShape:
    """A pattern for names, and the message for a text that does not match it."""

    pattern: str
    limit: int
    rule: str
    examples: tuple[str, ...]

    def problems(self, text: str, unit: str = "characters") -> list[str]:
        """Return all violations; the length is counted in bytes, whatever the unit is called."""
        found = []
        if len(text.encode(errors="surrogatepass")) > self.limit:
            found.append(f"must be no more than {self.limit} {unit}")
        if not re.fullmatch(self.pattern, text):
            found.append(self.mismatch())
        return found

    def mismatch(self) -> str:
        """Return the message for a text that does not match the pattern."""
        examples = " or ".join(f"'{example}', " for example in self.examples)
        return f"{self.rule} (e.g. {examples}regex used for validation is '{self.pattern}')"


DNS_1123_LABEL = NameShape(
    _LABEL,
    63,
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character",
    ("my-name", "123-abc"),
)
DNS_1123_SUBDOMAIN = NameShape(
    _SUBDOMAIN,
    253,
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character",
    ("example.com",),
)


def label_problems(text: str) -> list[str]:
    """Return the violations of RFC 1123 in a label; empty if it is valid."""
    found = DNS_1123_LABEL.problems(text)
    if found and found[-1] == DNS_1123_LABEL.mismatch() and re.fullmatch(_SUBDOMAIN, text):
        found[-1] = "must not contain dots"
    return found


def path_segment_problems(text: str) -> list[str]:
    """Return why a text cannot be a part of the path of a request: no object has such a name."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{each}'" for each in "/%" if each in text]
