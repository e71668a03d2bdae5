"""A pair in ShareGPT's form: LLaMA-Factory."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Pair
from .sft_sharegpt import TAGS


def rows(pair: Pair, _: Choices) -> Iterator[Columns]:
    yield {
        **pair.origin.columns,
        "conversations": [{"from": "human", "value": pair.prompt}],
        "chosen": {"from": "gpt", "value": pair.begun + pair.chosen},
        "rejected": {"from": "gpt", "value": pair.begun + pair.rejected},
    }


COLUMNS = {"messages": "conversations", "chosen": "chosen", "rejected": "rejected"}
FORMAT = Format(
    "dpo.sharegpt_ranking",
    ("llamafactory",),
    ("dpo", "prm"),
    Pair,
    rows,
    suffix="json",
    dataset_info={"formatting": "sharegpt", "ranking": True, "columns": COLUMNS, "tags": TAGS},
)
