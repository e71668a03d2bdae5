"""A tree as HTML for notebooks: no script, nothing fetched, every text escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from .._core import Tree, answer_node, best_answer
from .chosen import children_of, chosen, path_to

MOST = 400
"""Nodes that are shown; the others are counted where they hang."""
LONG = 160
"""Characters of a text that stand in a node's line."""
OPEN = 3
"""Branches are open down to this depth, and along the path to the answer."""

# Jupyter has lists of its own, whose rules are more specific.
STYLE = """
.espalier{--paper:#fdfdfb;--ink:#1d2320;--soft:#5f6b65;--line:#d5dbd6;--leaf:#1f6f43;--warn:#9a4a00;
background:var(--paper);color:var(--ink);border:1px solid var(--line);border-radius:6px;padding:.7em .9em;
font:13px/1.5 system-ui,sans-serif;max-width:70em;overflow-x:auto;text-align:left}
@media (prefers-color-scheme:dark){.espalier{--paper:#161b18;--ink:#e6ebe7;--soft:#9aa69f;--line:#38423c;
--leaf:#7fd0a0;--warn:#f0a860}}
.espalier ul{list-style:none!important;margin:0!important;padding:0 0 0 1.1em!important;
border-left:1px solid var(--line)}
.espalier>ul{border:0;padding:0!important;margin-top:.4em!important}
.espalier li{margin:.1em 0;padding:0}
.espalier summary{cursor:pointer}
.espalier .leaf{padding-left:1.05em}
.espalier .kind{font-weight:600;font-size:.85em;color:var(--soft);border:1px solid;border-radius:4px;padding:0 .35em}
.espalier .numbers,.espalier .more,.espalier p{color:var(--soft);font-size:.88em;margin:.15em 0}
.espalier .numbers{margin-left:.6em;white-space:nowrap;font-variant-numeric:tabular-nums}
.espalier .path>.line .kind{color:var(--leaf)}
.espalier .path>.line .text{color:var(--leaf);font-weight:600}
.espalier .pruned>.line .text{text-decoration:line-through;color:var(--soft)}
.espalier .why{color:var(--warn);font-size:.88em;margin-left:.6em}
.espalier .body{padding-left:1.1em;white-space:pre-wrap;overflow-wrap:anywhere}
"""


def tree_html(tree: Tree) -> str:
    """The tree with its question, answers and reasons. Branches fold."""
    record = tree.to_dict()
    nodes = record["nodes"]
    children = children_of(nodes)
    ending = answer_node(tree)
    path = path_to(nodes, None if ending is None else ending.id)
    shown = chosen(nodes, MOST, sorted(path))
    parts = [head(record, best_answer(tree), len(nodes)), "<ul>"]
    # What is still to be written, the next last: nodes to begin (their depth), and texts.
    waiting: list[str | tuple[int, int]] = ["</ul></div>", (0, 0)]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        number, depth = item
        below = [child for child in children[number] if child in shown]
        begin, end = branch(nodes[number], record["documents"], depth, number in path, bool(children[number]))
        parts.append(begin)
        waiting.append(end)
        if left_out := len(children[number]) - len(below):
            waiting.append(f'<ul><li class="more">… {left_out:,} more, visited less</li></ul>')
        if below:
            waiting += ["</ul>", *((child, depth + 1) for child in reversed(below)), "<ul>"]
    return "".join(parts)


def head(record: Mapping[str, Any], answer: str | None, count: int) -> str:
    gold = "; ".join(record["golden_answers"])
    facts = [
        f"answer <b>{said(answer)}</b>" if answer is not None else "no answer",
        *([f"gold {said(gold)}"] if gold else []),
        *(["<b>oracle</b>: its search had gold answers"] if record["oracle"] else []),
        said(record["method"]),
        said(record["status"]),
        f"{count:,} nodes",
    ]
    # The two classes keep MathJax from reading formulas into the texts.
    return (
        f'<div class="espalier tex2jax_ignore mathjax_ignore"><style>{STYLE}</style>'
        f"<b>{said(record['question'])}</b><p>{' · '.join(facts)}</p>"
    )


def branch(
    node: Mapping[str, Any], documents: Mapping[str, Any], depth: int, on_path: bool, inner: bool
) -> tuple[str, str]:
    """What stands before and after the children of a node."""
    text = node.get("text", "")
    short = text if len(text) <= LONG else text[:LONG] + "…"
    numbers = [f"N {node['visits']}", f"V {node['value']:.3g}"]
    if node["reward"] is not None:
        numbers.append(f"R {node['reward']:.3g}")
    line = (
        f'<span class="kind">{said(node.get("kind", "question"))}</span> <span class="text">{said(short)}</span>'
        f'<span class="numbers">{" · ".join(numbers)}</span>'
    )
    if reason := node.get("reason"):
        line += f'<span class="why">{said(reason)}</span>'
    body = [node["thought"]] if node.get("thought") else []
    if short != text:
        body.append(text)
    if node.get("documents"):
        titles = (documents.get(d["id"], {}).get("title") or d["id"] for d in node["documents"])
        body.append("found: " + "; ".join(titles))
    body_html = "".join(f'<p class="body">{said(part)}</p>' for part in body)
    classes = ("path " if on_path else "") + ("pruned" if node["status"] == "pruned" else "")
    if not inner and not body:
        return f'<li class="{classes}"><div class="line leaf">{line}</div>', "</li>"
    opened = " open" if inner and (depth < OPEN or on_path) else ""
    # A fold inside a fold: thoughts stay folded while the branch is open.
    if inner and body:
        body_html = f'<details class="more"><summary>more</summary>{body_html}</details>'
    return (
        f'<li><details class="{classes}"{opened}><summary class="line">{line}</summary>{body_html}',
        "</details></li>",
    )


def said(text: str) -> str:
    """A text as HTML. Characters that turn or hide text are replaced."""
    return escape("".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text))
