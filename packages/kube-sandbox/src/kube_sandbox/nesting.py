"""
How deep values may nest.

A real API server stops at 10,000 levels, where Go's parsers of JSON and YAML do. Values are walked
by recursion here, and orjson writes no more than 254 levels, of which an object's managedFields
take four more than the object itself. So the limit is lower, and leaves room for both. What is
beyond it is rejected in the words that the real server has for its own limit.
"""

from typing import Any

MAX_DEPTH = 200  # objects and lists inside each other, the outermost included


def is_too_deep(value: Any) -> bool:
    """Return whether objects and lists are nested beyond `MAX_DEPTH`; value is JSON data."""
    level = [value] if isinstance(value, dict | list) else []
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            return True
        level = [
            part
            for holder in level
            for part in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(part, dict | list)
        ]
    return False
