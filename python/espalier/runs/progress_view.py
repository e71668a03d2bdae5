"""Progress where one works: a bar that renews itself in a notebook, elsewhere as the command line shows it."""

from __future__ import annotations

import sys
from html import escape
from typing import Any

from .progress import ProgressView, shown_as

STYLE = (
    "width:14em;height:.6em;margin-right:.7em;vertical-align:middle;accent-color:#2f7d4f;"  # the bar alone has colours
)


def progress_view() -> ProgressView:
    """A view to follow a run with: `with progress_view() as view: expand(..., progress=view)`."""
    return Live() if in_notebook() else shown_as(quiet=False)


def in_notebook() -> bool:
    """This is a kernel of Jupyter's, not a terminal."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return getattr(shell, "kernel", None) is not None


class Live(ProgressView):
    """One output of a notebook, renewed five times a second of the run's own clock."""

    interval = 0.2

    def __init__(self) -> None:
        super().__init__()
        self._handle: Any = None
        self._next = 0.0
        self._last: dict[str, str] = {}

    def show(self, done: int, of_all: int, seconds: float, text: str) -> None:
        share = f'<progress style="{STYLE}" value="{done}" max="{max(of_all, 1)}"></progress>'
        self._last = {"text/plain": text, "text/html": f"<div>{share}<span>{escape(text)}</span></div>"}
        if seconds >= self._next or done >= of_all:
            self._next = seconds + self.interval
            self._renew()

    def __exit__(self, *error: object) -> None:
        if self._last:
            self._renew()

    def _renew(self) -> None:
        import IPython.display

        display: Any = IPython.display.display
        if self._handle is None:
            self._handle = display(self._last, raw=True, display_id=True)
        else:
            self._handle.update(self._last, raw=True)
