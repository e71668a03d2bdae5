"""Adds the parts that are written in Python to the compiled classes."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .._core import Node, Tree

if TYPE_CHECKING:
    from .picture import Picture


def plot(self: Tree, file: str | os.PathLike[str] | None = None, *, most: int = 40) -> Picture:
    """A picture of the `most` visited nodes. It is written to `file` (.svg, .pdf, .png) if one is named.

    Needs matplotlib: pip install matplotlib
    """
    from .tree_plot import tree_plot

    return tree_plot(self, file, most=most)


def _repr_svg_(self: Tree) -> str | None:
    """The tree in a notebook, where matplotlib can draw it."""
    return plot(self)._repr_svg_() if find_spec("matplotlib") else None


def path(node: Node) -> list[Node]:
    """The nodes from the root to this one."""
    nodes = [node]
    while parent := nodes[-1].parent:
        nodes.append(parent)
    return nodes[::-1]


def attach() -> None:
    Tree._repr_svg_ = _repr_svg_  # type: ignore[attr-defined]
    Tree.plot = plot  # type: ignore[method-assign]
    Node.path = property(path)  # type: ignore[assignment,method-assign]
