"""
Names: kinds, and references to objects.

A Kubernetes object itself stays a dict (`KubeObject`), because any kind may occur.
"""

import re
from dataclasses import dataclass
from typing import Any

KubeObject = dict[str, Any]

_DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True, order=True)
class Kind:
    """Group, version and kind; the core group is the empty string."""

    group: str
    version: str
    kind: str

    @classmethod
    def of(cls, api_version: str, kind: str) -> "Kind":
        """Return the kind of an `apiVersion` such as `apps/v1` and a `kind`."""
        group, _, version = api_version.rpartition("/")
        return cls(group, version, kind)

    @property
    def api_version(self) -> str:
        """Return `group/version`, or the bare version in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


@dataclass(frozen=True, slots=True, order=True)
class ObjectRef:
    """One object; `namespace` is empty for cluster-scoped kinds."""

    kind: Kind
    namespace: str
    name: str

    @classmethod
    def of(cls, obj: KubeObject) -> "ObjectRef":
        """Return the reference of an object; missing or malformed parts are empty."""
        metadata = as_mapping(obj.get("metadata"))
        return cls(
            Kind.of(as_text(obj.get("apiVersion")), as_text(obj.get("kind"))),
            as_text(metadata.get("namespace")),
            as_text(metadata.get("name")),
        )

    @property
    def place(self) -> str:
        """Return `namespace/name`, or the bare name where there is no namespace."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.place}"


def is_dns_label(text: str) -> bool:
    """Return whether `text` may be part of a host name (DNS-1035, at most 63 characters)."""
    return len(text) <= 63 and _DNS_LABEL.fullmatch(text) is not None


def as_mapping(value: object) -> dict[str, Any]:
    """Return a part of an object that should be a mapping; empty if it is something else."""
    return value if isinstance(value, dict) else {}


def as_text(value: object) -> str:
    """Return a part of an object that should be a text; empty if it is something else."""
    return value if isinstance(value, str) else ""
