"""Trees of methods that ask each step by a prompt of its own, which does not go on from the prompt before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import _core
from ...io.fields import Fields
from ..records import Trace, TraceNode
from .maker import Maker, unread
from .text import documents_text, filled, neutral

ROLES = {"query": "search"}
"""What a method's protocol calls a kind of reply, if not by the kind's name."""


@dataclass(frozen=True)
class State:
    """What was said and found on a path."""

    question: str
    segments: tuple[tuple[str, Any], ...] = ()
    """(kind, text), or ("documents", the titles and texts)."""

    def and_then(self, *more: tuple[str, Any]) -> State:
        return replace(self, segments=(*self.segments, *more))

    @property
    def retrievals(self) -> int:
        return sum(kind == "documents" for kind, _ in self.segments)


@dataclass(frozen=True)
class AskedForm:
    """How a method asks for the steps of a chain."""

    shown: Mapping[str, tuple[str, str]]
    """What stands around the parts of its histories, by kind. Others are not shown."""
    document: str
    """One document, with {rank}, {title} and {text}."""
    replies: tuple[str, ...]
    """The kinds that the policy writes."""
    purpose: Callable[[State, str, bool, Fields], str]
    """The purpose of the prompt for a reply, from the state before it, its kind, whether the tree says that it was
    forced, and the run's options."""

    def history(self, state: State) -> str:
        said = ""
        for kind, what in state.segments:
            if kind in self.shown:
                before, after = self.shown[kind]
                said += (
                    f"{before}{documents_text(self.document, what) if kind == 'documents' else neutral(what)}{after}\n"
                )
        return said or "(nothing yet)\n"

    def slots(self, state: State, kind: str) -> Mapping[str, str]:
        """The texts of the slots of the prompt for a reply."""
        slots = {"question": neutral(state.question), "history": self.history(state)}
        if kind == "sub_answer":
            (_, query), (_, found) = state.segments[-2:]
            slots |= {"query": neutral(query), "documents": documents_text(self.document, found)}
        return slots


def reply_text(marks: tuple[str, str], thought: str, text: str) -> str:
    """A step as the reply to its prompt. Reading it gives the step again."""
    (opening, closing), said = marks, neutral(text)
    if opening:
        blank = "" if opening[-1] in "([{" else " "
        said = f"{opening}{blank}{said}" + (f"{blank}{closing}" if closing.strip() else "")
    return f"{neutral(thought)}\n{said}" if thought else said


def decouple_purpose(state: State, kind: str, forced: bool, options: Fields) -> str:
    return "forced_answer" if forced else "step"


def reasonrag_purpose(state: State, kind: str, forced: bool, options: Fields) -> str:
    """Rollouts do not say which answers were forced. It follows from the rounds."""
    if kind == "sub_answer":
        return "evidence"
    if forced:
        return "forced_answer"
    over = kind == "answer" and state.retrievals >= options.whole("max_rounds")
    if over and (not options.data.get("last_word") or state.segments[-1][0] == "query"):
        return "forced_answer"
    return "reasoning" if state.retrievals else "begin_reasoning"


DECOUPLE = AskedForm(
    {"thought": ("Thought: ", ""), "query": ("Search(", ")"), "documents": ("Observation:\n", "")},
    "Doc {rank}(Title: {title}) {text}\n",
    ("query", "answer"),
    decouple_purpose,
)
ASKED: dict[str, AskedForm] = {
    "decouple": DECOUPLE,
    "greedy-agent": DECOUPLE,
    "reasonrag": AskedForm(
        {"thought": ("", ""), "query": ("<query> ", " </query>"), "sub_answer": ("<evidence> ", " </evidence>")},
        'Docs {rank}: "{title}"\n{text}\n',
        ("query", "sub_answer", "answer"),
        reasonrag_purpose,
    ),
}
"""The methods whose trees ask a prompt for each step."""


class AskedMaker(Maker[State]):
    """A tree in which each step has a prompt of its own. Equal prompts at a place stand once."""

    def __init__(self, row: Fields, form: AskedForm, templates: Mapping[str, str]) -> None:
        super().__init__(row, State(row.text("question")))
        self._form, self._templates = form, templates
        self._options = row.row("options")
        self._forced = {number for number, node in enumerate(row.rows("nodes")) if node.has("forced")}
        self._marks = {
            (purpose, role): (opening, closing)
            for purpose, _, _, returned in _core.method_prompts(row.text("method"))
            for role, opening, closing in returned
        }
        self._prompts: dict[tuple[int | None, str], int] = {}
        """By the place above and the text: the place of the prompt."""

    def trace(self) -> Trace:
        self._read_nodes()
        outcomes = self._rollouts()
        rewards = process_rewards(self._row) if self._row.text("method") == "reasonrag" else {}
        return self._trace("", outcomes, rewards)

    def _extend(
        self, at: int | None, here: State, parts: Sequence[Fields], number: int, rollout: int | None = None
    ) -> tuple[int | None, State]:
        thought = ""
        forced = rollout is None and number in self._forced
        for place, part in enumerate(parts):
            [kind] = part.data
            if kind == "thought":
                thought = part.text(kind)
            elif kind in self._form.replies:
                text = part.text(kind)
                purpose = self._form.purpose(here, kind, forced, self._options)
                slots = self._form.slots(here, kind)
                at = self._prompt(at, filled(self._templates[purpose], slots), number)
                said = reply_text(self._marks[purpose, ROLES.get(kind, kind)], thought, text)
                self._nodes.append(TraceNode(at, "", said, True, number, ends=True, key=(number, rollout, place)))
                at = len(self._nodes) - 1
                here, thought = here.and_then(*[("thought", thought)] * bool(thought), (kind, text)), ""
                if rollout is None:
                    self._steps.setdefault(number, at)
            elif kind == "documents":
                here = here.and_then((kind, self._passages(part)))
            else:
                raise self._unknown(number, kind)
        return at, here

    def _prompt(self, above: int | None, text: str, number: int) -> int:
        if (above, text) not in self._prompts:
            self._prompts[above, text] = len(self._nodes)
            self._nodes.append(TraceNode(above, "", text, False, number, asks=True))
        return self._prompts[above, text]


def process_rewards(row: Fields) -> dict[int, float]:
    """ReasonRAG's process rewards by recorded node (method/reasonrag/process_rewards.hpp). An answer has
    F1 * alpha^depth, another node the mean of its children, weighted by visits."""
    options, gold, nodes = row.row("options"), row.texts("golden_answers"), row.rows("nodes")
    leaves, alpha, profile = options.text("leaves"), options.number("alpha"), options.text("profile")
    depth, below = [0] * len(nodes), [list[int]() for _ in nodes]
    for number, node in enumerate(nodes[1:], 1):
        depth[number] = depth[node.whole("parent")] + 1
        below[node.whole("parent")].append(number)
    rewards: dict[int, float] = {}
    for number, node in reversed(list(enumerate(nodes))):
        visits = node.whole("visits")
        if not gold or not number or not visits or unread(node):
            continue
        scored = [(rewards[child], nodes[child].whole("visits")) for child in below[number] if child in rewards]
        if node.text("kind") == "answer" and not (leaves == "free" and node.has("forced")):
            rewards[number] = _core.score(profile, node.text("text"), gold)["f1"] * alpha ** depth[number]
        elif scored:
            rewards[number] = sum(reward * visits for reward, visits in scored) / sum(visits for _, visits in scored)
        elif leaves == "all":
            rewards[number] = node.number("value")
    return rewards
