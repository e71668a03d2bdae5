"""Token ids with the places at which plan and search values are read, in Parquet: for a trainer of two value heads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..format import Choices, Columns, Format
from ..records import Dialogue
from ..tokens import IGNORED, tokenised


def rows(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    assert choices.tokenizer is not None
    text = tokenised(dialogue, choices.tokenizer, "conversational")
    valued = [(i, m) for i, m in enumerate(dialogue.messages) if m.value is not None]
    plans = [(i, m) for i, m in valued if m.role == "assistant"]
    searches = [(i, m) for i, m in valued if m.role == "tool"]
    yield {
        **dialogue.origin.columns,
        "input_ids": text.ids,
        "labels": text.labels if dialogue.policy_loss else [IGNORED] * len(text.ids),
        "value_pos_plan": [text.position(i, m.value_at or 0) for i, m in plans],
        "v_plan": [m.value for _, m in plans],
        "value_pos_search": [text.position(i, m.value_at or 0) for i, m in searches],
        "v_search": [m.value for _, m in searches],
        "is_correct": dialogue.correct,
    }


def schema() -> Any:
    import pyarrow as pa

    from ..parquet import meta

    ids, values = pa.list_(pa.int64()), pa.list_(pa.float64())
    return pa.schema(
        [
            ("id", pa.string()),
            ("meta", meta()),
            ("input_ids", ids),
            ("labels", ids),
            ("value_pos_plan", ids),
            ("v_plan", values),
            ("value_pos_search", ids),
            ("v_search", values),
            ("is_correct", pa.bool_()),
        ]
    )


FORMAT = Format(
    "value.dual", ("your own",), ("value",), Dialogue, rows, suffix="parquet", schema=schema, needs_tokenizer=True
)
