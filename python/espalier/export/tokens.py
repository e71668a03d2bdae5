"""A dialogue as token ids, with labels and weights."""

from __future__ import annotations

from dataclasses import dataclass

from .records import Dialogue
from .tokenizer import Content, Tokenizer

IGNORED = -100
"""The label of a token that is not learned."""


@dataclass(frozen=True)
class Tokens:
    ids: list[int]
    labels: list[int]
    weights: list[float]
    """In the loss; 0 where the label is ignored."""


def tokenised(dialogue: Dialogue, tokenizer: Tokenizer, style: str) -> Tokens:
    """In standard style: prompt and completion as they are, and the end-of-text token. Otherwise by the chat template,
    where all assistant turns and their ends are learned. A token is learned if it holds a learned code point."""
    learned: list[tuple[int, int]] = []
    if style == "standard":
        if not dialogue.one_turn:
            raise ValueError(f"row '{dialogue.origin.id}' is a conversation and has no standard form")
        prompt, completion = (message.content for message in dialogue.messages)
        text = prompt + completion
        contents = [Content(0, len(prompt), 0), Content(len(prompt), len(text), 0)]
        if not text.endswith(tokenizer.eos):
            text += tokenizer.eos
        learned.append((len(prompt), len(text)))
    else:
        text, contents = tokenizer.conversation([message.plain for message in dialogue.messages])
        for i, (message, content) in enumerate(zip(dialogue.messages, contents, strict=True)):
            next_one = contents[i + 1].begin if i + 1 < len(contents) else len(text)
            if message.role == "assistant":
                learned.append((content.begin, tokenizer.end_of_turn(text, content.end, next_one)))
    ids, offsets = tokenizer.encode(text, special=style == "standard")
    last = contents[-1]
    spans = [(last.place(begin), last.place(end), weight) for begin, end, weight in dialogue.weights]
    labels, weights = [], []
    for token, (begin, end) in zip(ids, offsets, strict=True):
        first = next((max(begin, b) for b, e in learned if begin < e and b < end), None)
        labels.append(IGNORED if first is None else token)
        own = 0.0 if first is None else next((w for b, e, w in spans if b <= first < e), 1.0)
        weights.append(own)
    return Tokens(ids, labels, weights)
