"""An instruction and its output, earlier turns as history: LLaMA-Factory. It trains the answers in the history too."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Dialogue
from . import sft_sharegpt


def rows(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    for row in sft_sharegpt.rows(dialogue, choices):
        texts = [said["value"] for said in row["conversations"]]
        yield {
            **dialogue.origin.columns,
            "instruction": texts[-2],
            "input": "",
            "output": texts[-1],
            "system": row["system"],
            "history": [texts[i : i + 2] for i in range(0, len(texts) - 2, 2)],
        }


COLUMNS = {"prompt": "instruction", "query": "input", "response": "output", "system": "system", "history": "history"}
FORMAT = Format(
    "sft.alpaca",
    ("llamafactory",),
    ("sft", "rft"),
    Dialogue,
    rows,
    suffix="json",
    dataset_info={"formatting": "alpaca", "columns": COLUMNS},
)
