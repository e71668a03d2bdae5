"""Servers of espalier.serve in the test's own process, and what is said to them."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, redirect_stderr
from io import StringIO
from typing import Any

import aiohttp
from espalier import cli
from espalier.serve.host import Door, Listening


def door(*, key: bytes | None = None, max_body: int = 10_000, seconds: float = 5, header_seconds: float = 5) -> Door:
    return Door("127.0.0.1", 0, key, max_body, header_seconds, body_seconds=seconds, seconds=seconds)


class Client:
    """Talks to one server; replies are (status, JSON, headers)."""

    def __init__(self, url: str, session: Any) -> None:
        self.url = url
        self.stopped = False
        """Somebody has sent the signal, or has seen the server end by itself."""
        self._session = session

    def stop(self) -> None:
        self.stopped = True
        os.kill(os.getpid(), signal.SIGTERM)

    async def post(self, path: str, body: object, **more: Any) -> tuple[int, Any, Any]:
        content = {"data": body} if isinstance(body, bytes) or hasattr(body, "__aiter__") else {"json": body}
        async with self._session.post(self.url + path, **content, **more) as reply:
            return reply.status, await reply.json(), reply.headers

    async def get(self, path: str, **more: Any) -> tuple[int, Any, Any]:
        async with self._session.get(self.url + path, **more) as reply:
            is_json = reply.content_type == "application/json"
            return reply.status, await (reply.json() if is_json else reply.text()), reply.headers

    async def events(self, path: str, body: object) -> list[str]:
        """The data of a stream's events."""
        async with self._session.post(self.url + path, json=body) as reply:
            assert reply.status == 200 and reply.content_type == "text/event-stream"
            text = await reply.text()
        assert text.endswith("\n\n")
        lines = [event for event in text[:-2].split("\n\n") if not event.startswith(":")]
        assert all(line.startswith("data: ") and "\n" not in line for line in lines)
        return [line.removeprefix("data: ") for line in lines]

    async def metric(self, name: str) -> float:
        """The sum of a metric's samples."""
        _, text, _ = await self.get("/metrics")
        return sum(
            float(line.rpartition(" ")[2]) for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name
        )


def refused(*arguments: str) -> tuple[int, str]:
    """The exit code and the words of a command that does not come to serve."""
    with redirect_stderr(StringIO()) as words:
        try:
            code = cli.main(["serve", *arguments])
        except SystemExit as end:  # argparse
            code = int(end.code or 0)
    return code, words.getvalue()


Serve = Callable[[Listening], Awaitable[None]]
Test = Callable[[Client], Awaitable[None]]


def against(serve: Serve, test: Test) -> None:
    """Runs a test against a server of its own."""

    async def run() -> None:
        async with served(serve) as client:
            await test(client)

    asyncio.run(run())


@asynccontextmanager
async def served(serve: Serve) -> AsyncIterator[Client]:
    """A running server; it is stopped by a signal, as a user would."""
    place: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    server = asyncio.ensure_future(serve(lambda url, port: place.set_result(url)))
    await asyncio.wait({server, place}, return_when=asyncio.FIRST_COMPLETED)
    if server.done():
        server.result()
    async with aiohttp.ClientSession() as session:
        client = Client(place.result(), session)
        try:
            yield client
        finally:
            if not client.stopped:
                client.stop()
            await server


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    """Waits for what must happen, a minute at most."""
    for _ in range(6000):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it did not happen")
