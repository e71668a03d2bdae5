"""Questions with what a reward needs to know: TRL's GRPOTrainer, which hands all columns to reward functions, and
OpenRLHF, which hands them the column that is named as its label."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Asked


def rows(asked: Asked, choices: Choices) -> Iterator[Columns]:
    conversational = choices.style == "conversational"
    yield {
        "id": asked.origin.id,
        "prompt": [{"role": "user", "content": asked.question}] if conversational else asked.question,
        "question": asked.question,
        "answers": list(asked.answers),
    }


FORMAT = Format("rl.prompts", ("trl", "openrlhf"), ("trees",), Asked, rows)
