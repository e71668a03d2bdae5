"""Reads recorded trees as traces."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ... import _core
from ...errors import InputError
from ...io.fields import Fields
from ...io.files import read_text, record_of
from ...io.rows import read_rows
from ..records import Trace, TraceNode
from .asked import ASKED, AskedMaker
from .maker import Maker
from .sampled import kept_tokens, with_tokens
from .text import FORMS, Form, filled, neutral

Group = dict[int, tuple[float, list[float | None]]]
"""By the last node of a trajectory: its outcome reward and the rewards of its steps (ProRAG, Eq. 5 and 6)."""


def trace_reader(run: Path) -> Callable[[Fields], Trace]:
    """How a line of this run's trees.jsonl is read. Where the run has rollouts.jsonl, a group's rewards are those of
    its rows, with their bonuses for the schema. Raises InputError that names the run, or file, line and field."""
    described = record_of(run)
    method, kept = str(described.get("method")), kept_tokens(run)
    if method in ASKED:
        templates = templates_of(run, method, described)
        return lambda row: with_tokens(AskedMaker(row, ASKED[method], templates).trace(), kept)
    if method not in FORMS:
        allowed = ", ".join([*FORMS, *ASKED])
        raise InputError(f"{run}: trees of the method '{method}' cannot be written as traces, allowed: {allowed}")
    form, template = FORMS[method], templates_of(run, method, described)[FORMS[method].purpose]
    groups = groups_of(run / "rollouts.jsonl")
    return lambda row: with_tokens(TraceMaker(row, form).trace(template, groups.get(row.text("id"))), kept)


def templates_of(run: Path, method: str, described: dict[str, object]) -> dict[str, str]:
    """The texts of the method's prompts by purpose, those of the run's own folder of prompts where it had them."""
    noted = described.get("noted")
    folder = str(noted.get("prompts") or "") if isinstance(noted, dict) else ""
    if folder and not Path(folder).is_dir():
        raise InputError(f"{run}: the run's prompts are not at '{folder}' any more")
    found = {}
    for purpose, text, _, _ in _core.method_prompts(method):
        file = Path(folder) / f"{purpose}.txt"
        found[purpose] = read_text(file) if folder and file.is_file() else text
    return found


def groups_of(file: Path) -> dict[str, Group]:
    """By tree."""
    found: dict[str, Group] = {}
    for line in read_rows(file) if file.exists() else ():
        row = Fields(line.where, line.fields)
        provenance = row.row("provenance")
        steps = [step.maybe_number("step_reward") for step in row.rows("steps")]
        group = found.setdefault(provenance.text("tree"), {})
        group[provenance.whole("node")] = (row.number("outcome_reward"), steps)
    return found


class TraceMaker(Maker[bool]):
    """A tree whose chains are one turn of the policy each. Known at a place is whether a thought is open there."""

    def __init__(self, row: Fields, form: Form) -> None:
        super().__init__(row, False)
        self._form = form

    def trace(self, template: str, group: Group | None) -> Trace:
        row = self._row
        self._read_nodes()
        outcomes = self._rollouts()
        rewards: dict[int, float | None] = dict(
            enumerate((row.data.get("annotations") or {}).get("process_reward", ()))
        )
        if group is not None:
            outcomes, rewards = {}, {}
            parents = {number: node.whole("parent") for number, node in enumerate(row.rows("nodes")[1:], 1)}
            for end, (outcome, steps) in group.items():
                if end in self._ends and (place := self._ends[end][0]) is not None:
                    outcomes[place] = outcome
                for step in reversed(steps):
                    rewards[end] = step
                    end = parents.get(end, 0)
        slots = {"question": neutral(row.text("question")), "history": "(nothing yet)\n"}
        return self._trace(filled(template, slots), outcomes, rewards)

    def _add_unread(self, number: int, at: int | None, here: bool, node: Fields) -> None:
        if self._form.keeps_malformed:
            self._steps[number] = at = self._add(at, here, node.text("text"), True, number)
            self._nodes[at].key = number, None, 0
            self._ends[number] = (at, False)

    def _extend(
        self, at: int | None, here: bool, parts: Sequence[Fields], number: int, rollout: int | None = None
    ) -> tuple[int | None, bool]:
        thought, begun = "", here
        for place, part in enumerate(parts):
            [kind] = part.data
            if kind == "thought":
                thought = part.text(kind)
            elif kind in ("documents", "notice"):
                text = self._form.marks.found(self._passages(part)) if kind == "documents" else neutral(part.text(kind))
                at = self._add(at, begun, text, False, number)
            elif kind in self._form.kinds:
                text, opened = self._form.step(self._form.marks, {"thought": thought, kind: part.text(kind)}, begun)
                at, begun, thought = self._add(at, begun, text, True, number), opened, ""
                self._nodes[at].ends, self._nodes[at].key = kind == "answer", (number, rollout, place)
                if rollout is None:
                    self._steps.setdefault(number, at)
            else:
                raise self._unknown(number, kind)
        return at, begun

    def _add(self, at: int | None, begun: bool, text: str, sampled: bool, number: int) -> int:
        self._nodes.append(TraceNode(at, "" if at is None or begun else "\n", text, sampled, number))
        return len(self._nodes) - 1
