"""Engines, the parts that they are made of, and sessions."""

from typing import TYPE_CHECKING

from .._core import (
    F1,
    Accuracy,
    Agreement,
    Beam,
    Environment,
    ExactMatch,
    Mcts,
    Puct,
    Rollout,
    Search,
    Session,
    State,
    Uct,
)
from ..bridge.pruning import Sibling, Verdict
from ..gone import absent
from .pruning import AllOf, Before, BestOfEachKind, Budgeted, Dedup, Keep, Threshold, TopK

__all__ = [
    "F1", "Accuracy", "Agreement", "AllOf", "Beam", "Before", "BestOfEachKind", "Budgeted", "Dedup", "Environment",
    "ExactMatch", "Keep", "Mcts", "Puct", "Rollout", "Search", "Session", "Sibling", "State", "Threshold", "TopK",
    "Uct", "Verdict",
]  # fmt: skip
__dir__ = __all__.copy
if not TYPE_CHECKING:
    __getattr__ = absent(__name__)
