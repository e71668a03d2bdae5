"""A pair in ShareGPT's form: LLaMA-Factory."""

from __future__ import annotations

from collections.abc import Iterator

from ..calls import sharegpt
from ..format import Choices, Columns, Format
from ..records import Pair
from . import dpo_explicit
from .sft_sharegpt import TAGS


def rows(pair: Pair, _: Choices) -> Iterator[Columns]:
    yield {
        **pair.origin.columns,
        "conversations": [{"from": "human", "value": pair.prompt}],
        "chosen": {"from": "gpt", "value": pair.begun + pair.chosen},
        "rejected": {"from": "gpt", "value": pair.begun + pair.rejected},
    }


def rows_with_tools(pair: Pair, choices: Choices) -> Iterator[Columns]:
    for row in dpo_explicit.rows_with_tools(pair, choices):
        [prompt], [chosen], [rejected] = (row[name] for name in ("prompt", "chosen", "rejected"))
        yield {
            **pair.origin.columns,
            "conversations": [sharegpt(pair.origin.id, prompt)],
            "chosen": sharegpt(pair.origin.id, chosen),
            "rejected": sharegpt(pair.origin.id, rejected),
            "tools": row["tools"],
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
    with_tools=Format(
        "dpo.sharegpt_ranking",
        ("llamafactory",),
        ("dpo", "prm"),
        Pair,
        rows_with_tools,
        suffix="json",
        dataset_info={
            "formatting": "sharegpt",
            "ranking": True,
            "columns": {**COLUMNS, "tools": "tools"},
            "tags": TAGS,
        },
    ),
)
