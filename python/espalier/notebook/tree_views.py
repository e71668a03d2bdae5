"""How a tree shows itself: methods of Tree, which load what draws it when they are called."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .._core import Tree

if TYPE_CHECKING:
    from .picture import Picture


def _repr_html_(self: Tree) -> str:
    """The tree in a notebook."""
    from .tree_html import tree_html

    return tree_html(self)


def plot(self: Tree, file: str | os.PathLike[str] | None = None, *, most: int = 40) -> Picture:
    """A picture of the `most` visited nodes. It is written to `file` (.svg, .pdf, .png) if one is named.

    Needs matplotlib: pip install matplotlib.
    """
    from .tree_plot import tree_plot

    return tree_plot(self, file, most=most)
