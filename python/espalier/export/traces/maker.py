"""What reading a recorded tree as a trace has in common, however a method asks its policy."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Generic, TypeVar

from ...io.fields import Fields
from ..records import Origin, Trace, TraceNode

Here = TypeVar("Here")
"""What is known at a place of the tree, beside its last text."""


def parts_of(node: Fields) -> list[Fields]:
    """The parts of a recorded node, {kind: text} or {"documents": [...]} each, in the order of its history."""
    if node.has("steps"):
        return node.rows("steps")
    said = {name: node.data[name] for name in ("thought",) if node.data.get(name)}
    found = {name: node.data[name] for name in ("documents", "notice") if name in node.data}
    pieces = [*({k: v} for k, v in said.items()), {node.text("kind"): node.text("text")}]
    return [Fields("", piece) for piece in [*pieces, *({k: v} for k, v in found.items())]]


def unread(node: Fields) -> bool:
    return node.has("reason") and node.text("reason") == "malformed"


class Maker(ABC, Generic[Here]):
    """One tree's nodes, and the steps of their rollouts, as a trace."""

    def __init__(self, row: Fields, begin: Here) -> None:
        self._row = row
        self._documents = row.row("documents")
        self._nodes: list[TraceNode] = []
        self._ends: dict[int, tuple[int | None, Here]] = {0: (None, begin)}
        """By recorded node: the place of its last text, and what is known there."""
        self._steps: dict[int, int] = {}
        """By recorded node: the place of what its policy wrote."""

    @abstractmethod
    def _extend(
        self, at: int | None, here: Here, parts: Sequence[Fields], number: int, rollout: int | None = None
    ) -> tuple[int | None, Here]:
        """Adds the parts of a recorded node, or of a rollout from it. Returns the last place, what is known there."""

    def _add_unread(self, number: int, at: int | None, here: Here, node: Fields) -> None:
        """Adds a step that could not be read, where it is part of the chain."""

    def _read_nodes(self) -> None:
        for number, node in enumerate(self._row.rows("nodes")[1:], 1):
            if node.whole("parent") not in self._ends:
                continue  # nothing can be said after what could not be read
            at, here = self._ends[node.whole("parent")]
            if unread(node):
                self._add_unread(number, at, here, node)
            else:
                self._ends[number] = self._extend(at, here, parts_of(node), number)

    def _rollouts(self) -> dict[int, float]:
        """The rewards of ends by place. A node that was valued several times has the mean."""
        rewards: dict[int, list[float]] = {}
        for place, rollout in enumerate(self._row.rows("rollouts")):
            number = rollout.whole("node")
            if number not in self._ends:
                continue
            at, _ = self._extend(*self._ends[number], rollout.rows("steps"), number, place)
            if at is not None:
                rewards.setdefault(at, []).append(rollout.number("reward"))
        return {at: fmean(values) for at, values in rewards.items()}

    def _passages(self, part: Fields) -> list[tuple[str, str]]:
        """Titles and texts of the documents of a part."""
        found = []
        for item in part.rows("documents"):
            document = self._documents.row(item.text("id"))
            found.append((document.text("title"), document.text("text")))
        return found

    def _unknown(self, number: int, kind: str) -> Exception:
        return self._row.wrong("nodes", f"node {number} has a step '{kind}', which the policy does not write")

    def _trace(self, prompt: str, outcomes: Mapping[int, float], rewards: Mapping[int, float | None]) -> Trace:
        """`outcomes` by place, the `rewards` of steps by recorded node."""
        for number, reward in rewards.items():
            if number in self._steps:
                self._nodes[self._steps[number]].reward = reward
        row = self._row
        nodes, leaves = with_outcomes(self._nodes, outcomes)
        origin = Origin(row.text("id"), row.text("id"), (), row.text("method"))
        judged = any(reward is not None for reward in rewards.values())
        return Trace(origin, row.text("question"), row.texts("golden_answers"), prompt, nodes, leaves, judged)


def with_outcomes(
    nodes: Sequence[TraceNode], outcomes: Mapping[int, float]
) -> tuple[tuple[TraceNode, ...], dict[int, float]]:
    """The nodes that lead to an end with an outcome, and the outcomes of the leaves among them."""
    kept, inner = set(), set()
    for place in outcomes:
        kept.add(place)
        at = nodes[place].parent
        while at is not None:
            kept.add(at)
            inner.add(at)
            at = nodes[at].parent
    moved = {place: new for new, place in enumerate(sorted(kept))}
    found = [replace(nodes[old], parent=None if (up := nodes[old].parent) is None else moved[up]) for old in moved]
    leaves = {moved[place]: outcome for place, outcome in outcomes.items() if place not in inner}
    return tuple(found), leaves
