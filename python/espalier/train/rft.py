"""Rejection-sampling fine-tuning: sample, keep what is right, and train the model on it."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..export.reader import read_product
from ..export.records import Dialogue
from ..io.fields import Fields
from ..io.files import working, write_jsonl, write_text
from ..io.rows import read_rows
from ..local.gguf import content_hash
from ..runs.progress import ProgressView, log
from .folder import PLAN, begin, json_text, recognised, record_of
from .job import need_one_process, need_packages, train
from .options import RftOptions
from .sampling import asked, questions_of, write_copies
from .source import Source, source_of
from .stage import Trained
from .trajectories import answers, each_chain, steps, unread


@dataclass
class Kept:
    """The rows that are learned, and why others are not among them."""

    questions: int
    trajectories: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)
    solved: set[str] = field(default_factory=set)
    """Questions with a kept trajectory."""
    dropped: Counter[str] = field(default_factory=Counter)
    """Trajectories, or steps under a process reward, by reason."""

    @property
    def described(self) -> dict[str, Any]:
        return {
            "questions": self.questions,
            "solved": len(self.solved) / max(self.questions, 1),
            "trajectories": self.trajectories,
            "rows": len(self.rows),
            "dropped": dict(sorted(self.dropped.items())),
        }

    def __str__(self) -> str:
        why = "".join(f"; {count:,} dropped: {reason}" for reason, count in sorted(self.dropped.items()))
        share = len(self.solved) / max(self.questions, 1)
        return f"{share:.1%} of {self.questions:,} questions are solved, {len(self.rows):,} rows are kept{why}"

    def add(self, question: str, row: dict[str, Any]) -> None:
        self.solved.add(question)
        self.rows.append(row)


def sft_row(name: str, question: str, nodes: Sequence[int], method: str, prompt: str, text: str) -> dict[str, Any]:
    provenance = {"tree": question, "nodes": list(nodes), "method": method}
    return {"id": name, "prompt": prompt, "completion": text, "provenance": provenance}


MOST_RETRIEVALS = 4
"""Of a trajectory: DecEx-RAG's T_max."""


def fault(nodes: Sequence[Fields], reward: float) -> str:
    """Why a chain is dropped, '' if it keeps the rule: readable, answered right, with few retrievals."""
    if any(unread(node) for node in nodes):
        return "a step cannot be read"
    if not nodes or not answers(nodes[-1]):
        return "there is no answer"
    if reward < 1:
        return "the answer is wrong"
    retrievals = sum(node.text("kind") == "query" for node in nodes)
    return f"more than {MOST_RETRIEVALS} retrievals" if retrievals > MOST_RETRIEVALS else ""


def by_rule(run: Path, gold: Mapping[str, Sequence[str]]) -> Kept:
    """The right chains of a run over copies of questions, each different one once."""
    kept = Kept(len(gold))
    known = set()
    for question, nodes, trace in each_chain(run, gold, "em"):
        kept.trajectories += 1
        said = tuple((step.prompt, step.text) for step in steps(trace))
        why = fault(nodes, sum(trace.outcomes.values()))
        why = why or ("it equals another one" if said in known else "" if said else "its answer was forced")
        if why:
            kept.dropped[why] += 1
            continue
        known.add(said)
        for step in steps(trace):
            name, node = f"{trace.origin.id}#{step.place}", trace.nodes[step.place].source
            kept.add(question, sft_row(name, question, [node], trace.origin.method, step.prompt, step.text))
    return kept


def by_process_reward(run: Path, questions: int) -> Kept:
    """The rows of rft.jsonl, which has the steps of right paths above the threshold (ProRAG)."""
    trajectories = 0
    wrote = right = 0
    for line in read_rows(run / "rollouts.jsonl"):
        row = Fields(line.where, line.fields)
        trajectories += 1
        wrote += len(row.rows("steps"))
        right += len(row.rows("steps")) * (row.data["f1"] == 1)
    kept = Kept(questions, trajectories)
    for record in read_product(run, "rft"):
        assert isinstance(record, Dialogue)
        prompt, text = (message.content for message in record.messages)
        origin = record.origin
        kept.add(origin.tree, sft_row(origin.id, origin.tree, origin.nodes, "prorag", prompt, text))
    kept.dropped["the step is on no right path"] = wrote - right
    kept.dropped["the process reward is too low"] = right - len(kept.rows)
    kept.dropped = +kept.dropped
    return kept


def rft(options: RftOptions, view: ProgressView | None = None) -> Trained:
    """Samples, keeps and trains. What is finished is recognised, so a command that was stopped goes on.

    Raises as a run and as `train sft` do, and InputError where nothing is kept.
    """
    need_packages()
    need_one_process(options)
    source = source_of(options.model)
    if source.kind == "micro":
        raise ValueError(f"option 'model': {options.model} is not allowed, must be a model that can answer already")
    out = Path(options.out)
    with working(out, "train rft", shared=True) as next_files:
        plan = {"stage": "rft", **options.plan, "model": source.name, "weights": source.hash}
        plan["data"] = [content_hash(one) for one in (options.questions, options.corpus)]
        whole = begin(out, plan, overwrite=options.overwrite, sampled=out / "samples")
        if whole and record_of(out / "model"):
            return recognised(out)
        kept = sampled(options, source, out)
        (view.say if view else log.info)(str(kept))
        if not kept.rows:
            raise InputError(f"{out}: no trajectory was kept: {kept}")
        trained = train(options.sft(out / "rows", out / "model"), view)
        write_text(next_files / "kept.json", json_text(kept.described))
        for one in trained.out.iterdir():
            if one.is_file() and one.name != PLAN:
                shutil.copyfile(one, next_files / one.name)
    return replace(trained, out=out)


def sampled(options: RftOptions, source: Source, out: Path) -> Kept:
    """The rows, which also stand in OUT."""
    model = options.model
    if source.kind == "folder":
        model = f"hf:{source.path}?batch={options.batch}" + (f"&device={options.device}" if options.device else "")
    rows = questions_of(options.questions)
    run = out / "samples"
    own: dict[str, Any] = {"resample": 0}
    seed = options.seed * 1000 + 1
    if options.filter == "prm":
        own |= {"grow": "group", "group": options.samples, "annotate": "prm", "rft_threshold": options.rft_threshold}
        asked("expand", options, model, Path(options.questions), run, own, seed=seed)
        kept = by_process_reward(run, len(rows))
    else:
        copies = out / "questions.jsonl"
        write_copies(copies, [row.fields for row, _ in rows], options.samples)
        asked("answer", options, model, copies, run, own, seed=seed)
        kept = by_rule(run, {one.origin.id: one.answers for _, one in rows})
    (out / "rows").mkdir(exist_ok=True)
    write_jsonl(out / "rows" / "sft.jsonl", kept.rows)
    shutil.copyfile(run / "run.json", out / "rows" / "run.json")
    return kept
