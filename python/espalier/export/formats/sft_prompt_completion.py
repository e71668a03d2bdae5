"""A prompt and its completion: TRL's SFTTrainer, OpenRLHF. A conversation gives a row a turn of the assistant."""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Dialogue


def rows(dialogue: Dialogue, choices: Choices) -> Iterator[Columns]:
    origin = dialogue.origin.columns
    if choices.style == "standard":
        if not dialogue.one_turn:
            raise ValueError(f"row '{dialogue.origin.id}' is a conversation and has no standard form")
        prompt, completion = dialogue.messages
        yield {**origin, "prompt": prompt.content, "completion": completion.content}
        return
    for i, message in enumerate(dialogue.messages):
        if message.role == "assistant":
            own = origin if dialogue.one_turn else {**origin, "id": f"{dialogue.origin.id}/{i}"}
            yield {**own, "prompt": [said.plain for said in dialogue.messages[:i]], "completion": [message.plain]}


FORMAT = Format("sft.prompt_completion", ("trl", "openrlhf"), ("sft", "rft"), Dialogue, rows)
