"""
Listen, and serve in a thread of its own.

The caller passes a function that opens its servers on the event loop of the thread and registers
how to close them.
"""

import asyncio
import errno
import socket
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextlib import AsyncExitStack, suppress

from kro_gitops.errors import UserError
from kro_gitops.settings.address import Address

SHUTDOWN_TIMEOUT = 5.0  # seconds for responses in progress when a server stops

Opening = Callable[[AsyncExitStack], Awaitable[None]]


class ListenError(UserError):
    """An address that is not available."""


class ServerThread:
    """A thread with an event loop, on which something is served until it is stopped."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None

    def start(self, opening: Opening) -> None:
        """Open on the thread's loop, and return when that is done; raise what it raised."""
        served: Future[None] = Future()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(opening, served)), name=self._name, daemon=True
        )
        self._thread.start()
        served.result()

    def stop(self) -> None:
        """Close what was opened; does nothing if it was never started."""
        if self._thread is None:
            return
        if self._loop is not None and self._stopping is not None:
            with suppress(RuntimeError):  # the loop is closed: it has stopped by itself
                self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = None

    async def _serve(self, opening: Opening, served: Future[None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        async with AsyncExitStack() as closing:
            try:
                await opening(closing)
            except Exception as error:  # raised in `start`
                served.set_exception(error)
            else:
                served.set_result(None)
                await self._stopping.wait()


def listen(flag: str, address: Address) -> socket.socket:
    """Open a socket; the error names the flag of the address."""
    try:
        where = (address.host, address.port)
        if address.host:
            family = socket.getaddrinfo(*where, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server(where, family=family)
        if socket.has_dualstack_ipv6():
            return socket.create_server(where, family=socket.AF_INET6, dualstack_ipv6=True)
        return socket.create_server(where)
    except OSError as error:
        in_use = error.errno == errno.EADDRINUSE
        why = "another process listens there already" if in_use else error.strerror or str(error)
        raise ListenError(
            "address-unavailable",
            f"{flag} {address}: cannot listen there: {why}",
            hint="choose another address, or 0 to do without",
        ) from error
