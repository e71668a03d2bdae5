"""A conversation of alternating sides: LLaMA-Factory. Documents are observations, which it keeps out of the loss."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Dialogue

SIDES = {"user": "human", "assistant": "gpt", "tool": "observation"}


def rows(dialogue: Dialogue, _: Choices) -> Iterator[Columns]:
    said = [m for m in dialogue.messages if m.role != "system"]
    if any((m.role == "assistant") != (i % 2 == 1) for i, m in enumerate(said)):
        raise ValueError(f"row '{dialogue.origin.id}': its sides do not alternate, which ShareGPT's form asks for")
    yield {
        **dialogue.origin.columns,
        "system": "\n".join(m.content for m in dialogue.messages if m.role == "system"),
        "conversations": [{"from": SIDES[m.role], "value": m.content} for m in said],
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
FORMAT = Format(
    "sft.sharegpt",
    ("llamafactory",),
    ("sft", "rft"),
    Dialogue,
    rows,
    suffix="json",
    dataset_info={
        "formatting": "sharegpt",
        "columns": {"messages": "conversations", "system": "system"},
        "tags": TAGS,
    },
)
