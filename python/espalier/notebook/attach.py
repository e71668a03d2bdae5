"""Gives the compiled classes what Python adds to them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .._core import Node, Search, Tree
from .._events import events

if TYPE_CHECKING:
    from .picture import Picture


def _repr_html_(self: Tree) -> str:
    """The tree in a notebook."""
    from .tree_html import tree_html

    return tree_html(self)


def plot(self: Tree, file: str | os.PathLike[str] | None = None, *, most: int = 40) -> Picture:
    """A picture of the `most` visited nodes; written to `file` (.svg, .pdf, .png) if one is named.

    Needs matplotlib: pip install 'espalier[viz]'.
    """
    from .tree_plot import tree_plot

    return tree_plot(self, file, most=most)


def path(node: Node) -> list[Node]:
    """The nodes from the root to this one."""
    nodes = [node]
    while parent := nodes[-1].parent:
        nodes.append(parent)
    return nodes[::-1]


def attach() -> None:
    for owner, method in ((Tree, _repr_html_), (Tree, plot), (Search, events)):
        setattr(owner, method.__name__, method)
    Node.path = property(path)  # type: ignore[assignment,method-assign]
