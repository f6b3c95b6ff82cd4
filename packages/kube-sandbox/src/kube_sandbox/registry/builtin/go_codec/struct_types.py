"""
The Go types of the built-in kinds, as data.

A node is a list: its kind, how Go prints it, and for lists, maps and pointers the number of their
element; for structs their fields and what is written of an empty one.
"""

import zlib
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

Node = list[Any]


@cache
def types() -> dict[str, Any]:
    """Return all of it: `kinds` has the number of a kind's struct, `nodes` the types by number."""
    folder = files("kube_sandbox.registry.builtin") / "data"
    found: dict[str, Any] = orjson.loads(
        zlib.decompress((folder / "typed_form.json.zlib").read_bytes())
    )
    return found


def node_of(index: int) -> Node:
    """Return a type by its number."""
    node: Node = types()["nodes"][index]
    return node
