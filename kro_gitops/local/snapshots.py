"""Snapshots of the sandbox's store: a file that holds every object."""

from kube_sandbox.storage.snapshots import restore, save
from kube_sandbox.storage.store import Store
from kube_sandbox.storage.store_file import NAME as STORE_FILE

__all__ = ["STORE_FILE", "Store", "restore", "save"]
