"""Which nodes of a large tree are shown."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any


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
    """The root, the paths to `always`, and the most visited nodes below chosen ones, `most` in all."""
    children = children_of(nodes)
    taken = {0}
    for node in always:
        taken |= path_to(nodes, node)
    waiting = [(-nodes[child]["visits"], child) for node in taken for child in children[node] if child not in taken]
    heapq.heapify(waiting)
    while waiting and len(taken) < most:
        _, node = heapq.heappop(waiting)
        taken.add(node)
        for child in children[node]:
            heapq.heappush(waiting, (-nodes[child]["visits"], child))
    return taken
