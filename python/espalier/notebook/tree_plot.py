"""A tree as a picture: boxes from left to right, the answer's path in bold, pruned branches dashed."""

import heapq
import os
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from .._core import Tree
from ..errors import one_line
from .picture import Picture, drawn


def children_of(nodes: Sequence[Mapping[str, Any]]) -> list[list[int]]:
    """The children of each node, in order."""
    children: list[list[int]] = [[] for _ in nodes]
    for node in nodes[1:]:
        children[node["parent"]].append(node["id"])
    return children


def path_to(nodes: Sequence[Mapping[str, Any]], node: int | None) -> set[int]:
    """The nodes from the root to this one."""
    path = set()
    while node is not None:
        path.add(node)
        node = nodes[node]["parent"]
    return path


def chosen(nodes: Sequence[Mapping[str, Any]], most: int, always: Sequence[int] = ()) -> set[int]:
    """The root, the paths to `always` from above, and the most visited nodes below chosen ones, `most` in all."""
    children = children_of(nodes)
    taken = set(sorted({0}.union(*(path_to(nodes, node) for node in always)))[:most])  # parents have smaller numbers
    waiting = [(-nodes[child]["visits"], child) for node in taken for child in children[node] if child not in taken]
    heapq.heapify(waiting)
    while waiting and len(taken) < most:
        _, node = heapq.heappop(waiting)
        taken.add(node)
        for child in children[node]:
            heapq.heappush(waiting, (-nodes[child]["visits"], child))
    return taken


WIDE, HIGH, GAP_X, GAP_Y = 1.6, 0.6, 0.3, 0.13  # of a box, in inches
LINE = 26
"""Characters of a line in a box."""
LEAF, INK, SOFT = "#1f6f43", "#1d2320", "#6b756f"


def tree_plot(tree: Tree, file: str | os.PathLike[str] | None = None, *, most: int = 40) -> Picture:
    """The `most` visited nodes of the tree. It is written to `file` (.svg, .pdf, .png) if one is named."""
    if most < 1:
        raise ValueError(f"option 'most' is {most}, allowed: 1 or more")
    return drawn(lambda: figure_of(tree, most)).saved(file)


def figure_of(tree: Tree, most: int) -> Any:
    from matplotlib import colormaps
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import ListedColormap, Normalize
    from matplotlib.figure import Figure

    record = tree.to_dict()
    nodes = record["nodes"]
    ending = tree.best_node
    path = path_to(nodes, None if ending is None else ending.id)
    shown = chosen(nodes, most, [] if ending is None else [ending.id])
    all_children = children_of(nodes)
    children = [[child for child in below if child in shown] for below in all_children]
    places = layout(children)
    left_out = {n: len(all_children[n]) - len(children[n]) for n in shown}

    columns = max(x for x, _ in places.values()) + 1
    rows = max(y for _, y in places.values()) + 1
    width, height = columns * (WIDE + GAP_X), rows * (HIGH + GAP_Y) + 0.5
    figure = Figure(figsize=(width, height))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    values = [nodes[n]["value"] for n in shown]
    scale = Normalize(min(0.0, *values, 0.0), max(1.0, *values, 1.0))
    light = ListedColormap(colormaps["YlGnBu"]([0.42 * i / 255 for i in range(256)]))  # black text stays readable
    corner = {n: (x * (WIDE + GAP_X) + 0.05, y * (HIGH + GAP_Y) + 0.05) for n, (x, y) in places.items()}
    for number in sorted(shown):
        for child in children[number]:
            connect(axes, corner[number], corner[child], child in path, nodes[child]["status"] == "pruned")
    for number in sorted(shown):
        colour = light(scale(nodes[number]["value"]))
        box(axes, corner[number], labelled(nodes[number], record["question"]), colour, nodes[number], number in path)
        if left_out[number]:
            x, y = corner[number]
            axes.text(
                x + WIDE, y + HIGH + 0.015, f"+{left_out[number]:,}", fontsize=6, color=SOFT, ha="right", va="top"
            )
    bar = figure.add_axes((0.05 / width, 0.27 / height, 1.2 / width, 0.09 / height))
    figure.colorbar(ScalarMappable(scale, light), cax=bar, orientation="horizontal")
    bar.tick_params(labelsize=6, length=2)
    bar.set_title("value" + ", oracle" * record["oracle"], fontsize=6, pad=2)
    notes = "bold: path to the answer | dashed: pruned | N visits, V value, R reward | +n: children not shown"
    notes += f" | {len(nodes) - len(shown):,} of {len(nodes):,} nodes are left out" * (len(shown) < len(nodes))
    axes.text(1.5, height - 0.3, notes, fontsize=6, color=SOFT, va="center")
    return figure


def layout(children: Sequence[Sequence[int]]) -> dict[int, tuple[int, float]]:
    """Depth and row of each node below the root: one row per leaf, a parent in the middle of its children."""
    order, depth = [0], {0: 0}
    for node in order:
        order += children[node]
        depth |= dict.fromkeys(children[node], depth[node] + 1)
    row: dict[int, float] = {}
    waiting, leaves = [0], 0
    while waiting:
        node = waiting.pop()
        waiting += reversed(children[node])
        if not children[node]:
            row[node] = leaves
            leaves += 1
    for node in reversed(order):
        if children[node]:
            row[node] = (row[children[node][0]] + row[children[node][-1]]) / 2
    return {node: (depth[node], row[node]) for node in order}


def labelled(node: Mapping[str, Any], question: str) -> str:
    """What the node says, its numbers, and why it was pruned: four lines at most."""
    words = one_line(node.get("text", question))
    kind = node.get("kind", "question").replace("_", " ")
    reason = [node["reason"].replace("_", " ")] if node.get("reason") else []
    lines = textwrap.wrap(f"{kind}: {words}", LINE, max_lines=3 - len(reason), placeholder=" …")
    numbers = f"N {node['visits']}  V {node['value']:.2f}"
    if node["reward"] is not None:
        numbers += f"  R {node['reward']:.2f}"
    return "\n".join([*lines, numbers, *reason])


def box(axes: Any, corner: tuple[float, float], text: str, colour: Any, node: Mapping[str, Any], on_path: bool) -> None:
    from matplotlib.patches import FancyBboxPatch

    x, y = corner
    pruned = node["status"] == "pruned"
    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            WIDE,
            HIGH,
            boxstyle="round,pad=0,rounding_size=0.06",
            facecolor="white" if pruned else colour,
            edgecolor=LEAF if on_path else SOFT if pruned else INK,
            linestyle="--" if pruned else "-",
            linewidth=1.8 if on_path else 0.6,
        )
    )
    colour = SOFT if pruned else INK
    axes.text(x + 0.07, y + HIGH / 2, text, fontsize=6.5, color=colour, va="center", linespacing=1.25)


def connect(axes: Any, parent: tuple[float, float], child: tuple[float, float], on_path: bool, pruned: bool) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    begin, end = (parent[0] + WIDE, parent[1] + HIGH / 2), (child[0], child[1] + HIGH / 2)
    middle = (begin[0] + end[0]) / 2
    curve = Path([begin, (middle, begin[1]), (middle, end[1]), end], [Path.MOVETO, *[Path.CURVE4] * 3])
    axes.add_patch(
        PathPatch(
            curve,
            fill=False,
            edgecolor=LEAF if on_path else SOFT,
            linewidth=1.8 if on_path else 0.6,
            linestyle="--" if pruned else "-",
        )
    )
