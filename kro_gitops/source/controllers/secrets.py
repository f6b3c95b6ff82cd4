"""
The Secrets that sources name, read when they are needed and kept by nobody.
"""

from base64 import b64decode
from binascii import Error as NotBase64

from kro_gitops.errors import NotYet, UserError
from kro_gitops.kube.api import Reader
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
    except NotBase64:  # which the API server would not have taken
        raise UserError("bad-secret", f"Secret {namespace}/{name} is not base64") from None
