"""Searches in a thread of their own, awaited from an event loop."""

import asyncio
import itertools
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any

from .._core import Answering, Tree
from ..errors import Error
from ..gone import naming
from ..runs.given import given
from ..runs.job import _plain


class Searches:
    """A method's inference form over one scheduler: `await searches(...)` is one question's tree.

    A caller that is cancelled cancels its search. `failed` is told when the thread ends by an error, such as a journal
    that cannot be written: nothing can be asked afterwards.
    """

    def __init__(self, settings: Mapping[str, Any], failed: Callable[[BaseException], None]) -> None:
        self._models = ExitStack()
        with naming():
            self._answering = Answering(_plain(self._models.enter_context(given(settings))))
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        self._ids = itertools.count(1)
        self._open: dict[int, asyncio.Future[Tree]] = {}
        self._thread = threading.Thread(target=self._run, name="espalier-searches", daemon=True)
        self._thread.start()

    async def __call__(self, question: str, question_id: str, seed: int) -> Tree:
        """Raises BackendError where a backend failed, and whatever else ended the search."""
        id = next(self._ids)
        future: asyncio.Future[Tree] = self._loop.create_future()
        self._open[id] = future
        self._answering.ask(id, question, question_id, seed)
        try:
            return await future
        finally:
            if self._open.pop(id, None) is not None:
                self._answering.cancel(id)

    async def stop(self) -> None:
        """Waits for those that are open."""
        self._answering.stop()
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        try:
            self._answering.run(lambda id, end: self._loop.call_soon_threadsafe(self._end, id, end))
        except Exception as error:
            self._loop.call_soon_threadsafe(self._fail, error)
        finally:
            self._models.close()

    def _end(self, id: int, end: Tree | Exception) -> None:
        future = self._open.pop(id, None)
        if future is None or future.done():
            return
        if isinstance(end, Tree):
            future.set_result(end)
        else:
            future.set_exception(end)

    def _fail(self, error: Exception) -> None:
        for future in self._open.values():
            if not future.done():
                future.set_exception(Error("the searches have ended"))
        self._failed(error)
