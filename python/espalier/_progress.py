"""How a run shows that it goes on: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from contextlib import ExitStack
from importlib.util import find_spec
from typing import TextIO

from ._core import Progress


def shown_as(*, quiet: bool) -> ProgressView:
    """The view that suits standard error."""
    if quiet:
        return ProgressView()
    if not sys.stderr.isatty():
        return Lines(sys.stderr)
    return RichBar() if find_spec("rich") else Bar(sys.stderr)


def eta(done: int, of_all: int, seconds: float) -> str:
    """The time that is left, as what is done after so many seconds suggests: '1:05' or '?'."""
    if done == 0 or seconds <= 0:
        return "?"
    minutes, left = divmod(round(seconds / done * (of_all - done)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def describe(progress: Progress) -> str:
    """One line of figures."""
    rate = progress.calls / progress.seconds if progress.seconds > 0 else 0.0
    left = eta(progress.questions_done, progress.questions, progress.seconds)
    return (
        f"{progress.questions_done}/{progress.questions} questions, {progress.calls:,} calls, "
        f"{progress.tokens:,} tokens, {rate:,.0f} calls/s, best reward {progress.best_reward:.3f}, ETA {left}"
    )


class ProgressView:
    """Shows nothing; the others build on it. Takes the Progress of a run, or is told what to show."""

    def __enter__(self) -> ProgressView:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, progress: Progress) -> None:
        self.show(progress.questions_done, progress.questions, progress.seconds, describe(progress))

    def show(self, done: int, of_all: int, seconds: float, text: str) -> None:
        """`done` steps of all after so many seconds, in words `text`."""


class Lines(ProgressView):
    """A line every ten seconds."""

    interval = 10.0

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = self.interval

    def show(self, done: int, of_all: int, seconds: float, text: str) -> None:
        if seconds < self._next:
            return
        self._next = seconds + self.interval
        print(text, file=self._stream, flush=True)


class Bar(ProgressView):
    """One line that is written over, for terminals without rich."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._next = 0.0

    def show(self, done: int, of_all: int, seconds: float, text: str) -> None:
        if seconds < self._next and done < of_all:
            return
        self._next = seconds + 0.2
        columns = shutil.get_terminal_size().columns
        filled = 20 * done // max(of_all, 1)
        line = f"[{'#' * filled}{'.' * (20 - filled)}] {text}"
        self._stream.write("\r\x1b[K" + line[: columns - 1])
        self._stream.flush()

    def __exit__(self, *error: object) -> None:
        self._stream.write("\n")
        self._stream.flush()


class RichBar(ProgressView):
    """The same by rich."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._update: Callable[[int, int, str], None] = lambda done, of_all, text: None

    def __enter__(self) -> RichBar:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Display

        display = self._stack.enter_context(
            Display(BarColumn(20), TextColumn("{task.description}"), console=Console(stderr=True))
        )
        task = display.add_task("", total=None)
        self._update = lambda done, of_all, text: display.update(task, total=of_all, completed=done, description=text)
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def show(self, done: int, of_all: int, seconds: float, text: str) -> None:
        self._update(done, of_all, text)
