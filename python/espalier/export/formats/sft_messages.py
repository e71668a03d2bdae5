"""A conversation, documents in the tool's turns: TRL's SFTTrainer, LLaMA-Factory. The latter is told to read it as
ShareGPT's form with other names, since it adds words of its own to the system's turn in what it takes for OpenAI's."""

from __future__ import annotations

from collections.abc import Iterator

from ..calls import chat
from ..format import Choices, Columns, Format
from ..records import Dialogue


def rows(dialogue: Dialogue, _: Choices) -> Iterator[Columns]:
    yield {**dialogue.origin.columns, "messages": [said.plain for said in dialogue.messages]}


def rows_with_tools(dialogue: Dialogue, _: Choices) -> Iterator[Columns]:
    messages, tools = chat(dialogue)
    yield {**dialogue.origin.columns, "messages": messages, "tools": tools}


TAGS = {
    "role_tag": "role",
    "content_tag": "content",
    "user_tag": "user",
    "assistant_tag": "assistant",
    "observation_tag": "tool",
    "function_tag": "function_call",
    "system_tag": "system",
}
FORMAT = Format(
    "sft.messages",
    ("trl", "llamafactory"),
    ("sft", "rft"),
    Dialogue,
    rows,
    dataset_info={"formatting": "sharegpt", "columns": {"messages": "messages"}, "tags": TAGS},
    with_tools=Format("sft.messages", ("trl",), ("sft", "rft"), Dialogue, rows_with_tools),
)
