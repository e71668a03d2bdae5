"""The texts of which a value model says two numbers and a process reward model one, in training and behind a server.

A text that is too long loses the oldest part of its history, never the question or the newest step (docs/train.md).
"""

import re
from dataclasses import dataclass, field

from ..export.records import Dialogue, Pair
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


ACTION = re.compile(r"^(?:Search|Finish)\(", re.MULTILINE)


@dataclass
class ValueText:
    """A row's text. Places are code points."""

    text: str
    learned: list[tuple[int, int]] = field(default_factory=list)
    """[begin, end) of what the policy wrote."""
    plans: list[tuple[int, float]] = field(default_factory=list)
    """Where a plan value is read, and what it should be, -1 to 1."""
    searches: list[tuple[int, float]] = field(default_factory=list)


def value_text(dialogue: Dialogue) -> ValueText:
    """The text of a row of value.jsonl."""
    question = next(message.content for message in dialogue.messages if message.role == "user")
    made = ValueText(f"Question: {question}\n")
    for message in dialogue.messages:
        if message.role == "assistant":
            at = message.value_at or 0
            thought, action = message.content[:at], message.content[at:].lstrip("\n")
            begin = len(made.text)
            made.text += f"Thought: {thought}\n" if thought else ""
            if message.value is not None:
                made.plans.append((len(made.text.rstrip()), message.value))
            made.text += f"{action}\n"
            made.learned.append((begin, len(made.text)))
        elif message.role == "tool":
            made.text += f"Observation:\n{message.content}\n"
            if message.value is not None:
                made.searches.append((len(made.text.rstrip()), message.value))
    return made


def places(text: str) -> tuple[int, int]:
    """Where the plan value and the search value of a state's text are read: its code points before each place."""
    actions = [found.start() for found in ACTION.finditer(text)]
    end = len(text.rstrip())
    return (len(text[: actions[-1]].rstrip()) if actions else end), end


def token_at(offsets: list[tuple[int, int]], at: int) -> int:
    """The last token that begins before a place."""
    return max((i for i, (begin, _) in enumerate(offsets) if begin < at), default=0)
