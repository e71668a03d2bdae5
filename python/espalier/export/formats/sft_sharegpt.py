"""A conversation of alternating sides: LLaMA-Factory. Documents are observations, which it keeps out of the loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .. import calls
from ..format import Choices, Columns, Format
from ..records import Dialogue


def rows(dialogue: Dialogue, _: Choices) -> Iterator[Columns]:
    yield row(dialogue, [said.plain for said in dialogue.messages])


def rows_with_tools(dialogue: Dialogue, _: Choices) -> Iterator[Columns]:
    messages, tools = calls.chat(dialogue)
    yield {**row(dialogue, messages), "tools": tools}


def row(dialogue: Dialogue, messages: Sequence[Columns]) -> Columns:
    said = [m for m in messages if m["role"] != "system"]
    if any((m["role"] == "assistant") != (i % 2 == 1) for i, m in enumerate(said)):
        raise ValueError(f"row '{dialogue.origin.id}': its sides do not alternate, which ShareGPT's form asks for")
    return {
        **dialogue.origin.columns,
        "system": "\n".join(m["content"] for m in messages if m["role"] == "system"),
        "conversations": [calls.sharegpt(dialogue.origin.id, m) for m in said],
    }


TAGS = {
    "role_tag": "from",
    "content_tag": "value",
    "user_tag": "human",
    "assistant_tag": "gpt",
    "observation_tag": "observation",
    "function_tag": "function_call",
    "system_tag": "system",
}
COLUMNS = {"messages": "conversations", "system": "system"}
FORMAT = Format(
    "sft.sharegpt",
    ("llamafactory",),
    ("sft", "rft"),
    Dialogue,
    rows,
    suffix="json",
    dataset_info={"formatting": "sharegpt", "columns": COLUMNS, "tags": TAGS},
    with_tools=Format(
        "sft.sharegpt",
        ("llamafactory",),
        ("sft", "rft"),
        Dialogue,
        rows_with_tools,
        suffix="json",
        dataset_info={"formatting": "sharegpt", "columns": {**COLUMNS, "tools": "tools"}, "tags": TAGS},
    ),
)
