"""Trees of methods that ask a prompt of its own for each step. A prompt shows all that the step may see, as a text that
does not go on from the prompt before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ... import _core
from ...io.fields import Fields
from ..records import Trace, TraceNode
from .maker import Maker, unread
from .text import documents_text, filled, neutral

Passages = Sequence[tuple[str, str, str]]
"""(id, title, text) each."""
ROLES = {"query": "search", "own_answer": "answer"}
"""What a method's protocol calls a kind of reply, if not by the kind's name."""


@dataclass(frozen=True)
class State:
    """What was said and found on a path."""

    question: str
    segments: tuple[tuple[str, Any], ...] = ()
    """(kind, text), or ("documents", Passages)."""

    def and_then(self, *more: tuple[str, Any]) -> State:
        return replace(self, segments=(*self.segments, *more))

    @property
    def retrievals(self) -> int:
        return sum(kind == "documents" for kind, _ in self.segments)

    @property
    def evidence(self) -> Passages:
        """All documents that were found, each once."""
        found: dict[str, tuple[str, str, str]] = {}
        for kind, what in self.segments:
            for one in what if kind == "documents" else ():
                found.setdefault(one[0], one)
        return list(found.values())


@dataclass(frozen=True)
class AskedForm:
    """How a method asks for the steps of a chain."""

    shown: Mapping[str, tuple[str, str]]
    """What stands around the parts of its histories, by kind. Others are not shown."""
    document: str
    """One document, with {rank}, {title} and {text}."""
    replies: tuple[str, ...]
    """The kinds that the policy writes."""
    found: tuple[str, ...]
    """The kinds that the environment adds."""
    purpose: Callable[[State, str, bool, Fields], str]
    """The purpose of the prompt for a reply, from the state before it, its kind, whether the tree says that it was
    forced, and the run's options."""
    slots: Callable[[AskedForm, State, str], Mapping[str, str]] = lambda form, state, kind: form.basic(state)
    """The texts of that prompt's slots."""

    def documents(self, found: Passages) -> str:
        return documents_text(self.document, [(title, text) for _, title, text in found])

    def history(self, state: State) -> str:
        said = ""
        for kind, what in state.segments:
            if kind in self.shown:
                before, after = self.shown[kind]
                said += f"{before}{self.documents(what) if kind == 'documents' else neutral(what)}{after}\n"
        return said or "(nothing yet)\n"

    def basic(self, state: State) -> dict[str, str]:
        return {"question": neutral(state.question), "history": self.history(state)}


def reply_text(marks: tuple[str, str], thought: str, text: str) -> str:
    """A step as the reply to its prompt, as rows of SFT teach it (output/detail/prompt_rows.hpp)."""
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


def reasonrag_slots(form: AskedForm, state: State, kind: str) -> Mapping[str, str]:
    slots = form.basic(state)
    if kind == "sub_answer":
        (_, query), (_, found) = state.segments[-2:]
        slots |= {"query": neutral(query), "documents": form.documents(found)}
    return slots


def airrag_purpose(state: State, kind: str, forced: bool, options: Fields) -> str:
    if not state.segments and not forced:
        return {"queries": "say", "own_answer": "da", "answer": "da"}.get(kind, "ra")
    return airrag_lite_purpose(state, kind, forced, options)


def airrag_lite_purpose(state: State, kind: str, forced: bool, options: Fields) -> str:
    return {"queries": "qt", "own_answer": "da", "sub_answer": "ra", "answer": "sa"}[kind]


def airrag_slots(form: AskedForm, state: State, kind: str) -> Mapping[str, str]:
    if kind == "sub_answer":  # the environment has searched before
        *before, (_, query), (_, found) = state.segments
        state = State(state.question, tuple(before))
    else:
        query, found = waiting_query(state), state.evidence
    return {**form.basic(state), "query": neutral(query), "documents": form.documents(found)}


def waiting_query(state: State) -> str:
    """AirRAG's query that waits longest (method/airrag/detail/environment.hpp)."""
    queries, answered = [state.question], list[str]()
    for kind, what in state.segments:
        if kind == "sub_answer" and queries:
            answered.append(queries.pop(0))
        elif kind == "queries":
            lines = [without_number(line) for line in what.split("\n")]
            fresh = once([line for line in lines if line and not same(line, "none")], answered)
            queries = once([*fresh, *queries[1:]]) if fresh else queries
    return queries[0] if queries else "(none)"


def without_number(line: str) -> str:
    """A line without the number or bullet that begins it."""
    line = line.strip()
    rest = line.lstrip("0123456789")
    digits = len(line) - len(rest)
    marks = ".)" if digits else "-*"
    return rest[1:].strip() if rest[:1] and rest[0] in marks and rest[1:2] == " " else line


def once(queries: Sequence[str], known: Sequence[str] = ()) -> list[str]:
    """The queries without those that are known or that an earlier one equals."""
    found: list[str] = []
    for query in queries:
        if not any(same(query, other) for other in (*known, *found)):
            found.append(query)
    return found


def same(a: str, b: str) -> bool:
    """Whether two texts have the same normal form."""
    return _core.score("common", a, [b])["em"] == 1


AIRRAG = AskedForm(
    {
        "thought": ("", ""),
        "query": ("Query: ", ""),
        "sub_answer": ("Response: ", ""),
        "own_answer": ("Answer from own knowledge: ", ""),
    },
    "Doc {rank}(Title: {title}) {text}\n",
    ("queries", "own_answer", "sub_answer", "answer"),
    ("query", "documents"),
    airrag_purpose,
    airrag_slots,
)
DECOUPLE = AskedForm(
    {"thought": ("Thought: ", ""), "query": ("Search(", ")"), "documents": ("Observation:\n", "")},
    "Doc {rank}(Title: {title}) {text}\n",
    ("query", "answer"),
    ("documents",),
    decouple_purpose,
)
ASKED: dict[str, AskedForm] = {
    "decouple": DECOUPLE,
    "greedy-agent": DECOUPLE,
    "airrag": AIRRAG,
    "airrag-lite": replace(AIRRAG, purpose=airrag_lite_purpose),
    "reasonrag": AskedForm(
        {"thought": ("", ""), "query": ("<query> ", " </query>"), "sub_answer": ("<evidence> ", " </evidence>")},
        'Docs {rank}: "{title}"\n{text}\n',
        ("query", "sub_answer", "answer"),
        ("documents",),
        reasonrag_purpose,
        reasonrag_slots,
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
        self, at: int | None, here: State, parts: Sequence[Fields], number: int, *, own: bool = True
    ) -> tuple[int | None, State]:
        thought = ""
        forced = own and number in self._forced
        for part in parts:
            [kind] = part.data
            if kind == "thought":
                thought = part.text(kind)
            elif kind in self._form.replies:
                text = part.text(kind)
                purpose = self._form.purpose(here, kind, forced, self._options)
                slots = self._form.slots(self._form, here, kind)
                at = self._prompt(at, filled(self._templates[purpose], slots), number)
                said = reply_text(self._marks[purpose, ROLES.get(kind, kind)], thought, text)
                self._nodes.append(TraceNode(at, "", said, True, number, ends=True))
                at = len(self._nodes) - 1
                here, thought = here.and_then(*[("thought", thought)] * bool(thought), (kind, text)), ""
                if own:
                    self._steps.setdefault(number, at)
            elif kind in self._form.found:
                here = here.and_then((kind, self._passages(part) if kind == "documents" else part.text(kind)))
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
