"""A prompt with a chosen and a rejected continuation: TRL's DPOTrainer, OpenRLHF."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Pair


def rows(pair: Pair, choices: Choices) -> Iterator[Columns]:
    if choices.style == "standard":
        texts = {"prompt": pair.prompt + pair.begun, "chosen": pair.chosen, "rejected": pair.rejected}
        yield {**pair.origin.columns, **texts}
        return
    yield {
        **pair.origin.columns,
        "prompt": [{"role": "user", "content": pair.prompt}],
        "chosen": [{"role": "assistant", "content": pair.begun + pair.chosen}],
        "rejected": [{"role": "assistant", "content": pair.begun + pair.rejected}],
    }


FORMAT = Format("dpo.explicit", ("trl", "openrlhf"), ("dpo", "prm"), Pair, rows)
