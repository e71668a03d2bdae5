"""A prompt and its completion: TRL's SFTTrainer, OpenRLHF. A conversation gives one row per turn of the assistant."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..calls import chat
from ..format import Choices, Columns, Format
from ..records import Dialogue


def rows(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    if choices.style == "standard":
        if not dialogue.one_turn:
            raise ValueError(f"row '{dialogue.origin.id}' is a conversation and has no standard form")
        prompt, completion = dialogue.messages
        yield {**dialogue.origin.columns, "prompt": prompt.content, "completion": completion.content}
        return
    yield from split(dialogue, [said.plain for said in dialogue.messages])


def rows_with_tools(dialogue: Dialogue, _: Choices) -> Iterator[Columns]:
    messages, tools = chat(dialogue)
    for row in split(dialogue, messages):
        yield {**row, "tools": tools}


def split(dialogue: Dialogue, messages: Sequence[Columns]) -> Iterator[Columns]:
    """A row for each turn of the assistant."""
    origin = dialogue.origin.columns
    for i, message in enumerate(messages):
        if message["role"] == "assistant":
            own = origin if dialogue.one_turn else {**origin, "id": f"{dialogue.origin.id}/{i}"}
            yield {**own, "prompt": list(messages[:i]), "completion": [message]}


FORMAT = Format(
    "sft.prompt_completion",
    ("trl", "openrlhf"),
    ("sft", "rft"),
    Dialogue,
    rows,
    with_tools=Format("sft.prompt_completion", ("trl",), ("sft", "rft"), Dialogue, rows_with_tools),
)
