"""
What a kubeconfig calls the user of a context.

A kubeconfig names its users, and a name is all that is taken from here: tokens, keys and passwords
stand beside it, and nothing of them is touched.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

_LONGEST = 253


def read_kubeconfigs(paths: Iterable[Path]) -> list[Mapping[str, Any]]:
    """Read kubeconfigs; what is none was complained about when the cluster was looked for."""
    found: list[Mapping[str, Any]] = []
    for path in paths:
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def user_of_context(kubeconfigs: Sequence[Mapping[str, Any]], context: str = "") -> str:
    """Return the user's name; of several files the first that says something counts."""
    wanted = context or next(
        (str(each["current-context"]) for each in kubeconfigs if each.get("current-context")), ""
    )
    for each in kubeconfigs:
        for entry in each.get("contexts") or ():
            if entry.get("name") == wanted:
                return str((entry.get("context") or {}).get("user") or "")[:_LONGEST]
    return ""
