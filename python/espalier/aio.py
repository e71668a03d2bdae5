"""Runs that are awaited, and functions that are called once per request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from contextvars import copy_context
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from .bridge.awaited import Awaited, awaited
from .bridge.per_request import PerRequest
from .runs import job
from .search import method

__all__ = ["PerRequest", "answer", "expand", "run"]

P = ParamSpec("P")
T = TypeVar("T")


def _awaitable(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """An awaitable form of a long-running function, which runs in its own thread."""

    @wraps(function)
    async def call(*args: P.args, **kwargs: P.kwargs) -> T:
        import asyncio  # not for every import of espalier

        loop = asyncio.get_running_loop()
        ended: asyncio.Future[tuple[T | None, BaseException | None]] = loop.create_future()
        this = Awaited(loop)

        def tell(result: T | None, error: BaseException | None) -> None:
            if not ended.done():
                ended.set_result((result, error))

        def work() -> None:
            awaited.set(this)
            result = error = None
            try:
                result = function(*args, **kwargs)
            except BaseException as raised:
                error = raised
            with suppress(RuntimeError):  # the loop was closed meanwhile
                loop.call_soon_threadsafe(tell, result, error)

        threading.Thread(target=copy_context().run, args=(work,), name="espalier-run", daemon=True).start()
        try:
            result, error = await asyncio.shield(ended)
        except asyncio.CancelledError:
            this.stop.set()
            await asyncio.wait([ended])
            raise
        if error is not None:
            raise error
        return result  # type: ignore[return-value]

    call.__doc__ = f"""`await {function.__name__}(...)` in an event loop: `espalier.{function.__name__}` in a thread.

    `async` functions of the run are called on the loop that awaits it. Cancelled, it stops the run as Ctrl-C does and
    waits until it has ended; with a journal it can be gone on with.
    """
    return call


run = _awaitable(method.run)
expand = _awaitable(job.expand)
answer = _awaitable(job.answer)
