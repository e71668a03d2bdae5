"""A server whose requests are answered from batches of one function."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Generic, TypeVar

from aiohttp import web

from .batcher import Ask, Batcher
from .host import Door, Host, Listening
from .limits import Gate, Refusal
from .metrics import Metrics

In = TypeVar("In")
Out = TypeVar("Out")

seconds = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


def encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


class Batched(Generic[In, Out]):
    """Answers `Ask`s. Routes are added to its `host`. `names` are those of its metrics: what is inside, calls of the
    function, and what they were asked. `refusal`: what a client is told of an error of the function, None = that the
    server failed."""

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
