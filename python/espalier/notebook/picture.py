"""A picture by matplotlib that shows itself in a notebook and goes into a file."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import needed
from ..io.files import replacing

LOOK: Any = {
    "svg.hashsalt": "espalier",
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "text.parse_math": False,
    "font.size": 9,
    "savefig.bbox": "tight",
}
"""The same bytes for the same figures, text that stays text, and a `$` that is only a dollar."""

METADATA: dict[str, dict[str, None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {"Software": None}}

PAGE = 700
"""Points that a notebook's page is wide."""


def drawn(draw: Callable[[], Any]) -> Picture:
    """What `draw` makes, a matplotlib Figure, in Espalier's look. Raises MissingPart without matplotlib."""
    with needed("matplotlib", "a picture").rc_context(LOOK):
        return Picture(draw())


class Picture:
    """A picture. `figure` is matplotlib's and can be changed before saving."""

    def __init__(self, figure: Any) -> None:
        self.figure = figure

    def __repr__(self) -> str:
        return "Picture({:g} x {:g} in)".format(*self.figure.get_size_inches())

    def save(self, file: str | os.PathLike[str]) -> Path:
        """Writes an .svg, .pdf or .png, which appears whole or not at all. The same picture gives the same bytes."""
        target = Path(file)
        form = target.suffix[1:].lower()
        if form not in METADATA:
            raise ValueError(f"option 'file' is '{target.name}', allowed: a name that ends in .svg, .pdf or .png")
        with replacing(target) as part:
            part.write(self._as(form))
        return target

    def saved(self, file: str | os.PathLike[str] | None) -> Picture:
        """Itself, saved if a file is named."""
        if file is not None:
            self.save(file)
        return self

    def _repr_svg_(self) -> str:
        """As wide as it is, but no wider than a notebook's page."""

        def fitted(match: re.Match[str]) -> str:
            width, height = float(match[1]), float(match[2])
            scale = min(1, PAGE / width)
            return f'width="{width * scale:.6g}pt" height="{height * scale:.6g}pt"'

        return re.sub('width="([0-9.]+)pt" height="([0-9.]+)pt"', fitted, self._as("svg").decode(), count=1)

    def _as(self, form: str) -> bytes:
        import matplotlib

        stream = io.BytesIO()
        with matplotlib.rc_context(LOOK):
            self.figure.savefig(stream, format=form, metadata=METADATA[form], dpi=200)
        return stream.getvalue()
