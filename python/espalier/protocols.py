"""What Espalier asks of the parts that a user brings, for type checkers: any function or object of that shape will do.

Each is called with a list of requests, once for everything that waits in all trees, and gives back one result per
request in their order, at once or from an `async def`. In place of a result there may stand an exception. The compiled
parts (`Bm25`, `OpenAi`, `F1` ...) have these shapes too. Each `...Like` is that shape or, for one request at a time, a
`PerRequest`: what functions of Espalier take.

A judge is a language model for its purpose: `Method("prorag", models={"judge": f})`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from ._core import Completion, EncodeRequest, Passage, Prompt, Pruning, Query, RerankRequest, Siblings, State
from .bridge.per_request import PerRequest
from .bridge.pruning import Sibling, Verdict

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Backup", "Batch", "Encoder", "EncoderLike", "Evaluator", "LanguageModel", "LanguageModelLike", "Problem",
    "PruningLike", "PruningPolicy", "Reranker", "RerankerLike", "Retriever", "RetrieverLike", "RewardFunction",
    "RewardLike", "Rows", "SelectionPolicy", "SiblingSelectionPolicy",
]  # fmt: skip

T = TypeVar("T")
Batch: TypeAlias = Sequence[T | BaseException] | Awaitable[Sequence[T | BaseException]]
"""A result, or an exception in its place, for each item; or what can be awaited for them."""

Matrix: TypeAlias = "ArrayLike | Sequence[ArrayLike | BaseException]"
Rows: TypeAlias = "Matrix | Awaitable[Matrix]"
"""A row of numbers for each item: an array, or a sequence of rows; or what can be awaited for them."""


class LanguageModel(Protocol):
    """One sample for each prompt: text, or a Completion that also knows its tokens and how it ended."""

    def __call__(self, prompts: list[Prompt], /) -> Batch[str | Completion]: ...


LanguageModelLike: TypeAlias = LanguageModel | PerRequest[str | Completion | BaseException]


class Retriever(Protocol):
    """Up to `query.k` passages for each query, best first."""

    def __call__(self, queries: list[Query], /) -> Batch[Sequence[Passage]]: ...


RetrieverLike: TypeAlias = Retriever | PerRequest[Sequence[Passage] | BaseException]


class Encoder(Protocol):
    """A vector for each text, all of one length."""

    def __call__(self, requests: list[EncodeRequest], /) -> Rows: ...


EncoderLike: TypeAlias = Encoder | PerRequest[Any]


class Reranker(Protocol):
    """For each request a score for each of its texts. The highest is best."""

    def __call__(self, requests: list[RerankRequest], /) -> Rows: ...


RerankerLike: TypeAlias = Reranker | PerRequest[Any]


class RewardFunction(Protocol):
    """A number for each of the states in which searches over questions ended."""

    def __call__(self, states: list[State], /) -> Batch[float]: ...


RewardLike: TypeAlias = RewardFunction | PerRequest[float | BaseException]


class Problem(Protocol):
    """The environment of `espalier.problem`. Lists come in and go out, an item for each state.

    `propose`, `step` and the value of states may take one more argument `seeds`: a number from 0 to 2^64 - 1 for each
    item, made from the search's seed and the place in the tree. What is drawn by these alone is the same in any batch.
    """

    @property
    def kinds(self) -> Callable[[list[Any]], Batch[Sequence[int]]] | PerRequest[Sequence[int] | BaseException]:
        """kinds(states): the legal kinds of each, numbers from 0 to 255 in order. An empty list ends the path there."""

    @property
    def propose(self) -> Callable[..., Batch[Sequence[Any]]] | PerRequest[Sequence[Any] | BaseException]:
        """propose(states, kinds, counts): up to so many actions of that kind for each state.

        An action stands alone or in a Proposal with its prior. Actions that are equal (==) become one child.
        """

    @property
    def step(self) -> Callable[..., Batch[Any]] | PerRequest[Any]:
        """step(states, actions): the states that follow. A state is kept as it is: give back a new one."""


Evaluator: TypeAlias = Callable[..., Batch[float]] | PerRequest[float | BaseException]
"""evaluator(states), with `seeds` if it wants them: a value for each of a problem's states, final or not."""


Counts: TypeAlias = "NDArray[np.int64]"
Numbers: TypeAlias = "NDArray[np.float64]"


class SelectionPolicy(Protocol):
    """A score for each child of a node. The highest is selected, the oldest of equals.

    N: visits with those under way. Q: mean values, 0 where N is 0, the parent's where all are under way. P: priors.
    """

    def __call__(self, visits: Counts, values: Numbers, priors: Numbers, /) -> ArrayLike: ...


class SiblingSelectionPolicy(Protocol):
    """A SelectionPolicy that also takes `siblings`: all that a native selection reads of a node's children."""

    def __call__(self, visits: Counts, values: Numbers, priors: Numbers, /, *, siblings: Siblings) -> ArrayLike: ...


Pruned: TypeAlias = Iterable[int] | Iterable[tuple[int, str]] | Verdict
"""What a pruning policy cuts: ids of siblings, or pairs of an id and a reason."""


class PruningPolicy(Protocol):
    """Which siblings to cut, once they have values. `before` and `keep`, if it has them, are asked at their moments."""

    def __call__(self, siblings: Sequence[Sibling], /) -> Pruned: ...


class _Before(Protocol):
    def before(self, siblings: Sequence[Sibling], /) -> Pruned: ...


class _Keep(Protocol):
    def keep(self, siblings: Sequence[Sibling], /) -> Pruned: ...


PruningLike: TypeAlias = str | Pruning | PruningPolicy | _Before | _Keep


class Backup(Protocol):
    """The new sums of values from the leaf to the root, of its visits (with this one) and the sums so far."""

    def __call__(self, value: float, visits: Counts, sums: Numbers, /) -> ArrayLike: ...
