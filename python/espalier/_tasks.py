"""The tasks of functions that are asked request by request."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from inspect import isawaitable
from queue import Empty, SimpleQueue
from random import random
from typing import Any

from ._background import loop
from ._errors import BackendError
from ._per_request import PerRequest

PAUSES = (0.05, 0.1)
"""Before another attempt, at most, in seconds."""


class Tasks:
    """The requests to one function that are under way on an event loop; others call from the engine's thread."""

    def __init__(self, function: PerRequest[Any], role: str) -> None:
        self._function = function
        self._role = role
        self._loop = loop()
        self._under_way: dict[int, tuple[asyncio.Task[None], asyncio.TimerHandle]] = {}  # the loop's thread alone
        self._ended: SimpleQueue[tuple[int, Any]] = SimpleQueue()

    def exchange(self, requests: list[tuple[int, Any]], seconds: float) -> list[tuple[int, Any]]:
        """Starts these requests; gives (ticket, reply or exception) of what has ended, and waits for the first."""
        if requests:
            self._loop.call_soon_threadsafe(self._start, requests)
        ended = []
        with suppress(Empty):
            ended.append(self._ended.get(timeout=seconds))
            while True:
                ended.append(self._ended.get_nowait())
        return ended

    def cancel(self, ticket: int) -> None:
        self._loop.call_soon_threadsafe(self._drop, ticket)

    def stop(self) -> None:
        """Cancels what is under way."""
        with suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._drop_all)

    def _start(self, requests: list[tuple[int, Any]]) -> None:
        for ticket, request in requests:
            timer = self._loop.call_later(self._function.deadline, self._expire, ticket)
            self._under_way[ticket] = self._loop.create_task(self._work(ticket, request)), timer

    async def _work(self, ticket: int, request: Any) -> None:
        try:
            reply = await self._answer(request)
        except BaseException as error:  # it ends the run, but not the loop
            reply = error
        self._end(ticket, reply)

    async def _answer(self, request: Any) -> Any:
        for pause in PAUSES:
            reply = await self._attempt(request)
            if not isinstance(reply, BackendError) or reply.permanent:
                return reply
            await asyncio.sleep(pause * random())
        return await self._attempt(request)

    async def _attempt(self, request: Any) -> Any:
        try:
            reply = self._function(request)
            if isawaitable(reply):
                return await reply
        except BackendError as error:
            return error
        came = type(reply).__name__
        return BackendError(f"the {self._role} must be an async function, but it returned {came}", permanent=True)

    def _end(self, ticket: int, reply: Any) -> None:
        if ticket in self._under_way:
            self._under_way.pop(ticket)[1].cancel()
            self._ended.put((ticket, reply))

    def _expire(self, ticket: int) -> None:
        task, _ = self._under_way[ticket]
        self._end(ticket, BackendError(f"the {self._role} did not answer within {self._function.deadline:g} s"))
        task.cancel()

    def _drop(self, ticket: int) -> None:
        if ticket in self._under_way:
            task, timer = self._under_way.pop(ticket)
            timer.cancel()
            task.cancel()

    def _drop_all(self) -> None:
        for ticket in list(self._under_way):
            self._drop(ticket)
