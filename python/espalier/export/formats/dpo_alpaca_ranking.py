"""A pair in Alpaca's form: LLaMA-Factory."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Pair


def rows(pair: Pair, _: Choices) -> Iterator[Columns]:
    yield {
        **pair.origin.columns,
        "instruction": pair.prompt,
        "input": "",
        "chosen": pair.begun + pair.chosen,
        "rejected": pair.begun + pair.rejected,
    }


COLUMNS = {"prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected"}
FORMAT = Format(
    "dpo.alpaca_ranking",
    ("llamafactory",),
    ("dpo", "prm"),
    Pair,
    rows,
    suffix="json",
    dataset_info={"formatting": "alpaca", "ranking": True, "columns": COLUMNS},
)
