"""Adds the parts that are written in Python to the compiled classes."""

from __future__ import annotations

from .._core import Node, Tree
from .tree_views import _repr_html_, plot


def path(node: Node) -> list[Node]:
    """The nodes from the root to this one."""
    nodes = [node]
    while parent := nodes[-1].parent:
        nodes.append(parent)
    return nodes[::-1]


def attach() -> None:
    Tree._repr_html_ = _repr_html_  # type: ignore[attr-defined]
    Tree.plot = plot  # type: ignore[method-assign]
    Node.path = property(path)  # type: ignore[assignment,method-assign]
