"""Engines and the parts that they are made of, sessions, and the events of a search."""

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
from .events import DoneEvent, NodeEvent, PrunedEvent, SimulationEvent

__all__ = [
    "F1",
    "Accuracy",
    "Agreement",
    "Beam",
    "DoneEvent",
    "Environment",
    "ExactMatch",
    "Mcts",
    "NodeEvent",
    "PrunedEvent",
    "Puct",
    "Rollout",
    "Search",
    "Session",
    "SimulationEvent",
    "State",
    "Uct",
]
