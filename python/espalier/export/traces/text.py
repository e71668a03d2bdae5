"""How a step of a recorded tree reads in the policy's own turn: the texts of the histories that prompts show."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Segment = Mapping[str, Any]
"""One part of a step: {kind: text} or {"documents": [...]}."""

MARK = re.compile(r"<|\[(?=/?\w*\])|#(?=##)|&(?=lt;|#91;|#35;|amp;)", re.ASCII)
REFERENCES = {"<": "&lt;", "[": "&#91;", "#": "&#35;", "&": "&amp;"}
MEANT = {reference: mark for mark, reference in REFERENCES.items()}
REFERENCE = re.compile("|".join(MEANT))
AROUND = re.compile(r"\s*(</?\w+>)\s*")
CLOSING = re.compile(r"</\w+>$")
CONTROL = re.compile(r"\[/?\w*\]", re.ASCII)


def neutral(text: str) -> str:
    """A text in which no mark of a prompt begins. The rule is that of all prompts (docs/security.md)."""

    def reference(found: re.Match[str]) -> str:
        mark = found.group()
        named = CONTROL.match(text, found.start()) if mark == "[" else None
        return mark if named and sum(c.isupper() for c in named.group()) < 3 else REFERENCES[mark]

    return MARK.sub(reference, text)


def plain(text: str) -> str:
    """The text with the marks that `neutral` replaced."""
    return REFERENCE.sub(lambda found: MEANT[found.group()], text)


def bare(text: str) -> str:
    """A text without what a reading changes: references in place of marks, white space around marks and its amount, the
    closing mark at the end."""
    return CLOSING.sub("", AROUND.sub(r"\1", " ".join(plain(text).split())))


def filled(template: str, slots: Mapping[str, str]) -> str:
    """A template with the texts of its slots. A text that names a slot stays as it is."""
    names = "|".join(map(re.escape, slots))
    return re.sub(f"{{({names})}}", lambda found: slots[found.group(1)], template)


def documents_text(form: str, documents: Sequence[tuple[str, str]]) -> str:
    """Titles and texts of documents, each by the form, which has {rank}, {title} and {text}."""
    shown = "".join(
        form.format(rank=rank, title=neutral(title), text=neutral(text))
        for rank, (title, text) in enumerate(documents, 1)
    )
    return shown or "No documents were found.\n"


@dataclass(frozen=True)
class Marks:
    """What stands around the parts of a method's turns."""

    thought: tuple[str, str]
    query: tuple[str, str]
    answer: tuple[str, str]
    documents: tuple[str, str]
    document: str
    """One document, with {rank}, {title} and {text}."""
    sub_answer: tuple[str, str] = ("", "")

    def around(self, part: str, text: str) -> str:
        begin, end = getattr(self, part)
        return f"{begin} {neutral(text)} {end}"

    def found(self, documents: Sequence[tuple[str, str]]) -> str:
        """Titles and texts of documents, as one block without its last line end."""
        return f"{self.documents[0]}\n{documents_text(self.document, documents)}{self.documents[1]}"


def prorag_step(marks: Marks, step: Segment, begun: bool) -> tuple[str, bool]:
    """A thought and an action, a line each."""
    kind = next(name for name in step if name != "thought")
    said = [marks.around("thought", step["thought"])] if step.get("thought") else []
    return "\n".join([*said, marks.around(kind, step[kind])]), False


def decex_step(marks: Marks, step: Segment, begun: bool) -> tuple[str, bool]:
    """What the policy writes for one node of a chain (DecEx-RAG, Table 3). Questions and own answers join the thought
    of their round, which a query or an answer closes."""
    kind = next(name for name in step if name != "thought")
    words = step.get("thought", "")
    if kind == "sub_question":
        words += f"{' ' * bool(words)}Next sub-question: {step[kind]}"
    elif kind == "own_answer":
        stop = "" if step[kind][-1:] in ("", ".", "!", "?") else "."
        words += f"{' ' * bool(words)}From memory, the answer is {step[kind]}{stop}"
    text = f"{'' if begun or not words else marks.thought[0]}{' ' * bool(words)}{neutral(words)}"
    begun = begun or bool(words)
    if kind not in ("query", "answer"):
        return text, begun
    return text + f" {marks.thought[1]}\n" * begun + marks.around(kind, step[kind]), False


@dataclass(frozen=True)
class Form:
    """How a method's policy writes a chain as one turn."""

    purpose: str
    """The prompt that it follows."""
    marks: Marks
    step: Callable[[Marks, Segment, bool], tuple[str, bool]]
    """The text of a step, and whether a thought is open behind it. The last argument says if one is before it."""
    kinds: tuple[str, ...]
    """Of the steps."""
    keeps_malformed: bool = False
    """A step that could not be read stands in the chain as it was written, and ends it."""


FORMS: dict[str, Form] = {
    "decex": Form(
        "rollout",
        Marks(
            ("<think>", "</think>"),
            ("<search>", "</search>"),
            ("<answer>", "</answer>"),
            ("<information>", "</information>"),
            'Docs {rank}: "{title}"\n{text}\n',
        ),
        decex_step,
        ("sub_question", "own_answer", "query", "answer"),
    ),
    "prorag": Form(
        "step",
        Marks(
            ("<step>", "</step>"),
            ("<subquery>", "</subquery>"),
            ("<answer>", "</answer>"),
            ("<retrieval>", "</retrieval>"),
            "Doc {rank}(Title: {title}) {text}\n",
            ("<subanswer>", "</subanswer>"),
        ),
        prorag_step,
        ("query", "sub_answer", "answer"),
        keeps_malformed=True,
    ),
}
"""The methods whose chains are one turn of the policy."""
