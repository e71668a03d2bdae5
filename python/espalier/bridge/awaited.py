"""The context of an awaited run."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


class Awaited:
    """The event loop that awaits a run, and whether the run must stop because nothing awaits it any more."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.stop = threading.Event()


awaited: ContextVar[Awaited | None] = ContextVar("awaited", default=None)


def check() -> None:
    """Runs call it from time to time. It raises CancelledError in a run that must stop."""
    run = awaited.get()
    if run is not None and run.stop.is_set():
        from asyncio import CancelledError  # not for every run

        raise CancelledError
