"""
Write how Kubernetes' internal types look as JSON: the order and the names of their fields.

The API server prints them in messages about fields that may not be changed. Reads the Go sources.

    python -m tools.package_data.internal_types
"""

import argparse
import json
import re
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.cluster.parts import ToolError
from tools.package_data import go_sources
from tools.package_data.typed_form import DATA

PACKAGES = {"core": "v1", "apps": "v1", "batch": "v1", "policy": "v1", "autoscaling": "v2"}
ROOTS = (
    "core.PodTemplateSpec",
    "apps.DeploymentStrategy",
    "apps.DaemonSetUpdateStrategy",
    "apps.StatefulSetUpdateStrategy",
    "batch.SuccessPolicy",
    "batch.PodFailurePolicy",
    "batch.UncountedTerminatedPods",
    "policy.PodDisruptionBudgetSpec",
    "autoscaling.HorizontalPodAutoscalerBehavior",
)
# Fields of v1's PodSpec that the internal type keeps in its security context.
MOVED = {"HostNetwork", "HostPID", "HostIPC", "ShareProcessNamespace", "HostUsers"}
NUMBERS = {"int", "int32", "int64"}
STRUCT = re.compile(r"type (\w+) struct \{")
NAMED = re.compile(r"type (\w+) (?:= )?([\w.\[\]*]+)")
FIELD = re.compile(r"^(?:(\w+)\s+)?([*\[\]\w.]+)\s*(?:`(.*?)`)?")
TAG = re.compile(r'json:"([^",]*)')

Row = tuple[str, str, str, str]  # name shown, key in the API, shape, type


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a Go struct; `name` is empty if it is embedded."""

    name: str
    type: str
    key: str


@dataclass(frozen=True, slots=True)
class Source:
    """The types of one Go file."""

    structs: dict[str, list[Field]]
    named: dict[str, str]


def read(path: Path) -> Source:
    """Read the types that a Go file declares."""
    found = Source({}, {})
    current: list[Field] | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if match := STRUCT.match(line):
            current = found.structs.setdefault(match[1], [])
        elif line.startswith("}"):
            current = None
        elif current is None:
            if match := NAMED.match(line):
                found.named[match[1]] = match[2]
        elif (text := line.strip()) and not text.startswith("//") and (match := FIELD.match(text)):
            tag = TAG.search(match[3] or "")
            current.append(Field(match[1] or "", match[2], tag[1] if tag else ""))
    return found


class Tables:
    """Makes the rows of types, and of those that they need."""

    def __init__(self, kubernetes: Path, api: Path) -> None:
        self.internal = {
            each: read(kubernetes / "pkg/apis" / each / "types.go") for each in PACKAGES
        }
        self.public = {
            each: read(api / each / version / "types.go") for each, version in PACKAGES.items()
        }
        self.found: dict[str, list[Row]] = {}

    def add(self, name: str) -> None:
        """Make the rows of a type unless they are there."""
        package, _, short = name.partition(".")
        if name in self.found or short not in self.internal[package].structs:
            return
        self.found[name] = []
        self.found[name] = list(self.rows(package, short))
        for row in self.found[name]:
            if "." in row[3]:
                self.add(row[3])

    def rows(self, package: str, short: str) -> Iterator[Row]:
        """Return a type's rows, with those of what it embeds."""
        keys = {each.name: each.key for each in self.public[package].structs.get(short, ())}
        for field in self.internal[package].structs[short]:
            if field.name:
                key = f"^{lowered(field.name)}" if is_moved(short, field) else keys.get(field.name)
                if key is None:
                    raise ToolError(f"{package}.{short}.{field.name} is not in the API")
                yield (field.name, key, *self.shape(package, field.type))
            elif field.type == "metav1.ObjectMeta":
                yield ("", "metadata", "", "meta")
            else:
                yield from self.rows(package, field.type)

    def shape(self, package: str, text: str) -> tuple[str, str]:
        """Return a type's shape and what is in it."""
        for shape, prefix in (("*", "*"), ("[]", "[]"), ("{}", "map[")):
            if text.startswith(prefix):
                inner = text.rpartition("]")[2] if shape == "{}" else text[len(prefix) :]
                return shape, "any" if shape == "{}" else self.plain(package, inner)
        known = self.internal[package].named.get(text, "")
        return self.shape(package, known) if known else ("", self.plain(package, text))

    def plain(self, package: str, text: str) -> str:
        """Return what a type is called in the table."""
        if text.startswith("api."):
            package, text = "core", text.removeprefix("api.")
        if text in self.internal[package].structs:
            return f"{package}.{text}"
        text = self.internal[package].named.get(text, text)
        if text in NUMBERS or text == "intstr.IntOrString":
            return "number"
        known = {"string": "text", "bool": "flag", "resource.Quantity": "quantity"}
        return known.get(text, "selector" if text == "metav1.LabelSelector" else "any")


def is_moved(short: str, field: Field) -> bool:
    """Say whether a field is one level up in the API."""
    return short == "PodSecurityContext" and field.name in MOVED


def lowered(name: str) -> str:
    """Return a key of the API."""
    return name[0].lower() + name[1:]


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder to write to")
    go_sources.add_flag(parser)
    arguments = parser.parse_args()
    try:
        found = read_types(arguments.modules)
    except ToolError as failure:
        sys.exit(f"internal_types: {failure}")
    text = json.dumps(found, separators=(",", ":"), sort_keys=True)
    content = zlib.compress(text.encode(), 9)
    (arguments.data / "internal_types.json.zlib").write_bytes(content)
    print(f"{arguments.data}: {len(found)} types, {len(content) / 1024:.0f} KiB")


def read_types(modules: Path | None) -> dict[str, list[Row]]:
    """Return the rows of all types that are printed."""
    tables = Tables(go_sources.module(modules, "kubernetes"), go_sources.module(modules, "api"))
    for root in ROOTS:
        tables.add(root)
    return tables.found


if __name__ == "__main__":
    main()
