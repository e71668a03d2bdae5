"""One call of a batch function at a time for everything that waits."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

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
