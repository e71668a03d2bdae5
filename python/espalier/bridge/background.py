"""The event loop for `async def` functions: the one that awaits the run, or one in its own thread."""

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent import futures
from functools import cache
from typing import Any, TypeVar

from ..errors import BackendError
from .awaited import awaited, check

T = TypeVar("T")


@cache
def _own_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="espalier-asyncio", daemon=True).start()
    return loop


def loop() -> asyncio.AbstractEventLoop:
    """The loop for the run of this thread. It never runs in this thread itself."""
    run = awaited.get()
    return _own_loop() if run is None or run.loop is asyncio._get_running_loop() else run.loop


def wait(coroutine: Coroutine[Any, Any, T], role: str, seconds: float) -> T:
    """Runs a coroutine on the loop and waits for its result. It is cancelled if the run stops or its time is over.
    Raises BackendError if its time is over."""
    future = asyncio.run_coroutine_threadsafe(coroutine, loop())
    due = time.monotonic() + seconds
    try:
        while not future.done():
            futures.wait([future], timeout=0.05)
            check()
            if time.monotonic() >= due and not future.done():
                raise BackendError(f"the {role} did not answer within {seconds:g} s", permanent=True)
        return future.result()
    finally:
        future.cancel()
