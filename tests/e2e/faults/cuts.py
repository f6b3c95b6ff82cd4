"""A line between a controller and an API server that can be cut."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

_CHUNK = 65536


class Line:
    """Passes bytes on, until it is cut; whoever connects again is served again."""

    def __init__(self, host: str, port: int) -> None:
        self._target = (host, port)
        self._open: set[asyncio.StreamWriter] = set()
        self.cuts = 0  # connections that were cut

    def cut(self) -> None:
        """Drop every connection, as a network does: without a word."""
        for writer in self._open:
            writer.transport.abort()
        self.cuts += len(self._open) // 2

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
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
    config = json.loads(kubeconfig.read_text())
    cluster = config["clusters"][0]["cluster"]
    url = urlsplit(cluster["server"])
    made = Line(url.hostname or "", url.port or 443)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    cluster["server"] = f"https://127.0.0.1:{port}"
    written = folder / "line.kubeconfig"
    written.touch(mode=0o600)
    written.write_text(json.dumps(config))
    try:
        yield made, written
    finally:
        server.close()
        made.cut()
        await asyncio.sleep(0)
