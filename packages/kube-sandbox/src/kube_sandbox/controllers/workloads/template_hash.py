"""
Hashes of templates for the labels `pod-template-hash` and `controller-revision-hash`.

They have the form of the real ones but not their values, which depend on how Go prints a struct.

Follows kubernetes 1.35 pkg/controller/controller_utils.go ComputeHash;
k8s.io/apimachinery/pkg/util/rand/rand.go SafeEncodeString.
"""

from typing import Any

import orjson

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def template_hash(template: Any, collisions: int = 0) -> str:
    """Return the short name of a template."""
    text = orjson.dumps(template, option=orjson.OPT_SORT_KEYS)
    found = 2166136261
    for byte in text + (str(collisions).encode() if collisions else b""):
        found = ((found ^ byte) * 16777619) & 0xFFFFFFFF
    return "".join(_LETTERS[ord(digit) % len(_LETTERS)] for digit in str(found))
