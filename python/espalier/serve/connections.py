"""Connections on which no request is worked on: how long they may stay, and how many."""

import asyncio
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

idle_seconds = 75
"""Between two requests on one connection."""


class Connections:
    """Hangs up on who is too slow, and on who has waited longest where there are too many."""

    def __init__(self, most: int, header_seconds: float) -> None:
        self.open = 0
        self.backlog = min(2048, most // 2)
        """Connections that may come at one moment: they are counted a little later."""
        self._most = most
        self._header_seconds = header_seconds
        # Since when each one waits, longest first.
        self._headers: dict[asyncio.Transport, float] = {}
        self._bodies: dict[asyncio.Transport, float] = {}
        self._idle: dict[asyncio.Transport, float] = {}

    def watched(self, make: Callable[[], asyncio.Protocol]) -> Callable[[], asyncio.Protocol]:
        """The same protocol, whose connections are tracked here."""
        return lambda: Visitor(self, make())

    async def watch(self) -> None:
        """Hangs up on those whose time is over, until it is cancelled."""
        while True:
            await asyncio.sleep(min(1, self._header_seconds / 4))
            for waiting, seconds in ((self._headers, self._header_seconds), (self._idle, idle_seconds)):
                while first(waiting) + seconds <= now():
                    hang_up(waiting)

    @contextmanager
    def request(self, transport: asyncio.Transport | None) -> Iterator[None]:
        """A request has come, and its header with it."""
        if transport is not None:
            self._headers.pop(transport, None)
            self._idle.pop(transport, None)
        try:
            yield
        finally:
            if transport is not None and not transport.is_closing():
                self._idle[transport] = now()

    @contextmanager
    def body(self, transport: asyncio.Transport | None) -> Iterator[None]:
        """A request's body is on its way."""
        if transport is not None:
            self._bodies[transport] = now()
        try:
            yield
        finally:
            self._bodies.pop(cast(asyncio.Transport, transport), None)

    def came(self, transport: asyncio.Transport) -> None:
        self.open += 1
        if self.open > self._most:
            hang_up(min(self._headers, self._bodies, key=first) or self._idle)
        self._headers[transport] = now()

    def sent(self, transport: asyncio.Transport) -> None:
        if self._idle.pop(transport, None) is not None:
            self._headers[transport] = now()

    def went(self, transport: asyncio.Transport) -> None:
        self.open -= 1
        self._headers.pop(transport, None)
        self._idle.pop(transport, None)


def now() -> float:
    return asyncio.get_running_loop().time()


def first(waiting: dict[asyncio.Transport, float]) -> float:
    return next(iter(waiting.values()), math.inf)


def hang_up(waiting: dict[asyncio.Transport, float]) -> None:
    """On the first, if there is one."""
    for transport in waiting:
        del waiting[transport]
        transport.abort()
        return


class Visitor(asyncio.Protocol):
    """A protocol whose connection `Connections` hears of."""

    def __init__(self, connections: Connections, inner: asyncio.Protocol) -> None:
        self._connections = connections
        self._inner = inner
        self.eof_received = inner.eof_received  # type: ignore[method-assign]
        self.pause_writing = inner.pause_writing  # type: ignore[method-assign]
        self.resume_writing = inner.resume_writing  # type: ignore[method-assign]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._connections.came(self._transport)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        self._connections.sent(self._transport)
        self._inner.data_received(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._connections.went(self._transport)
        self._inner.connection_lost(error)
