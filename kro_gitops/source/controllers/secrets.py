"""
The Secrets that sources name: read when they are needed, and never kept.
"""

from base64 import b64decode
from binascii import Error as NotBase64

from kro_gitops.errors import NotYet, UserError
from kro_gitops.kube.api import Reader
from kro_gitops.source.api.types import SourceSpec
from kro_gitops.source.webhooks.endpoints import Receiver, receiver_path, webhook_token
from kube_objects.refs import Kind, ObjectRef

_SECRET = Kind("", "v1", "Secret")


async def read_secret(reader: Reader, namespace: str, name: str) -> dict[str, bytes]:
    """Read a Secret of a source's own namespace."""
    found = await reader.find(ObjectRef(_SECRET, namespace, name))
    if found is None:
        raise NotYet(
            "secret-not-found",
            f"there is no Secret {namespace}/{name}",
            hint="create it, or correct the name in the source",
        )
    try:
        return {key: b64decode(text or "") for key, text in (found.get("data") or {}).items()}
    except NotBase64:  # which the API server would have rejected
        raise UserError("bad-secret", f"Secret {namespace}/{name} is not base64") from None


async def read_receiver(reader: Reader, key: ObjectRef, spec: SourceSpec) -> Receiver | None:
    """Return the webhook endpoint of a source, with the token of its Secret; None without one."""
    if spec.webhook is None:
        return None
    data = await read_secret(reader, key.namespace, spec.webhook.secret)
    token = webhook_token(data, spec.webhook.secret)
    path = receiver_path(token, key.name, key.namespace)
    return Receiver(key, path, token, spec.webhook.forge, spec.url, spec.ref)
