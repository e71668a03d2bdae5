"""Events of trees while they grow."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from .. import _core
from .._core import Question, Search, Tree
from ..errors import BackendError
from ..protocols import LanguageModelLike, RetrieverLike, RewardLike
from .grow import open_session


@dataclass(frozen=True)
class NodeEvent:
    """A node was added. The root comes first, with no parent. Ids count from 0 in each tree.

    The prior is the current one. Equal samples that are drawn later add to it.
    """

    event: ClassVar[Literal["node"]] = "node"
    question: int
    """Whose tree it is: the place of the question in the list."""
    node: int
    parent: int | None
    kind: str | None
    text: str
    prior: float


@dataclass(frozen=True)
class SimulationEvent:
    """A value was entered at a node. This is one more visit of it and of every node above it."""

    event: ClassVar[Literal["simulation"]] = "simulation"
    question: int
    node: int
    value: float


@dataclass(frozen=True)
class PrunedEvent:
    """A node was pruned."""

    event: ClassVar[Literal["pruned"]] = "pruned"
    question: int
    node: int
    reason: str


@dataclass(frozen=True)
class DoneEvent:
    """A tree is finished. It is None if a backend failed."""

    event: ClassVar[Literal["done"]] = "done"
    question: int
    tree: Tree | None
    error: BackendError | None


Event: TypeAlias = NodeEvent | SimulationEvent | PrunedEvent | DoneEvent


def events(
    self: Search,
    questions: Iterable[Question],
    *,
    model: LanguageModelLike,
    retriever: RetrieverLike | None = None,
    reward: RewardLike | None = None,
    seed: int = 1,
    in_flight: int = 64,
    open_questions: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    fingerprint: str | None = None,
    retriever_fingerprint: str | None = None,
) -> Iterator[Event]:
    """Grows trees as `run` does, and yields their events while they grow.

    The trees are those of `run`. The events of one tree have a fixed order, but events of different trees may mix in
    any order. They come between the steps of a search: after each simulation of MCTS, each stage of a layered search,
    each depth of a beam, and each step of a path. The search runs only while the next event is requested.

    A failed backend ends a tree with a DoneEvent. Any other exception ends all trees.
    """
    several = list(questions)
    session = open_session(
        self, several, model, retriever, reward, seed, in_flight, journal, fingerprint, retriever_fingerprint
    )
    return _events(session, 4 * in_flight if open_questions is None else open_questions)


def _events(session: _core.Session, open_questions: int) -> Iterator[Event]:
    try:
        more = True
        while more:
            told, more = session.advance(open_questions)
            for row in told:
                yield _event(session, *row)
    finally:
        del session  # closes the journal; a traceback would keep it


def _event(
    session: _core.Session, what: int, question: int, node: int, parent: int, kind: str, text: str, number: float
) -> Event:
    if what == 0:
        return NodeEvent(question, node, parent if node else None, kind or None, text, number)
    if what == 1:
        return SimulationEvent(question, node, number)
    if what == 2:
        return PrunedEvent(question, node, text)
    return DoneEvent(question, session.trees[question], session.errors.get(question))
