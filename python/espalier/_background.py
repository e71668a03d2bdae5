"""The event loop on which `async def` backends run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="espalier-asyncio", daemon=True).start()
    return loop


def wait(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine on the loop and waits for its result; Ctrl-C cancels it."""
    future = asyncio.run_coroutine_threadsafe(coroutine, _loop())
    try:
        return future.result()
    finally:
        future.cancel()
