"""
A namespace that goes: everything in it first, itself last.
"""

from datetime import datetime

from kro_gitops.objects.refs import KubeObject
from kro_gitops.objects.times import format_time


def delete_namespace(namespace: KubeObject, now: datetime) -> bool:
    """Begin to delete a namespace; changes it, and says whether it stays for a while."""
    metadata = namespace["metadata"]
    if "deletionTimestamp" not in metadata:
        metadata["deletionTimestamp"] = format_time(now)
        namespace.setdefault("status", {})["phase"] = "Terminating"
        return True
    return bool(namespace.get("spec", {}).get("finalizers"))
