"""Adds the parts that are written in Python to the compiled classes."""

from __future__ import annotations

from .._core import Node, Search, Tree
from ..search.events import events
from .tree_views import _repr_html_, plot


def path(node: Node) -> list[Node]:
    """The nodes from the root to this one."""
    nodes = [node]
    while parent := nodes[-1].parent:
        nodes.append(parent)
    return nodes[::-1]


def attach() -> None:
    for owner, method in ((Search, events), (Tree, _repr_html_), (Tree, plot)):
        setattr(owner, method.__name__, method)
    Node.path = property(path)  # type: ignore[assignment,method-assign]
