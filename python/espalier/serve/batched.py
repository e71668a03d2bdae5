"""A server whose requests are answered from batches of one function."""

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Generic, TypeVar

from aiohttp import web

from .host import Door, Host, Listening, Metrics
from .limits import Gate, Refusal

In = TypeVar("In")
Out = TypeVar("Out")


@dataclass(frozen=True)
class Ask(Generic[In, Out]):
    """The queries of one request, and how what was found becomes its answer."""

    queries: list[In]
    answer: Callable[[Sequence[Out]], bytes]


class Batcher(Generic[In, Out]):
    """Gathers concurrent requests into calls of a batch function on a thread of its own.

    While one call runs, the next one gathers requests. A request whose client is gone is left out.
    """

    def __init__(self, search: Callable[[list[In]], Sequence[Out]], largest: int) -> None:
        self._search = search
        self._largest = largest
        self._waiting: deque[tuple[Ask[In, Out], asyncio.Future[bytes]]] = deque()
        self._filled = asyncio.Event()
        self.calls = 0
        self.queries = 0

    @property
    def waiting(self) -> int:
        """Requests."""
        return len(self._waiting)

    def __call__(self, ask: Ask[In, Out]) -> asyncio.Future[bytes]:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.append((ask, future))
        self._filled.set()
        return future

    async def run(self) -> None:
        """Searches until cancelled."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "espalier-search") as worker:
            while True:
                await self._filled.wait()
                batch = self._take()
                outcomes = await loop.run_in_executor(worker, self._answer, [ask for ask, _ in batch])
                for (_, future), outcome in zip(batch, outcomes, strict=True):
                    if future.done():
                        continue  # its client has gone
                    if isinstance(outcome, bytes):
                        future.set_result(outcome)
                    else:
                        future.set_exception(outcome)

    def _take(self) -> list[tuple[Ask[In, Out], asyncio.Future[bytes]]]:
        batch = []
        room = self._largest
        while self._waiting and room > 0:
            ask, future = self._waiting.popleft()
            if not future.done():
                batch.append((ask, future))
                room -= len(ask.queries)
        if not self._waiting:
            self._filled.clear()
        return batch

    def _answer(self, asks: Sequence[Ask[In, Out]]) -> list[bytes | Exception]:
        """After an error each request is searched alone, so that none fails because of another."""
        queries = [query for ask in asks for query in ask.queries]
        self.calls += 1
        self.queries += len(queries)
        try:
            found = iter(self._search(queries)) if queries else iter(())
            return [ask.answer([next(found) for _ in ask.queries]) for ask in asks]
        except Exception as error:
            if len(asks) > 1:
                return [outcome for ask in asks for outcome in self._answer([ask])]
            return [error]


seconds = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


def encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Batched(Generic[In, Out]):
    """Answers `Ask`s. Routes are added to its `host`. `names` are those of its metrics: what is inside, calls of the
    function, and what they were asked. `refusal`: what clients are told of errors, None = that the server failed."""

    def __init__(
        self,
        function: Callable[[list[In]], Sequence[Out]],
        door: Door,
        gate: Gate,
        batch: int,
        time_limit: float,
        names: tuple[str, str, str],
        refusal: Callable[[Exception], Refusal | None],
    ) -> None:
        metrics = Metrics(seconds)
        self.host, self._gate, self._time_limit, self._refusal = Host(door, metrics), gate, time_limit, refusal
        self._batcher = batcher = Batcher(function, batch)
        metrics.watch("espalier_waiting_requests", "Requests that wait for the next call", lambda: batcher.waiting)
        counts = (lambda: gate.inside, lambda: batcher.calls, lambda: batcher.queries)
        for name, count in zip(names, counts, strict=True):
            metrics.watch(f"espalier_{name}", name.replace("_", " "), count)

    async def answer(self, request: web.Request, ask: Ask[In, Out], room: int) -> web.StreamResponse:
        with self._gate.room_for(room):
            try:
                body = await asyncio.wait_for(self._batcher(ask), self._time_limit)
            except asyncio.TimeoutError:
                raise Refusal(504, f"no answer within {self._time_limit:g} s", "timeout") from None
            except Exception as error:
                raise self._refusal(error) or error from None
            return await self.host.send(request, web.Response(body=body, content_type="application/json"))

    async def run(self, listening: Listening) -> None:
        """Serves until a signal."""
        working = asyncio.create_task(self._batcher.run())
        try:
            await self.host.run(grace=self._time_limit, listening=listening)
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working
