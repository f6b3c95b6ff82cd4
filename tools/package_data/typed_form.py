"""
Write anew what Go knows of the built-in kinds: fields, types, and what it writes of nothing.

The published schemas do not tell a pointer from a value, so a zero that is kept from one that is
dropped; the Go types do. A small Go program walks them, with the Kubernetes that `tools/kube`
pins, for every kind of the catalogue. The same Kubernetes gives the same bytes.

    python -m tools.package_data.typed_form
"""

import argparse
import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from kube_objects.builtins.catalog import catalog

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "packages/kube-sandbox/src/kube_sandbox/registry/builtin/data"
# What is sent to subresources, and with a deletion.
MORE_KINDS = (
    "authentication.k8s.io/v1 TokenRequest",
    "autoscaling/v1 Scale",
    "policy/v1 Eviction",
    "v1 DeleteOptions",
)

Json = dict[str, Any]


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--data", type=Path, default=DATA, help="folder to write to")
    arguments = parser.parse_args()
    table = printed(sorted({*map(str, catalog.kinds()), *MORE_KINDS}))
    content = zlib.compress(json.dumps(compact(table), separators=(",", ":")).encode(), 9)
    (arguments.data / "typed_form.json.zlib").write_bytes(content)
    print(f"{arguments.data}: {len(table['Kinds'])} kinds, {len(content) / 1024:.0f} KiB")


def printed(kinds: list[str]) -> Json:
    """Return what the Go program prints of some kinds."""
    command = ["go", "run", str(Path(__file__).with_suffix(".go"))]
    try:
        answer = subprocess.run(
            command,
            input="\n".join(kinds).encode(),
            capture_output=True,
            check=True,
            cwd=ROOT / "tools" / "kube",
        )
    except FileNotFoundError:
        sys.exit("typed_form: Go is not installed (see https://go.dev/dl/)")
    except subprocess.CalledProcessError as failure:
        sys.exit(f"typed_form: {failure.stderr.decode().strip()}")
    table: Json = json.loads(answer.stdout)
    return table


def compact(table: Json) -> Json:
    """Write nodes as lists: kind, printed name, then element, or fields and what nothing is."""
    return {"kinds": table["Kinds"], "nodes": [_node(each) for each in table["Nodes"]]}


def _node(node: Json) -> list[Any]:
    head = [node["Kind"], node["Shown"]]
    if node["Kind"] == "struct":
        fields = [_field(each) for each in node.get("Fields", ())]
        return [*head, fields, node.get("Zero", {})]
    return [*head, node["Elem"]] if "Elem" in node else head


def _field(field: Json) -> list[Any]:
    found = [field["Name"], field["Type"], field["Omit"]]
    return [*found, field["Where"]] if field["Where"] else found


if __name__ == "__main__":
    main()
