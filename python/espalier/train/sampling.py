"""What stages that sample from the model share: their options, and the runs that they ask of the engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Error, InputError
from ..export.reader import asked as asked_of
from ..export.records import Asked
from ..export.traces.text import FORMS
from ..io.fields import Fields
from ..io.files import write_jsonl
from ..io.rows import Row, read_rows
from ..runs.job import RunResult, run_job
from ..runs.progress import warning
from .options import TrainOptions, option

COPY = "~"
"""Stands between a question's id and the number of its copy."""


@dataclass(frozen=True, kw_only=True)
class Sampled(TrainOptions):
    """Options of a stage that samples trajectories with the model."""

    data: Sequence[Any] = ()  # the rows are sampled
    questions: str = option("", "JSON lines with id, question and golden_answers. They are sampled.", "FILE")
    corpus: str = option("", "JSON lines with id, title and contents. They are searched.", "FILE")
    method: str = option("decex", "The method whose policy is sampled.", "NAME", tuple(FORMS))
    prompts: str = option("", "A folder of prompts, in place of the built-in ones.", "DIR")
    set: Sequence[str] = option((), "A search option as NAME=VALUE. It may be repeated.", "NAME=VALUE")
    constrain: str = option("off", "Whether a grammar constrains the samples. It is best without.", "WHEN")
    prm: str = option("", "The server of a process reward model, as URL or URL,NAME.", "URL")
    batch: int = option(64, "The samples that are written at once.", "N")

    def __post_init__(self) -> None:
        for name in ("questions", "corpus"):
            if not getattr(self, name):
                raise ValueError(f"option '{name}' is missing")
        object.__setattr__(self, "data", (self.questions, self.corpus))
        chosen = self.set.items() if isinstance(self.set, Mapping) else [one.partition("=")[::2] for one in self.set]
        object.__setattr__(self, "set", tuple(f"{name}={value}" for name, value in chosen))
        super().__post_init__()
        self._need("method", self.method in FORMS, ", ".join(FORMS))
        self._need("batch", self.batch >= 1, "1 or more")

    @property
    def plan(self) -> dict[str, Any]:
        """A reward model is known by its name, wherever it is served."""
        return {**super().plan, "prm": self.prm.partition(",")[2]}

    @property
    def chosen(self) -> dict[str, str]:
        """The search options by name."""
        return {name: value for name, _, value in (one.partition("=") for one in self.set)}


def asked(
    task: str, options: Sampled, model: Any, questions: Path, out: Path, own: Mapping[str, Any], **more: Any
) -> RunResult:
    """A run of `expand` or `answer`. `own` are the stage's search options, which those of the user replace.

    Raises as a run does, and Error where a question stays open: its trajectories would be missing.
    """
    settings: dict[str, Any] = {
        "method": options.method,
        "model": model,
        "questions": questions,
        "corpus": options.corpus,
        "prompts": options.prompts or None,
        "constrain": options.constrain,
        "in_flight": options.batch,
        "out": out,
        "set": {**own, **options.chosen},
        **more,
    }
    if options.prm:
        url, _, name = options.prm.partition(",")
        settings["models"] = {"process_reward": (url, name)}
    found = run_job(task, settings, warning(None))
    if found.open:
        raise Error(f"the samples of {questions.name}: {found.open} questions stay open: {found.why_open}")
    return found


def questions_of(file: str) -> list[tuple[Row, Asked]]:
    """The questions of a file, each as its line and as what it asks. Raises InputError that names file, line and field,
    and for a file without questions."""
    found = [(row, asked_of(Fields(row.where, row.fields))) for row in read_rows(file)]
    if not found:
        raise InputError(f"{file}: has no questions")
    known = set()
    for row, one in found:
        if one.origin.id in known:
            raise InputError(f"{row.where}: field 'id': '{one.origin.id}' stands there before")
        known.add(one.origin.id)
    return found


def write_copies(file: Path, questions: Sequence[Mapping[str, Any]], copies: int) -> None:
    """Each question `copies` times under ids of their own, so that one run samples them all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_jsonl(file, ({**one, "id": f"{one['id']}{COPY}{copy}"} for one in questions for copy in range(copies)))
