"""
ConfigMap.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateConfigMap,
ValidateConfigMapUpdate.
"""

from binascii import a2b_base64

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.field_errors import forbidden, invalid, too_long
from kube_sandbox.registry.name_validation import config_key
from kube_sandbox.registry.strategy import Errors

MAX_BYTES = 1024 * 1024
_IMMUTABLE_MESSAGE = "field is immutable when `immutable` is set"


class ConfigMaps(BaseStrategy):
    """Texts and bytes by key."""

    def check(self, obj: KubeObject) -> Errors:
        """Validate keys and size."""
        texts, binary = obj.get("data", {}), obj.get("binaryData", {})
        found: Errors = []
        for key in texts:
            found += key_errors(key, "data")
            if key in binary:
                message = "duplicate of key present in binaryData"
                found.append(invalid(f"data[{key}]", key, message))
        for key in binary:
            found += key_errors(key, "binaryData")
        size = sum(len(each.encode()) for each in texts.values())
        size += sum(map(decoded_size, binary.values()))
        if size > MAX_BYTES:
            found.append(too_long("[]", MAX_BYTES))  # upstream's name of the whole object
        return found

    def check_update(self, new: KubeObject, old: KubeObject) -> Errors:
        """Let nothing change in one that is sealed."""
        return immutable_errors(new, old, "data", "binaryData")


def key_errors(key: str, part: str) -> Errors:
    """Validate a key."""
    return [invalid(f"{part}[{key}]", key, each) for each in config_key(key)]


def decoded_size(text: str) -> int:
    """Return how many bytes a text of base64 stands for."""
    return len(a2b_base64(text))


def immutable_errors(new: KubeObject, old: KubeObject, *parts: str) -> Errors:
    """Return what was changed in an object that says it never changes."""
    if not old.get("immutable"):
        return []
    found = [] if new.get("immutable") else [forbidden("immutable", _IMMUTABLE_MESSAGE)]
    return found + [
        forbidden(part, _IMMUTABLE_MESSAGE) for part in parts if new.get(part) != old.get(part)
    ]


CONFIG_MAPS = ConfigMaps(KindOptions(revalidates_metadata=True))
