"""The tasks of functions that are called once per request."""

import asyncio
from collections import deque
from contextlib import suppress
from inspect import isawaitable
from random import random
from threading import Lock
from typing import Any

from ..errors import BackendError
from .background import loop
from .per_request import PerRequest

PAUSES = (0.05, 0.1)
"""Before another attempt, at most, in seconds."""


class Tasks:
    """The requests to one function that are under way on an event loop.

    The engine's thread calls `exchange`, `cancel` and `stop`. The loop's thread calls everything else.
    """

    def __init__(self, function: PerRequest[Any], role: str) -> None:
        self._function = function
        self._role = role
        self._loop = loop()
        self._under_way: dict[int, tuple[asyncio.Task[None], float]] = {}  # each with when it is due
        self._timer: asyncio.TimerHandle | None = None
        self._done: list[tuple[int, Any]] = []  # in this turn of the loop
        self._ended: deque[list[tuple[int, Any]]] = deque()
        self._nothing_ended = Lock()  # held until something has; before Python 3.13 SimpleQueue may wait for good
        self._nothing_ended.acquire()

    def exchange(self, requests: list[tuple[int, Any]], seconds: float) -> list[tuple[int, Any]]:
        """Starts these requests. Returns (ticket, reply or exception) of all that ended, and waits for one."""
        if requests:
            self._loop.call_soon_threadsafe(self._start, requests)
        ended = []
        self._nothing_ended.acquire(timeout=seconds)
        while self._ended:
            ended += self._ended.popleft()
        return ended

    def cancel(self, ticket: int) -> None:
        self._loop.call_soon_threadsafe(self._drop, ticket)

    def stop(self) -> None:
        """Cancels all requests under way."""
        with suppress(RuntimeError):  # the loop was closed
            self._loop.call_soon_threadsafe(self._drop_all)

    def _start(self, requests: list[tuple[int, Any]]) -> None:
        due = self._loop.time() + self._function.deadline
        for ticket, request in requests:
            self._under_way[ticket] = self._loop.create_task(self._work(ticket, request)), due
        self._watch()

    async def _work(self, ticket: int, request: Any) -> None:
        try:
            reply = await self._attempt(request)
            for pause in PAUSES:
                if not isinstance(reply, BackendError) or reply.permanent:
                    break
                await asyncio.sleep(pause * random())
                reply = await self._attempt(request)
        except BaseException as error:  # it ends the run, but not the loop
            reply = error
        self._end(ticket, reply)

    async def _attempt(self, request: Any) -> Any:
        try:
            reply = self._function(request)
            if isawaitable(reply):
                reply = await reply
                failed = getattr(reply, "_failed", None)  # of a Completion
                return BackendError(f"the {self._role} gave no answer") if failed and failed(request) else reply
        except BackendError as error:
            return error
        came = type(reply).__name__
        return BackendError(f"the {self._role} must be an async function, but it returned {came}", permanent=True)

    def _end(self, ticket: int, reply: Any) -> None:
        if self._under_way.pop(ticket, None) is None:
            return
        if not self._done:
            self._loop.call_soon(self._hand_over)
        self._done.append((ticket, reply))

    def _hand_over(self) -> None:
        """Wakes the engine once for all requests that ended in one turn of the loop."""
        self._ended.append(self._done)
        self._done = []
        if self._nothing_ended.locked():
            self._nothing_ended.release()

    def _watch(self) -> None:
        """Waits for the deadline of the oldest request."""
        if self._timer is None and self._under_way:
            _, due = next(iter(self._under_way.values()))
            self._timer = self._loop.call_at(due, self._expire)

    def _expire(self) -> None:
        """Ends the requests whose time is over. The oldest come first."""
        late = BackendError(f"the {self._role} did not answer within {self._function.deadline:g} s")
        self._timer = None
        for ticket, (task, due) in list(self._under_way.items()):
            if due > self._loop.time():
                break
            self._end(ticket, late)
            task.cancel()
        self._watch()

    def _drop(self, ticket: int) -> None:
        under_way = self._under_way.pop(ticket, None)
        if under_way is not None:
            under_way[0].cancel()

    def _drop_all(self) -> None:
        for ticket in list(self._under_way):
            self._drop(ticket)
        if self._timer is not None:
            self._timer.cancel()
