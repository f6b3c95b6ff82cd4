"""Snapshots of the sandbox's store: a file that holds every object."""

from kube_sandbox import STORE_FILE, Store
from kube_sandbox import restore_snapshot as restore
from kube_sandbox import save_snapshot as save

__all__ = ["STORE_FILE", "Store", "restore", "save"]
