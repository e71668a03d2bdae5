"""The text of which a process reward model says one number, in training and behind a server alike.

It is what `espalier annotate --with prm=URL` sends: question, history and newest step, a paragraph each. A text that is
too long loses the oldest part of its history. The question and the newest step are never cut.
"""

from __future__ import annotations

from ..export.records import Pair
from ..export.tokenizer import Tokenizer
from ..export.traces.text import neutral


def before_step(pair: Pair) -> str:
    """The text before the two steps of a pair, whose prompt is `Question: ...` and the history."""
    question, _, history = pair.prompt.removeprefix("Question: ").partition("\n")
    return f"{neutral(question)}\n\n{history}\n\n"


def reward_ids(text: str, tokenizer: Tokenizer, longest: int, step: int = 0) -> list[int] | None:
    """The tokens of a text, at most `longest`. The question is what stands before the first empty line. The step begins
    at code point `step`. None = question and step alone are longer."""
    ids, offsets = tokenizer.encode(text, special=False)
    if len(ids) <= longest:
        return ids
    question = text.find("\n\n") + 2
    head = [i for i, (begin, _) in zip(ids, offsets, strict=True) if begin < question]
    room = longest - len(head)
    newest = sum(end > step for _, end in offsets)
    if room < (newest if step else 1):
        return None
    return head + ids[-room:]
