"""
Serve an embedded cluster in which nothing happens by itself: `python -m … FOLDER`.

It is compared with a control plane without controllers. It ends when its standard input does.
"""

import asyncio
import sys
from pathlib import Path

from kube_sandbox import SandboxServer, ServerOptions


async def serve(folder: Path) -> None:
    """Serve until standard input ends; say where the kubeconfig is."""
    options = ServerOptions(folder, ephemeral=True, collects=False, workloads=None)
    cluster = SandboxServer(options)
    await cluster.open()
    path = folder / "kubeconfig"
    path.write_text(cluster.kubeconfig)
    sys.stdout.write(f"{path}\n")
    sys.stdout.flush()
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    await ended.wait()
    await cluster.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
