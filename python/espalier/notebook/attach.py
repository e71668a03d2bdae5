"""Adds the parts that are written in Python to the compiled classes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from html import escape
from importlib.util import find_spec
from typing import TYPE_CHECKING

from .. import _core
from .._core import Node, State, Tree
from ..errors import one_line

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


def tree_html(tree: Tree) -> str | None:
    """The first lines of the outline, in a notebook where nothing draws a picture."""
    if find_spec("matplotlib"):
        return None
    more = f"… {len(tree) - MOST:,} of {len(tree):,} nodes are left out" * (len(tree) > MOST)
    return f"<pre>{escape(chr(10).join([*str(tree).split(chr(10), MOST)[:MOST], more]))}</pre>"


def path(node: Node) -> list[Node]:
    """The nodes from the root to this one."""
    nodes = [node]
    while parent := nodes[-1].parent:
        nodes.append(parent)
    return nodes[::-1]


MOST = 20
"""Rows of a node, a state or an outline in a notebook."""


def table(rows: Sequence[tuple[str, object]]) -> str:
    """Names and texts as HTML. Long ones are cut, with a word on how many are left out."""
    said = [(name, one_line(str(text))) for name, text in rows[:MOST]]
    cells = [f"<tr><th>{name}</th><td>{escape(text[:300])}{'…' * (len(text) > 300)}</td></tr>" for name, text in said]
    more = f"<tr><td colspan=2>{len(rows) - MOST:,} more</td></tr>" * (len(rows) > MOST)
    return f"<table>{''.join(cells)}{more}</table>"


def state_repr(state: State) -> str:
    return f"State({state.question.text!r:.200}, {len(state.segments)} segments, answer={state.answer!r:.200})"


def state_html(state: State) -> str:
    """What happened so far in a notebook, titles in place of documents."""
    segments = [(kind, x if isinstance(x, str) else "; ".join(p.title for p in x)) for kind, x in state.segments]
    return table([("question", state.question.text), *segments])


def node_html(node: Node) -> str:
    names = ("id", "kind", "text", "thought", "value", "visits", "prior", "reward", "status", "reason")
    return table([(name, value) for name in names if (value := getattr(node, name)) not in (None, "")])


def with_type(compiled: property) -> property:
    """A property of a compiled class, whose help begins with its type."""
    type = str(compiled.fget.__doc__).partition("\n")[0].rpartition(" -> ")[2]
    return property(compiled.fget, doc=f"{type}: {compiled.__doc__}" if compiled.__doc__ else type)


def attach() -> None:
    for bound in (one for one in vars(_core).values() if isinstance(one, type)):
        for name, member in vars(bound).copy().items():
            if isinstance(member, property):
                setattr(bound, name, with_type(member))
    State.__repr__ = state_repr  # type: ignore[assignment,method-assign]
    State._repr_html_ = state_html  # type: ignore[attr-defined]
    Node._repr_html_ = node_html  # type: ignore[attr-defined]
    Tree._repr_svg_ = _repr_svg_  # type: ignore[attr-defined]
    Tree._repr_html_ = tree_html  # type: ignore[attr-defined]
    Tree.plot = plot  # type: ignore[method-assign]
    Node.path = property(path)  # type: ignore[assignment,method-assign]
