"""What a method's protocol calls its actions, and the marks around them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from .. import _core

Marks = tuple[str, str]
"""Opening and closing."""


@dataclass(frozen=True)
class Protocol:
    """The part of a method's protocol that its training rows show."""

    actions: Mapping[str, Marks]
    """The roles that a reply may end with."""
    thoughts: tuple[Marks, ...]
    """Around what is thought before an action."""
    purposes: Mapping[str, tuple[str, ...]]
    """The actions that end a reply to each prompt. None of them ends a bare text."""
    usual: tuple[str, ...]
    """Purposes of rows that name none. The first that has a row's actions is taken."""


ACTIONS = ("search", "question", "sub_answer", "answer")
"""Roles that rows teach. Judgements and the like are for other models."""
METHODS: Mapping[str, tuple[tuple[Marks, ...], tuple[str, ...]]] = {
    "decex": ((("<reasoning>", "</reasoning>"), ("<think>", "</think>")), ("rollout",)),
    "decouple": ((), ("step",)),
    "prorag": ((("<step>", "</step>"),), ("step",)),
    "reasonrag": ((), ("reasoning", "evidence")),
}
"""The methods that write rows of dialogues and pairs: their thoughts' marks, and their rows' usual purposes."""


@cache
def protocol_of(method: str) -> Protocol:
    """The protocol of one of METHODS."""
    actions: dict[str, Marks] = {}
    purposes: dict[str, tuple[str, ...]] = {}
    for purpose, _, _, returned in _core.method_prompts(method):
        own = {role: (opening, closing) for role, opening, closing in returned if opening}
        if all(role in ACTIONS for role in own):
            actions |= own
            purposes[purpose] = tuple(own)
    thoughts, usual = METHODS[method]
    return Protocol(actions, thoughts, purposes, usual)
