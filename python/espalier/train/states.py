"""States of recorded trees, each worth the share of good completions through it.

Such shares are the labels of AirRAG's reward model, and of OmegaPRM (arXiv 2406.06592), whose Monte-Carlo estimate of a
state is the share of its rollouts that end right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..errors import InputError
from ..export.records import Steps
from ..export.traces.text import neutral
from .data import Row
from .examples import Dropped
from .reward_text import reward_ids

if TYPE_CHECKING:
    from ..export.tokenizer import Tokenizer

SHOWN = {
    "query": "Query: {}",
    "sub_answer": "Response: {}",
    "own_answer": "Answer from own knowledge: {}",
    "answer": "Answer: {}",
    "thought": "{}",
}
"""How a history shows the parts of a step. Others, such as rewritten queries, are not shown."""


@dataclass(frozen=True)
class State:
    """The text of a state as T token ids."""

    id: str
    ids: Sequence[int]
    """[T]"""
    share: float
    """0 to 1."""

    @property
    def weights(self) -> Sequence[float]:
        """Only the last token is read."""
        return [0.0] * (len(self.ids) - 1) + [1.0]

    @property
    def length(self) -> int:
        return len(self.ids)

    @property
    def learned(self) -> int:
        return 1


def states(chains: Sequence[Row[Steps]]) -> list[Row[Steps]]:
    """The chains up to each of their steps. What several chains share stands there once.

    Raises InputError for a score that is no share.
    """
    found: dict[object, Row[Steps]] = {}
    for row in chains:
        chain = row.record
        if bad := [value for value in chain.values if not 0 <= value <= 1]:
            raise InputError(f"row '{chain.origin.id}': a score of {bad[0]:g} is no share, which lies from 0 to 1")
        for end in range(1, len(chain.steps) + 1):
            cut = replace(chain, steps=chain.steps[:end], values=chain.values[:end], parts=chain.parts[:end])
            found.setdefault((row.question, cut.parts, cut.values[-1]), Row(cut, row.source))
    return list(found.values())


def state_text(state: Steps) -> tuple[str, int]:
    """What a search sends of a finished path, said of any state: question, history and the newest text, a paragraph
    each. And the code point at which the newest text begins. Raises Dropped where nothing is shown."""
    parts = [part for step in state.parts for part in step if part[0] in SHOWN]
    if not parts:
        raise Dropped("its history shows nothing yet")
    history = "\n".join(SHOWN[kind].format(neutral(text)) for kind, text in parts)
    before = f"{neutral(state.prompt)}\n\n{history}\n\n\n"
    return before + neutral(parts[-1][1]), len(before)


def state_example(state: Steps, tokenizer: Tokenizer, longest: int) -> State:
    """A state's tokens. A long history loses its oldest part. Raises Dropped."""
    text, at = state_text(state)
    ids = reward_ids(text, tokenizer, longest, at)
    if ids is None:
        raise Dropped(f"question and step are longer than {longest:,} tokens")
    return State(f"{state.origin.id}:{len(state.steps)}", ids, state.values[-1])
