"""Reads recorded trees as traces."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from ... import _core
from ...errors import InputError
from ...io.fields import Fields
from ...io.files import record_of
from ...io.rows import read_rows
from ..records import Origin, Trace, TraceNode
from .text import FORMS, Form, neutral

Group = dict[int, tuple[float, list[float | None]]]
"""By the last node of a trajectory: its outcome reward and the rewards of its steps (ProRAG, Eq. 5 and 6)."""


def trace_reader(run: Path) -> Callable[[Fields], Trace]:
    """How a line of this run's trees.jsonl is read. Where the run has rollouts.jsonl, a group's rewards are those of
    its rows, with their bonuses for the schema. Raises InputError that names the run, or file, line and field."""
    described = record_of(run)
    method = str(described.get("method"))
    if method not in FORMS:
        allowed = ", ".join(FORMS)
        raise InputError(f"{run}: trees of the method '{method}' are no chains of one policy, allowed: {allowed}")
    form, template = FORMS[method], template_of(run, method, described)
    groups = groups_of(run / "rollouts.jsonl")
    return lambda row: TraceMaker(row, form).trace(template, groups.get(row.text("id")))


def template_of(run: Path, method: str, described: dict[str, object]) -> str:
    """The text of the policy's prompt, of the run's own folder of prompts if it had one."""
    purpose = FORMS[method].purpose
    noted = described.get("noted")
    folder = str(noted.get("prompts") or "") if isinstance(noted, dict) else ""
    file = Path(folder) / f"{purpose}.txt"
    if folder and not Path(folder).is_dir():
        raise InputError(f"{run}: the run's prompts are not at '{folder}' any more")
    if folder and file.is_file():
        return file.read_text(encoding="utf-8")
    return next(text for name, text, _, _ in _core.method_prompts(method) if name == purpose)


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


class TraceMaker:
    """One tree's nodes, and the steps of their rollouts, as a trace."""

    def __init__(self, row: Fields, form: Form) -> None:
        self._row, self._form = row, form
        self._documents = row.row("documents")
        self._nodes: list[TraceNode] = []
        self._ends: dict[int, tuple[int | None, bool]] = {0: (None, False)}
        """By recorded node: the place of its last text, and whether a thought is open there."""
        self._steps: dict[int, int] = {}
        """By recorded node: the place of what its policy wrote."""

    def trace(self, template: str, group: Group | None) -> Trace:
        row = self._row
        recorded = row.rows("nodes")
        for number, node in enumerate(recorded[1:], 1):
            self._add_node(number, node)
        outcomes = self._rollouts()
        rewards = self._process_rewards()
        if group is not None:
            outcomes, rewards = {}, {}
            parents = {number: node.whole("parent") for number, node in enumerate(recorded[1:], 1)}
            for end, (outcome, steps) in group.items():
                if end in self._ends and (place := self._ends[end][0]) is not None:
                    outcomes[place] = outcome
                for step in reversed(steps):
                    rewards[end] = step
                    end = parents.get(end, 0)
        for number, reward in rewards.items():
            if number in self._steps:
                self._nodes[self._steps[number]].reward = reward
        slots = {"{question}": neutral(row.text("question")), "{history}": "(nothing yet)\n"}
        for slot, text in slots.items():
            template = template.replace(slot, text)
        nodes, leaves = with_outcomes(self._nodes, outcomes)
        origin = Origin(row.text("id"), row.text("id"), (), row.text("method"))
        judged = any(reward is not None for reward in rewards.values())
        return Trace(origin, row.text("question"), row.texts("golden_answers"), template, nodes, leaves, judged)

    def _add_node(self, number: int, node: Fields) -> None:
        parent = node.whole("parent")
        if parent not in self._ends:
            return  # nothing can be said after what could not be read
        at, begun = self._ends[parent]
        if node.has("reason") and node.text("reason") == "malformed":
            if self._form.keeps_malformed:
                self._steps[number] = at = self._add(at, begun, node.text("text"), True, number)
                self._ends[number] = (at, False)
            return
        if node.has("steps"):
            parts = node.rows("steps")
        else:
            said = {name: node.data[name] for name in ("thought",) if node.data.get(name)}
            found = {name: node.data[name] for name in ("documents", "notice") if name in node.data}
            pieces = [*({k: v} for k, v in said.items()), {node.text("kind"): node.text("text")}]
            parts = [Fields("", piece) for piece in [*pieces, *({k: v} for k, v in found.items())]]
        self._ends[number] = self._extend(at, begun, parts, number)

    def _extend(
        self, at: int | None, begun: bool, parts: Iterable[Fields], number: int, *, own: bool = True
    ) -> tuple[int | None, bool]:
        """Adds the parts of a step behind a place. Returns the last place, and whether a thought is open there."""
        thought = ""
        for part in parts:
            [kind] = part.data
            if kind == "thought":
                thought = part.text(kind)
            elif kind in ("documents", "notice"):
                text = self._found(part) if kind == "documents" else neutral(part.text(kind))
                at = self._add(at, begun, text, False, number)
            elif kind in self._form.kinds:
                text, opened = self._form.step(self._form.marks, {"thought": thought, kind: part.text(kind)}, begun)
                at, begun, thought = self._add(at, begun, text, True, number), opened, ""
                self._nodes[at].ends = kind == "answer"
                if own:
                    self._steps.setdefault(number, at)
            else:
                raise self._row.wrong("nodes", f"node {number} has a step '{kind}', which the policy does not write")
        return at, begun

    def _add(self, at: int | None, begun: bool, text: str, sampled: bool, number: int) -> int:
        self._nodes.append(TraceNode(at, "" if at is None or begun else "\n", text, sampled, number))
        return len(self._nodes) - 1

    def _found(self, part: Fields) -> str:
        shown = []
        for item in part.rows("documents"):
            document = self._documents.row(item.text("id"))
            shown.append((document.text("title"), document.text("text")))
        return self._form.marks.found(shown)

    def _rollouts(self) -> dict[int, float]:
        """The rewards of ends by place. A node that was valued several times has the mean."""
        rewards: dict[int, list[float]] = {}
        for rollout in self._row.rows("rollouts"):
            number = rollout.whole("node")
            if number not in self._ends:
                continue
            at, _ = self._extend(*self._ends[number], rollout.rows("steps"), number, own=False)
            if at is not None:
                rewards.setdefault(at, []).append(rollout.number("reward"))
        return {place: fmean(values) for place, values in rewards.items()}

    def _process_rewards(self) -> dict[int, float | None]:
        annotations = self._row.data.get("annotations") or {}
        return dict(enumerate(annotations.get("process_reward", ())))


def with_outcomes(nodes: list[TraceNode], outcomes: dict[int, float]) -> tuple[tuple[TraceNode, ...], dict[int, float]]:
    """The nodes that lead to an end with an outcome, and the outcomes of the leaves among them."""
    kept, inner = set(), set()
    for place in outcomes:
        kept.add(place)
        at = nodes[place].parent
        while at is not None:
            kept.add(at)
            inner.add(at)
            at = nodes[at].parent
    moved = {place: new for new, place in enumerate(sorted(kept))}
    found = [replace(nodes[old], parent=None if (up := nodes[old].parent) is None else moved[up]) for old in moved]
    leaves = {moved[place]: outcome for place, outcome in outcomes.items() if place not in inner}
    return tuple(found), leaves
