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
from ..gone import absent

__all__ = [
    "F1",
    "Accuracy",
    "Agreement",
    "Beam",
    "Environment",
    "ExactMatch",
    "Mcts",
    "Puct",
    "Rollout",
    "Search",
    "Session",
    "State",
    "Uct",
]
if not TYPE_CHECKING:
    __getattr__ = absent(__name__)
