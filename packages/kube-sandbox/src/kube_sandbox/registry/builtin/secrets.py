"""
Secret: the keys its types require, and how `stringData` becomes `data`.

Follows kubernetes 1.35 pkg/apis/core/validation/validation.go ValidateSecret,
ValidateSecretUpdate; pkg/apis/core/v1/conversion.go Convert_v1_Secret_To_core_Secret.
"""

import json
from binascii import a2b_base64, b2a_base64

from kube_objects.refs import KubeObject
from kube_sandbox.registry.builtin.base_strategy import BaseStrategy, KindOptions
from kube_sandbox.registry.builtin.config_maps import (
    MAX_BYTES,
    decoded_size,
    immutable_errors,
    key_errors,
)
from kube_sandbox.registry.field_errors import invalid, required, too_long
from kube_sandbox.registry.object_meta import immutable
from kube_sandbox.registry.strategy import Errors, RequestContext

_OPAQUE, _TLS = "Opaque", "kubernetes.io/tls"
_ACCOUNT_KEY = "kubernetes.io/service-account.name"
_DOCKER_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_REDACTED = "<secret contents redacted>"


class Secrets(BaseStrategy):
    """Bytes by key, of a type."""

    def default(self, obj: KubeObject) -> None:
        """Be opaque; take over what was written as text."""
        if not obj.get("type"):
            obj["type"] = _OPAQUE
        texts = obj.pop("stringData", None)
        if texts:
            encoded = {
                key: b2a_base64(text.encode(), newline=False).decode()
                for key, text in texts.items()
            }
            obj["data"] = {**obj.get("data", {}), **encoded}

    def prepare_update(
        self, new: KubeObject, old: KubeObject, subresource: str, occasion: RequestContext
    ) -> None:
        """Keep the type if none is given."""
        if not new.get("type"):
            new["type"] = old.get("type", _OPAQUE)
        super().prepare_update(new, old, subresource, occasion)

    def check(self, obj: KubeObject) -> Errors:
        """Validate keys and size, and what the type asks for."""
        data = obj.get("data", {})
        found: Errors = []
        for key in data:
            found += key_errors(key, "data")
        if sum(map(decoded_size, data.values())) > MAX_BYTES:
            found.append(too_long("data", MAX_BYTES))
        kind, data = obj.get("type", ""), obj.get("data", {})
        if kind in _DOCKER_KEYS:
            docker_key = _DOCKER_KEYS[kind]
            if docker_key not in data:
                found += [required(f"data[{docker_key}]")]
            else:
                # What Go says of a text that is not a JSON object.
                text = a2b_base64(data[docker_key]).decode(errors="replace")
                try:
                    value = json.loads(text)
                except json.JSONDecodeError as error:
                    if not text.strip() or error.pos >= len(text):
                        message = "unexpected end of JSON input"
                    else:
                        letter = text[error.pos]
                        where = "looking for beginning of value"
                        if error.msg.startswith("Extra data"):
                            where = "after top-level value"
                        elif error.msg.startswith("Expecting property name"):
                            where = "looking for beginning of object key string"
                        message = f"invalid character '{letter}' {where}"
                else:
                    if isinstance(value, dict) or value is None:
                        message = ""
                    else:
                        word = {bool: "bool", str: "string", list: "array"}.get(
                            type(value), "number"
                        )
                        message = (
                            f"json: cannot unmarshal {word} into Go value of type "
                            "map[string]interface {}"
                        )
                found += [invalid(f"data[{docker_key}]", _REDACTED, message)] if message else []
        elif kind == "kubernetes.io/service-account-token":
            named = obj["metadata"].get("annotations", {}).get(_ACCOUNT_KEY)
            found += [] if named else [required(f"metadata.annotations[{_ACCOUNT_KEY}]")]
        elif kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
            found += [required("data[ssh-privatekey]")]
        elif kind == "kubernetes.io/basic-auth" and not data.keys() & {"username", "password"}:
            found += [required("data[username]"), required("data[password]")]
        elif kind == _TLS:
            found += [required(f"data[{key}]") for key in ("tls.crt", "tls.key") if key not in data]
        return found

    def check_update(self, new: KubeObject, old: KubeObject) -> Errors:
        """Let neither the type change nor one that is sealed."""
        found = immutable(new.get("type"), old.get("type"), "type")
        return found + immutable_errors(new, old, "data")

    def warnings(self, obj: KubeObject, old: KubeObject | None) -> list[str]:
        """Warn of a certificate or a key that is none."""
        if obj.get("type") != _TLS:
            return []
        for key, word in (("tls.crt", "certificate"), ("tls.key", "key")):
            if b"-----BEGIN " not in a2b_base64(obj.get("data", {}).get(key, "")):
                return [f"tls: failed to find any PEM data in {word} input"]
        return []


SECRETS = Secrets(KindOptions(revalidates_metadata=True))
