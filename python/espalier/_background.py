"""The event loop on which `async def` functions run: that of who awaits the run, or one in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine
from concurrent import futures
from functools import cache
from typing import Any, TypeVar

from ._awaited import awaited, check
from ._errors import BackendError

T = TypeVar("T")


@cache
def _own_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="espalier-asyncio", daemon=True).start()
    return loop


def loop() -> asyncio.AbstractEventLoop:
    """The loop of what runs in this thread, which is never this thread's own."""
    run = awaited.get()
    return _own_loop() if run is None or run.loop is asyncio._get_running_loop() else run.loop


def wait(coroutine: Coroutine[Any, Any, T], role: str, seconds: float) -> T:
    """Runs a coroutine on the loop and waits for its result; what stops the run cancels it, and so does the end of its
    time. Raises BackendError then.
    """
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
