"""Rejection-sampling fine-tuning: sample, keep what is right, and train the model on it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..io.files import working, write_jsonl, write_text
from ..local.gguf import content_hash
from ..runs.progress import ProgressView, log
from .folder import PLAN, begin, json_text, recognised, record_of
from .job import need_one_process, need_packages, train
from .kept import Kept, by_process_reward, by_rule
from .options import RftOptions
from .sampling import asked, questions_of, write_copies
from .source import Source, source_of
from .stage import Trained


def rft(options: RftOptions, view: ProgressView | None = None) -> Trained:
    """Samples, keeps and trains. OUT has `samples` (a run), `rows`, what was kept in kept.json, and `model`, which in
    the end is also in OUT itself. What is finished is recognised, so a command that was stopped goes on.

    Raises as a run and as `train sft` do, and InputError where nothing is kept.
    """
    need_packages()
    need_one_process(options)
    source = source_of(options.model)
    if source.kind == "micro":
        raise ValueError(f"option 'model': {options.model} is not allowed, must be a model that can answer already")
    out = Path(options.out)
    with working(out, "train rft") as next_files:
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
