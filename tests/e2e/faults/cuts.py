"""A line between a controller and an API server that can be cut."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from kube_objects.refs import KubeObject

_CHUNK = 65536


class Line:
    """Passes bytes on, until it is cut; whoever connects again is served again."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: set[asyncio.StreamWriter] = set()
        self._serving: set[asyncio.Task[None]] = set()
        self.cuts = 0  # connections that were cut

    def cut(self) -> None:
        """Drop every connection, as a network does: without a word."""
        for writer in self._open:
            writer.transport.abort()
        self.cuts += len(self._open) // 2

    async def close(self) -> None:
        """Cut everything, and return when nobody is served any more."""
        while self._serving:
            self.cut()
            await asyncio.wait(self._serving, timeout=0.1)

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve somebody who connects."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Connect somebody with the other side."""
        try:
            there, back = await asyncio.open_connection(*self._target)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, back}
        self._open |= ends
        try:
            await asyncio.gather(_pass_on(reader, back), _pass_on(there, writer))
        finally:
            self._open -= ends
            for each in ends:
                each.transport.abort()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def line(kubeconfig: Path, folder: Path) -> AsyncIterator[tuple[Line, Path]]:
    """Lay a line to the API server of a kubeconfig; give it and a kubeconfig that uses it."""
    url = urlsplit(_cluster(_read(kubeconfig))["server"])
    made = Line(url.hostname or "", url.port or 443)
    server = await asyncio.start_server(made.accept, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    written = _redirected(kubeconfig, port, folder / "line.kubeconfig")
    try:
        yield made, written
    finally:
        server.close()
        await made.close()


def _redirected(kubeconfig: Path, port: int, written: Path) -> Path:
    config = _read(kubeconfig)
    _cluster(config)["server"] = f"https://127.0.0.1:{port}"
    written.touch(mode=0o600)
    written.write_text(json.dumps(config))
    return written


def _read(kubeconfig: Path) -> KubeObject:
    config: KubeObject = json.loads(kubeconfig.read_text())
    return config


def _cluster(config: KubeObject) -> KubeObject:
    found: KubeObject = config["clusters"][0]["cluster"]
    return found
