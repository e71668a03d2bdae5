"""Rejection-sampling fine-tuning in rounds: sample, keep what is right, train from the base, sample again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import _core
from ..errors import InputError
from ..io.files import working, write_jsonl
from ..io.rows import read_rows
from ..local.gguf import content_hash
from ..runs.progress import ProgressView, log
from .folder import PLAN, begin, recognised, record_of
from .job import need_one_process, need_packages, train
from .kept import Kept, by_process_reward, by_rule
from .options import RftOptions
from .sampling import asked, questions_of, write_copies
from .source import Source, source_of
from .stage import Trained

ROUNDS = "rounds.jsonl"


def rft(options: RftOptions, view: ProgressView | None = None) -> Trained:
    """Runs the rounds. Each has a folder OUT/round-N with `samples` (a run), `rows`, `model` and `eval`. What is
    finished in it is recognised, so a command that was stopped goes on. At the end OUT holds the last round's model.

    Raises as a run and as `train sft` do, and InputError where a round keeps nothing.
    """
    need_packages()
    need_one_process(options)
    source = source_of(options.model)
    if source.kind == "micro":
        raise ValueError(f"option 'model': {options.model} is not allowed, must be a model that can answer already")
    out = Path(options.out)
    with working(out, "train rft") as next_files:
        files = (options.questions, options.corpus, options.eval_questions)
        plan = {"stage": "rft", **options.plan, "model": source.name, "weights": source.hash}
        plan["data"] = [content_hash(one) for one in files if one]
        del plan["rounds"]  # more of them go on
        begun = sorted({run.parent for name in ("samples", "eval") for run in out.glob(f"round-*/{name}")})
        whole = begin(out, plan, overwrite=options.overwrite, rounds=begun)
        if whole and record_of(out / f"round-{options.rounds}" / "model"):
            return recognised(out)
        last = rounds(options, source, out, view)
        for one in last.out.iterdir():
            if one.is_file() and one.name != PLAN:
                shutil.copyfile(one, next_files / one.name)
    return replace(last, out=out)


def rounds(options: RftOptions, source: Source, out: Path, view: ProgressView | None) -> Trained:
    """The last round's training, after all of them."""
    say = view.say if view else log.info
    model = options.model if source.kind == "gguf" else f"hf:{source.path}"
    lines: list[dict[str, Any]] = []
    if options.eval_questions:
        lines.append({"round": 0, "em": exact_match(options, model, out / "round-0")})
        say(f"the base: EM {lines[0]['em']:.3f} on {options.eval_questions}")
    for number in range(1, options.rounds + 1):
        folder = out / f"round-{number}"
        kept = sampled(options, model, folder, number)
        say(f"round {number}: {kept}")
        if not kept.rows:
            raise InputError(f"{folder}: no trajectory was kept: {kept}")
        trained = train(options.sft(folder / "rows", folder / "model"), view)
        model = f"hf:{folder / 'model'}"
        line = {"round": number, **kept.described, "steps": trained.steps, "loss": trained.loss}
        if options.eval_questions:
            line["em"] = exact_match(options, model, folder)
            say(f"round {number}: EM {line['em']:.3f} on {options.eval_questions}")
        lines.append(line)
        write_jsonl(out / ROUNDS, lines)
    return trained


def engine(options: RftOptions, model: str) -> str:
    """The model as a run names it."""
    if not model.startswith("hf:"):
        return model
    return f"{model}?batch={options.batch}" + (f"&device={options.device}" if options.device else "")


def sampled(options: RftOptions, model: str, folder: Path, number: int) -> Kept:
    """The rows of a round, which also stand in its folder."""
    rows = questions_of(options.questions)
    run = folder / "samples"
    own: dict[str, Any] = {"resample": 0}
    more = {"seed": options.seed * 1000 + number}
    if options.filter == "prm":
        own |= {"grow": "group", "group": options.samples, "annotate": "prm", "rft_threshold": options.rft_threshold}
        asked("expand", options, engine(options, model), Path(options.questions), run, own, **more)
        kept = by_process_reward(run, len(rows))
    else:
        copies = folder / "questions.jsonl"
        write_copies(copies, [row.fields for row, _ in rows], options.samples)
        asked("answer", options, engine(options, model), copies, run, own, **more)
        gold = {one.origin.id: one.answers for _, one in rows}
        kept = by_rule(run, gold)
    (folder / "rows").mkdir(exist_ok=True)
    write_jsonl(folder / "rows" / "sft.jsonl", kept.rows)
    shutil.copyfile(run / "run.json", folder / "rows" / "run.json")
    return kept


def exact_match(options: RftOptions, model: str, folder: Path) -> float:
    """The share of the evaluation's questions that the model answers right, without chance in its samples."""
    file = Path(options.eval_questions)
    greedy = {"sampling.rollout.temperature": 0}
    asked("answer", replace(options, prm=""), engine(options, model), file, folder / "eval", greedy)
    gold = {one.origin.id: one.answers for _, one in questions_of(str(file))}
    answers = [row.fields for row in read_rows(folder / "eval" / "answers.jsonl")]
    return sum(_core.score("common", one["answer"], gold[one["id"]])["em"] for one in answers) / max(len(answers), 1)
