"""Engines, the parts that they are made of, and sessions."""

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
