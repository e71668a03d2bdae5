"""The trees of a run in memory, and what could be read of the replies to them."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable
from typing import Any

from .._core import Tree
from ..errors import UnreadableWarning
from ..runs.summary import readable_share, unread_warning


class Trees(list[Tree]):
    """The trees of a run in memory, in the order of the questions."""

    @property
    def readable(self) -> dict[str, float]:
        """By purpose, the share from 0 to 1 of the completions that could be read."""
        shares = {purpose: readable_share([cost]) for purpose, cost in by_purpose(self).items()}
        return {purpose: share for purpose, share in shares.items() if share is not None}


def by_purpose(trees: Iterable[Tree]) -> dict[str, dict[str, int]]:
    """The counts of a run's summary that say what could be read."""
    sums: dict[str, dict[str, int]] = {}
    for tree in trees:
        for purpose, cost in tree.costs.items():
            entry = sums.setdefault(purpose, {"calls": 0, "readable": 0, "cut": 0})
            entry["calls"] += cost["completions"]
            entry["readable"] += cost["completions"] - cost["unread"]
            entry["cut"] += cost["cut"]
    return sums


def with_reward(options: str, reward: object) -> str:
    """The options of a search as JSON, with the name of a reward of one's own."""
    if reward is None or "reward" not in (row := json.loads(options)):
        return options
    reward = getattr(reward, "function", reward)  # of a PerRequest
    names = [getattr(reward, attribute, None) for attribute in ("fingerprint", "name", "__qualname__")]
    names.append(repr(reward) if type(reward).__module__.startswith("espalier") else type(reward).__qualname__)
    name = next(name for name in names if isinstance(name, str))
    return json.dumps(row | {"reward": name}, ensure_ascii=False, separators=(",", ":"))


def tell(trees: Iterable[Tree | None]) -> None:
    """Warns of replies that could not be read, and of a value outside the declared range. Every call ends with it."""
    grown = [tree for tree in trees if tree is not None]
    frame, level = sys._getframe(1), 2
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("espalier."):
        frame, level = frame.f_back, level + 1
    if outside := next((tree.outside for tree in grown if tree.outside), ""):
        warnings.warn(f"{outside}, for which the exploration weight is meant", UserWarning, stacklevel=level)
    first: dict[str, Any] = {}
    for tree in grown:
        for purpose, (text, cut_at) in tree.first_unread.items():
            first.setdefault(purpose, {"question": tree.question.id, "text": text, "cut_at": cut_at})
    if first:
        failed = sum(tree.status == "failed" for tree in grown)
        told = {"method": grown[0].method, "questions": len(grown), "failed": failed}
        if said := unread_warning(told | {"by_purpose": by_purpose(grown), "first_unread": first}):
            warnings.warn(said, UnreadableWarning, stacklevel=level)
