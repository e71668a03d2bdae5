"""What a run that is awaited carries along."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio


class Awaited:
    """The event loop of who awaits a run, and whether the run is to stop because nobody does any more."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.stop = threading.Event()


awaited: ContextVar[Awaited | None] = ContextVar("awaited", default=None)


def check() -> None:
    """Called by runs now and then: raises CancelledError in one that is to stop."""
    run = awaited.get()
    if run is not None and run.stop.is_set():
        from asyncio import CancelledError  # not for every run

        raise CancelledError
