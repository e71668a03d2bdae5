"""A prompt with a chosen and a rejected continuation: TRL's DPOTrainer, OpenRLHF."""

from __future__ import annotations

from collections.abc import Iterator

from ..calls import replies, user
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


def rows_with_tools(pair: Pair, _: Choices) -> Iterator[Columns]:
    made = replies(pair.origin, [pair.begun + pair.chosen, pair.begun + pair.rejected])
    chosen, rejected = made.turns
    yield {
        **pair.origin.columns,
        "prompt": [user(pair.prompt + made.line)],
        "chosen": [chosen.message],
        "rejected": [rejected.message],
        "tools": made.tools,
    }


FORMAT = Format(
    "dpo.explicit",
    ("trl", "openrlhf"),
    ("dpo", "prm"),
    Pair,
    rows,
    with_tools=Format("dpo.explicit", ("trl",), ("dpo", "prm"), Pair, rows_with_tools),
)
