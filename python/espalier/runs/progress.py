"""Shows the progress of a run: a bar on a terminal, elsewhere an occasional line."""

from __future__ import annotations

import logging
import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import TextIO

from .._core import Progress
from ..errors import one_line
from ..io.terminal import say

log = logging.getLogger("espalier")


def shown_as(*, quiet: bool) -> ProgressView:
    """The view that suits standard error."""
    if quiet:
        return ProgressView()
    renews = sys.stderr.isatty() or "ipykernel" in sys.modules  # a notebook knows the carriage return
    return Bar(sys.stderr) if renews else Lines(sys.stderr)


def progress_view() -> ProgressView:
    """A view to follow a run with: `with progress_view() as view: expand(..., progress=view)`."""
    return shown_as(quiet=False)


def eta(done: int, of_all: int, seconds: float) -> str:
    """The estimated remaining time: '1:05' or '?'."""
    if done == 0 or seconds <= 0:
        return "?"
    minutes, left = divmod(round(seconds / done * (of_all - done)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def describe(progress: Progress) -> str:
    """One line of figures, after the current trouble if there is one."""
    rate = progress.calls / progress.seconds if progress.seconds > 0 else 0.0
    left = eta(progress.questions_done, progress.questions, progress.seconds)
    trouble = textwrap.shorten(progress.trouble, 50, placeholder=" ...")
    before = f"{trouble}; " if trouble else ""
    if progress.probes is not None:
        return before + f"probing which prompts need a grammar, {progress.probes} probes answered"
    tokens = f"{progress.tokens:,} tokens, " if progress.tokens else ""  # counted where questions end
    return before + (
        f"{progress.questions_done}/{progress.questions} questions, {progress.calls:,} calls, "
        f"{tokens}{rate:,.0f} calls/s, best reward {progress.best_reward:.3f}, ETA {left}"
    )


class ProgressView:
    """Shows only troubles, and is the base of the other views. It takes the Progress of a run, or text to show."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._told, self._shown = {""}, 0.0

    def __enter__(self) -> ProgressView:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def __call__(self, progress: Progress) -> None:
        if progress.trouble not in self._told:
            self._told.add(progress.trouble)
            self.say(f"espalier: {progress.trouble}")
        self.show(progress.questions_done, progress.questions, progress.seconds, describe(progress))

    def show(self, done: int, of_all: int, seconds: float, text: str) -> None:
        """Shows `done` of all steps after `seconds`, described by `text`."""

    def say(self, line: str) -> None:
        """Prints a separate line at once."""
        say(line, to=self._stream)


def warning(progress: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
    """A progress function for runs without a view. It writes troubles to the log as warnings."""
    if isinstance(progress, ProgressView):
        return progress
    told = {""}

    def tell(at: Progress) -> None:
        if at.trouble not in told:
            told.add(at.trouble)
            log.warning("%s", one_line(at.trouble))
        if progress is not None:
            progress(at)

    return tell


class Lines(ProgressView):
    """A line every ten seconds."""

    def show(self, done: int, of_all: int, seconds: float, text: str) -> None:
        if seconds >= self._shown + 10:
            self._shown = seconds
            self.say(text)


class Bar(ProgressView):
    """One line that is overwritten, on a terminal and in a notebook."""

    def show(self, done: int, of_all: int, seconds: float, text: str) -> None:
        if self._shown and seconds < self._shown + 0.2 and done < of_all:
            return
        self._shown = seconds
        columns = shutil.get_terminal_size().columns
        filled = 20 * done // max(of_all, 1)
        line = f"[{'#' * filled}{'.' * (20 - filled)}] {text}"
        self._stream.write("\r\x1b[K" + one_line(line)[: columns - 1])
        self._stream.flush()

    def say(self, line: str) -> None:
        self._stream.write(f"\r\x1b[K{one_line(line)}\n")
        self._stream.flush()

    def __exit__(self, *error: object) -> None:
        self._stream.write("\n")
        self._stream.flush()
