"""Recorded trees as the steps that the policy was asked for, each under the very prompt that it saw."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .. import _core
from ..export.records import Sampled, Trace, TraceNode
from ..export.traces.maker import unread as unread
from ..export.traces.reader import Group, TraceMaker, groups_of, templates_of
from ..export.traces.sampled import kept_tokens, with_tokens
from ..export.traces.text import FORMS
from ..io.fields import Fields
from ..io.files import record_of
from ..io.rows import read_rows
from .sampling import COPY

HISTORY = "\0history\0"
"""Stands in a trace's prompt where the history goes."""
NOTHING = "(nothing yet)\n"


@dataclass(frozen=True)
class Step:
    """What the policy wrote for one prompt."""

    place: int
    """Of its node in the trace."""
    prompt: str
    text: str
    tokens: Sampled | None = None


def traces(run: Path) -> Iterator[Trace]:
    """The trees of `expand`, with the branches that have a reward."""
    groups = groups_of(run / "rollouts.jsonl")
    for row, make in _makers(run):
        yield make(groups.get(row.text("id")))


def each_chain(run: Path, gold: Mapping[str, Sequence[str]], reward: str) -> Iterator[tuple[str, list[Fields], Trace]]:
    """(question, nodes below the root, trace) of each chain of `answer` over copies of questions. A chain is worth
    `reward` (em or f1) of its answer, and 0 if it has none. `gold` are the answers by question.

    A step that could not be read ends its chain, as it was written.
    """
    for row, make in _makers(run):
        question = row.text("id").rpartition(COPY)[0]
        nodes = row.rows("nodes")[1:]
        answer = nodes[-1].text("text") if nodes and answers(nodes[-1]) else None
        yield question, nodes, make({len(nodes): (_core.score("common", answer, gold[question])[reward], [])})


def answers(node: Fields) -> bool:
    return node.text("kind") == "answer" and not unread(node)


def chains(run: Path, gold: Mapping[str, Sequence[str]], reward: str) -> Iterator[Trace]:
    """The same, with the chains of a question as one trace."""
    found: dict[str, list[Trace]] = {}
    for question, _, trace in each_chain(run, gold, reward):
        found.setdefault(question, []).append(trace)
    for question, group in found.items():
        yield joined(question, group)


def _makers(run: Path) -> Iterator[tuple[Fields, Any]]:
    described = record_of(run)
    method = str(described["method"])
    template = templates_of(run, method, described)[FORMS[method].purpose].replace("{history}", HISTORY)
    form = replace(FORMS[method], keeps_malformed=True)
    kept = kept_tokens(run)
    for line in read_rows(run / "trees.jsonl"):
        row = Fields(line.where, line.fields)
        forced = {number for number, node in enumerate(row.rows("nodes")) if node.has("forced")}

        def make(group: Group | None, row: Fields = row, forced: set[int] = forced) -> Trace:
            trace = with_tokens(TraceMaker(row, form).trace(template, group), kept)
            nodes = [replace(node, sampled=node.sampled and node.source not in forced) for node in trace.nodes]
            return replace(trace, nodes=tuple(nodes))

        yield row, make


def joined(name: str, group: Sequence[Trace]) -> Trace:
    """Several traces of one question as one."""
    nodes: list[TraceNode] = []
    outcomes: dict[int, float] = {}
    for trace in group:
        begin = len(nodes)
        nodes += [replace(one, parent=None if one.parent is None else one.parent + begin) for one in trace.nodes]
        outcomes |= {leaf + begin: outcome for leaf, outcome in trace.outcomes.items()}
    origin = replace(group[0].origin, id=name, tree=name)
    return replace(group[0], origin=origin, nodes=tuple(nodes), outcomes=outcomes)


def steps(trace: Trace) -> list[Step]:
    """The steps of a trace that the policy wrote under its own prompt, in order. Answers that a prompt of another
    purpose forced are left out."""
    before: list[str] = []
    found = []
    for place, node in enumerate(trace.nodes):
        history = "" if node.parent is None else before[node.parent] + "\n"
        if node.sampled:
            found.append(Step(place, trace.prompt.replace(HISTORY, history or NOTHING), node.text, node.tokens))
        above = "" if node.parent is None else before[node.parent]
        before.append(above + node.lead + node.text)
    return found
