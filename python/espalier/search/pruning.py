"""Ready-made pruning policies, for `prune=` of any engine or method."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from .._core import Pruning
from ..bridge.pruning import Sibling

if TYPE_CHECKING:
    from ..protocols import PruningLike

AllOf = Pruning
"""Several policies in order. Each sees what those before it left."""


class TopK(Pruning):
    """Keeps the k best by value, then prior, then age."""

    def __init__(self, k: int) -> None:
        super().__init__(f"top_k:{k}")


class Threshold(Pruning):
    """Cuts values below a number, or so far below the best sibling or the parent. What has no value stays."""

    def __init__(self, threshold: float, of: Literal["number", "best", "parent"] = "number") -> None:
        super().__init__(f"threshold:{threshold}" + ("" if of == "number" else f":{of}"))


class Budgeted(Pruning):
    """Keeps the k best at first, and fewer the more of so many `calls` are spent, one in the end."""

    def __init__(self, calls: int, k: int) -> None:
        super().__init__(f"budgeted:{calls}:{k}")


class BestOfEachKind(Pruning):
    """Keeps the best of each kind."""

    def __init__(self) -> None:
        super().__init__("best_of_each_kind")


class Dedup:
    """Keeps the best of the siblings of equal kind and key, such as `Dedup(str.lower)` of the actions' texts."""

    def __init__(self, key: Callable[[Any], Any]) -> None:
        self.key = key
        self.name = f"dedup by {getattr(key, '__qualname__', type(key).__qualname__)}"

    def __call__(self, siblings: Sequence[Sibling]) -> list[int]:
        best: dict[Any, int] = {}
        for one in sorted(siblings, key=lambda one: (-one.value, -one.prior, one.id)):
            best.setdefault((one.kind, self.key(one.action)), one.id)
        return [one.id for one in siblings if one.id not in best.values()]


class Before(Pruning):
    """Asks a policy ahead of values, where a cut saves the calls for them."""

    def __init__(self, policy: PruningLike) -> None:
        super().__init__(policy, moment="before")


class Keep(Pruning):
    """Asks a policy when a node has all its children and their values."""

    def __init__(self, policy: PruningLike) -> None:
        super().__init__(policy, moment="keep")
