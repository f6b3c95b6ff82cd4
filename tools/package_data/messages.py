"""
Write anew how the bodies that typed Go clients send are read: the fields of protobuf messages.

kubectl sends what it creates itself (`kubectl create namespace`, `kubectl auth can-i`) as protobuf
and cannot be talked out of it. Numbers and types of fields stand in the `generated.proto` files of
the Kubernetes modules, their names in JSON and whether nothing is told from zero in the Go types.

    python -m tools.package_data.messages
"""

import argparse
import json
import lzma
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tools.cluster.parts import ToolError
from tools.package_data import go_sources
from tools.package_data.catalog import DATA as CATALOGUE
from tools.package_data.documents import DATA

MODULES = ("api", "apimachinery", "apiextensions-apiserver", "kube-aggregator")
META = "k8s.io.apimachinery.pkg.apis.meta.v1"

PACKAGE = re.compile(r"^package ([\w.]+);", re.MULTILINE)
MESSAGE = re.compile(r"^message (\w+) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(
    r"^  (?:(optional|required|repeated) )?(map<\w+, ([\w.]+)>|[\w.]+) (\w+) = (\d+);", re.MULTILINE
)
STRUCT = re.compile(r"^type (\w+) struct \{(.*?)^\}", re.MULTILINE | re.DOTALL)
TAGGED = re.compile(
    r'^\t[\w.]*\s*(\*?)[^`\n]*`json:"([^"]*)"[^`\n]* protobuf:"\w+,(\d+)', re.MULTILINE
)
SCALARS = {"string", "bool", "bytes", "double", "int32", "int64", "uint32", "uint64"}

# A field: its name in JSON (none: its fields stand in the message itself), its type, how many
# there are ("" one, "*" many, "%" by key), and whether zero is the same as nothing.
Field = tuple[str, str, str, bool]
Message = dict[str, Field]  # by number


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder to write to")
    go_sources.add_flag(parser)
    arguments = parser.parse_args()
    served = packages()
    try:
        messages = reachable(dict(read_messages(arguments.modules)), served.values())
    except ToolError as failure:
        sys.exit(f"messages: {failure}")
    content = {"packages": served, "messages": messages}
    text = json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
    packed = lzma.compress(text, preset=9)
    (arguments.data / "messages.json.xz").write_bytes(packed)
    print(f"{arguments.data}: {len(messages)} messages, {len(packed) / 1024:.0f} KiB")


def read_messages(modules: Path | None) -> Iterator[tuple[str, Message]]:
    """Yield the messages of all packages of the version that the catalogue describes."""
    for name in MODULES:
        for file in sorted(go_sources.module(modules, name).rglob("generated.proto")):
            text = file.read_text()
            package = PACKAGE.search(text)
            if package is not None:
                tags = go_tags(file.parent)
                for name, body in MESSAGE.findall(text):
                    found = fields(package[1], body, tags.get(name, {}))
                    # What is a list in Go has a message around it.
                    if name not in tags and [each[0] for each in found.values()] == ["items"]:
                        found = {"1": ("[]", *found["1"][1:])}
                    yield f"{package[1]}.{name}", found


def go_tags(folder: Path) -> dict[str, dict[str, tuple[str, bool]]]:
    """Return name in JSON and whether zero is nothing, by struct and number of the field."""
    found: dict[str, dict[str, tuple[str, bool]]] = {}
    for file in sorted(folder.glob("*.go")):
        if "generated" in file.name or file.name.endswith("_test.go"):
            continue
        for name, body in STRUCT.findall(file.read_text()):
            tags = found.setdefault(name, {})
            for pointer, tag, number in TAGGED.findall(body):
                written, _, options = tag.partition(",")
                is_value = not pointer and "omitempty" in options
                tags[number] = ("" if "inline" in options else written, is_value)
    return found


def fields(package: str, body: str, tags: dict[str, tuple[str, bool]]) -> Message:
    """Return the fields of a message by their numbers."""
    found: Message = {}
    for label, written, value, name, number in FIELD.findall(body):
        told, is_value = tags.get(number, (name, False))
        many = "%" if value else "*" if label == "repeated" else ""
        kind = value or written
        if kind not in SCALARS:
            kind = kind.removeprefix(".") if "." in kind else f"{package}.{kind}"
        found[number] = (told, kind, many, is_value)
    return found


def packages() -> dict[str, str]:
    """Return the package of the messages of each group and version that is served."""
    index = json.loads((CATALOGUE / "index.json").read_text())
    found = {}
    for api_version, group in index["groups"].items():
        component = next(iter(group["kinds"].values()))["component"]
        package = component.rpartition(".")[0].replace("io.k8s.", "k8s.io.", 1)
        found[api_version] = package.replace("-", "_")
    return found


def reachable(messages: Mapping[str, Message], served: Iterable[str]) -> dict[str, Message]:
    """Return the messages of some packages, and what they are made of."""
    prefixes = {*served, META}
    waiting = [name for name in messages if name.rpartition(".")[0] in prefixes]
    found: dict[str, Message] = {}
    while waiting:
        name = waiting.pop()
        if name in messages and name not in found:
            found[name] = messages[name]
            waiting.extend(kind for _, kind, _, _ in messages[name].values())
    return found


if __name__ == "__main__":
    main()
