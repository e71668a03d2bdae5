"""What stages that sample from the model share: their options, and the runs that they ask of the engine."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import Error, InputError
from ..export.reader import asked as asked_of
from ..export.records import Asked
from ..io.fields import Fields
from ..io.files import write_jsonl
from ..io.rows import Row, read_rows
from ..local.gguf import content_hash
from ..runs.job import RunResult, run_job
from ..runs.progress import warning
from .data import Data, Input
from .data import Row as Read
from .options import GrpoOptions, Sampled
from .source import source_of

COPY = "~"
"""Stands between a question's id and the number of its copy."""


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


def read_asked(options: GrpoOptions) -> Data[Asked]:
    """The questions, and the corpus by its content."""
    if source_of(options.model).kind != "folder":
        raise ValueError(
            f"option 'model': {options.model} is not allowed, must be a folder of transformers; "
            f"`espalier train sft --model {options.model} --data RUN --out FOLDER` makes one"
        )
    records = [one for _, one in questions_of(options.questions)]
    if len(records) < options.group_questions:
        raise InputError(
            f"{options.questions}: has {len(records)} questions, option 'group_questions' is {options.group_questions}"
        )
    corpus = Path(options.corpus)
    if not corpus.is_file():
        raise InputError(f"{corpus}: there is no such file")
    files = (Input(Path(options.questions), len(records), content_hash(Path(options.questions))),)
    return Data((*files, Input(corpus, 0, content_hash(corpus))), tuple(Read(one, 0) for one in records))


def write_copies(file: Path, questions: Sequence[Mapping[str, Any]], copies: int) -> None:
    """Each question `copies` times under ids of their own, so that one run samples them all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_jsonl(file, ({**one, "id": f"{one['id']}{COPY}{copy}"} for one in questions for copy in range(copies)))
