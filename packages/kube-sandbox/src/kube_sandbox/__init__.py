"""
A Kubernetes API server and its controllers in one Python process, with a store of its own.

Clients use it over HTTPS, as any other cluster; `kubectl` is one of them. It follows
kube-apiserver and kube-controller-manager 1.35: where its answers differ from theirs, that is a
bug or a documented limit (see README.md).

In this process:

    async with SandboxServer(ServerOptions(folder, ephemeral=True)) as server:
        print(server.url, server.kubeconfig)

As a process of its own:

    with run_process(folder, "--ephemeral") as process:
        print(process.kubeconfig)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kube_sandbox.controllers.workloads.plan_steps import Settings as WorkloadSettings
    from kube_sandbox.dry_run import DryRun
    from kube_sandbox.process import SandboxProcess, run_process
    from kube_sandbox.server import SandboxServer, ServerOptions
    from kube_sandbox.storage.snapshots import restore as restore_snapshot
    from kube_sandbox.storage.snapshots import save as save_snapshot
    from kube_sandbox.storage.store import Store
    from kube_sandbox.storage.store_file import NAME as STORE_FILE

__version__ = "0.1.0"
__all__ = [
    "STORE_FILE",
    "DryRun",
    "SandboxProcess",
    "SandboxServer",
    "ServerOptions",
    "Store",
    "WorkloadSettings",
    "restore_snapshot",
    "run_process",
    "save_snapshot",
]

# Imported when first asked for. `python -m kube_sandbox` must read its arguments and switch off
# the garbage collector before it imports the hundreds of modules behind `SandboxServer`, and a
# caller that only starts a process must not import them at all.
_EXPORTS = {
    "DryRun": ("kube_sandbox.dry_run", "DryRun"),
    "STORE_FILE": ("kube_sandbox.storage.store_file", "NAME"),
    "SandboxProcess": ("kube_sandbox.process", "SandboxProcess"),
    "SandboxServer": ("kube_sandbox.server", "SandboxServer"),
    "ServerOptions": ("kube_sandbox.server", "ServerOptions"),
    "Store": ("kube_sandbox.storage.store", "Store"),
    "WorkloadSettings": ("kube_sandbox.controllers.workloads.plan_steps", "Settings"),
    "restore_snapshot": ("kube_sandbox.storage.snapshots", "restore"),
    "run_process": ("kube_sandbox.process", "run_process"),
    "save_snapshot": ("kube_sandbox.storage.snapshots", "save"),
}


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, attribute = _EXPORTS[name]
    return getattr(import_module(module), attribute)
