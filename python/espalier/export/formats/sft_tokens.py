"""Token ids with labels and weights in Parquet: TRL's SFTTrainer takes ids and labels as they are. Weights need your
own collator."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..format import Choices, Columns, Format
from ..records import Dialogue
from ..tokens import tokenised


def rows(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    assert choices.tokenizer is not None
    text = tokenised(dialogue, choices.tokenizer, choices.style)
    yield {
        **dialogue.origin.columns,
        "input_ids": text.ids,
        "labels": text.labels,
        "loss_weights": text.weights,
    }


def schema() -> Any:
    import pyarrow as pa

    from ..parquet import meta

    ids = pa.list_(pa.int64())
    columns = [("input_ids", ids), ("labels", ids), ("loss_weights", pa.list_(pa.float64()))]
    return pa.schema([("id", pa.string()), ("meta", meta()), *columns])


FORMAT = Format(
    "sft.tokens", ("trl",), ("sft", "rft"), Dialogue, rows, suffix="parquet", schema=schema, needs_tokenizer=True
)
