"""The loop: trees, SFT, DPO, answers, and again with the model that came out."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import Error
from ..io.files import read_object, working, write_text
from ..runs.job import run_job
from ..runs.progress import ProgressView, warning
from ..train import job
from ..train.job import need_packages
from ..train.options import options_of
from ..train.stages.dpo import DPO, DpoOptions
from ..train.stages.sft import SFT, SftOptions
from .figures import (
    SCORES,
    answers_figures,
    gain,
    json_text,
    said,
    training_figures,
    trees_figures,
    why_stopped,
    without_rows,
)
from .options import ImproveOptions
from .page import page
from .plan import begin
from .questions import choose, write

ROUNDS, PAGE = "rounds.json", "rounds.html"
log = logging.getLogger("espalier")
View = Callable[[str], ProgressView]


def run_rounds(
    options: ImproveOptions, say: Callable[[str], None] = log.info, view: View | None = None
) -> dict[str, Any]:
    """Does the rounds that are not done yet. `say` gets a line for each step, `view` makes what shows its progress.

    Raises as `espalier.improve`. Returns the content of rounds.json.
    """
    need_packages()
    out = Path(options.out)
    learned, held_out = choose(options)
    with working(out, "espalier improve"):
        begin(out, options)
        files = write(learned, out / "questions.jsonl"), write(held_out, out / "held_out.jsonl")
        Rounds(options, out, files, say, view).run()
        return read_object(out / ROUNDS)


class Rounds:
    """The steps of an improvement, each in a folder that is a run or a training of its own."""

    def __init__(
        self,
        options: ImproveOptions,
        out: Path,
        files: tuple[Path, Path],
        say: Callable[[str], None],
        view: View | None,
    ) -> None:
        self._options, self._out, self._say, self._view = options, out, say, view
        self._questions, self._held_out = files

    def run(self) -> None:
        options = self._options
        weights, grower = options.weights, options.grower
        before = self._out / "start" / "answers"
        start = self._answers(before, options.start)
        stopped = ""
        rounds: list[dict[str, Any]] = []
        result: dict[str, Any] = {"method": options.method, "start": start, "rounds": rounds}
        for number in range(1, options.rounds + 1):
            folder = self._out / f"round-{number}"
            trees = self._trees(folder / "trees", grower, number)
            if stopped := without_rows(folder / "trees", number):
                break
            sft = self._train(SFT, SftOptions, folder / "trees", weights, folder / "sft")
            dpo = self._train(DPO, DpoOptions, folder / "trees", str(folder / "sft"), folder / "dpo")
            weights, grower = str(folder / "dpo"), options.trained(folder / "dpo")
            after = folder / "answers"
            answers = self._answers(after, grower)
            better = gain(before, after, self._held_out)
            self._say(f"round {number}, gain: {said(better['em'])}")
            done = {"round": number, "trees": trees, "sft": sft, "dpo": dpo, "answers": answers, "gain": better}
            rounds.append(done)
            # A student has other weights than the model at the start, so their difference is no gain of training.
            if (number > 1 or not options.student) and (stopped := why_stopped(number, better["em"])):
                break
            self._write(result)
            before = after
        result["stopped"] = stopped
        self._write(result)

    def _write(self, result: Mapping[str, Any]) -> None:
        write_text(self._out / ROUNDS, json_text(result))
        write_text(self._out / PAGE, page(result))

    def _run(self, task: str, folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Does a run and returns its summary. Raises Error where questions are left open."""
        settings = {**settings, "out": str(folder)}
        if self._view is None:
            done = run_job(task, settings, warning(None))
        else:
            with self._view(self._name(folder)) as shown:
                done = run_job(task, settings, shown)
        if done.open:
            why = " ".join(done.why_open.split())
            raise Error(f"{folder}: a backend left {done.open} questions open. Run again to go on. The first: {why}")
        return done.summary

    def _trees(self, folder: Path, model: Mapping[str, str], number: int) -> dict[str, Any]:
        settings = self._options.search
        if number > 1:  # a trained policy knows no other prompt
            settings = {**settings, "set": {"form": "policy", **settings["set"]}}
        found = trees_figures(self._run("expand", folder, {**settings, **model, "questions": str(self._questions)}))
        labels = ", ".join(name for name in ("simulated", "oracle") if found[name])
        figures = f"{found['questions']:,} questions, {found['calls']:,} calls, EM {100 * found['em']:.1f}"
        self._say(f"{self._name(folder)}: {figures} ({labels})")
        return found

    def _train(self, stage: Any, kind: Any, data: Path, model: str, folder: Path) -> dict[str, Any]:
        options = self._options
        given = {"seed": options.seed, **getattr(options, stage.name)}
        given |= {"data": str(data), "model": model, "out": str(folder), "overwrite": options.overwrite}
        job.train(stage, options_of(kind, given), self._view and self._view(self._name(folder)))
        found = training_figures(read_object(folder / "training.json"))
        loss = "" if found["loss"] is None else f", loss {found['loss']:.4f}"
        learned = f"{found['learned']:,} of {found['rows']:,} rows"
        self._say(f"{self._name(folder)}: {learned}, {found['steps']:,} steps{loss}")
        return found

    def _answers(self, folder: Path, model: Mapping[str, str]) -> dict[str, Any]:
        """Has a model answer the held-out questions."""
        self._run("answer", folder, {**self._options.answering, **model, "questions": str(self._held_out)})
        found = answers_figures(folder, self._held_out)
        scores = ", ".join(f"{name.upper()} {100 * found[name]['mean']:.1f}" for name in SCORES)
        label = " (simulated)" if found["simulated"] else ""
        figures = f"{found['questions']:,} questions, {found['calls']:,} calls"
        self._say(f"{self._name(folder)}: {figures}, {scores}{label}")
        return found

    def _name(self, folder: Path) -> str:
        """`round 1, trees`."""
        return f"{folder.parent.name.replace('-', ' ')}, {folder.name}"
