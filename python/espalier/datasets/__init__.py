"""Public sets of questions, in the forms in which they are published and in FlashRAG's."""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from .. import _core
from .._core import Question
from ..errors import InputError, MissingPart
from ..io.files import write_jsonl
from ..io.rows import Row, read_rows
from .example import Example
from .flashrag import flashrag
from .hotpot import hotpotqa, two_wiki
from .musique import musique
from .plain import ambigqa, bamboogle, nq_open, popqa, triviaqa, webquestions

__all__ = ["FORMATS", "Example", "conversion", "read_aliases", "read_examples", "read_questions", "recognise"]

READERS: dict[str, Callable[[Row], Example | None]] = {
    "musique": musique,
    "popqa": popqa,
    "ambigqa": ambigqa,
    "triviaqa": triviaqa,
    "bamboogle": bamboogle,
    "webquestions": webquestions,
    "nq_open": nq_open,
    "flashrag": flashrag,
}
FORMATS = ("hotpotqa", "2wikimultihopqa", *READERS)
"""`flashrag` is also Espalier's own form."""
REPEATING = {"triviaqa"}
"""Sets that hubs publish with a question twice under its id: once with pages of the web, once with Wikipedia's."""


def recognise(row: Row) -> str | None:
    """The format of a file, by the fields of its first row."""
    fields = row.fields.keys()

    def holds(*names: str) -> bool:
        return fields >= set(names)

    rules = {
        "flashrag": "golden_answers" in fields,
        "2wikimultihopqa": holds("question", "context") and "evidences" in fields,
        "hotpotqa": holds("question", "context") and ("_id" in fields or "supporting_facts" in fields),
        "musique": holds("question", "paragraphs"),
        "popqa": holds("question", "subj", "prop", "obj"),
        "ambigqa": holds("question", "annotations"),
        "triviaqa": holds("Question", "QuestionId") or holds("question", "question_id"),
        "bamboogle": holds("Question", "Answer"),
        "webquestions": holds("utterance") or holds("url", "question"),
        "nq_open": holds("question") and ("answer" in fields or "id" not in fields),
    }
    return next((name for name, fits in rules.items() if fits), "flashrag" if holds("id", "question") else None)


def read_aliases(path: str | os.PathLike[str]) -> dict[str, list[str]]:
    """2WikiMultiHopQA's id_aliases.json: the other names of an entity, by the ids that `answer_id` names."""
    found: dict[str, list[str]] = {}
    for row in read_rows(path):
        names = [name for field in ("aliases", "demonyms") if row.has(field) for name in row.texts(field)]
        found[row.text("Q_id")] = names
    return found


def read_examples(
    path: str | os.PathLike[str],
    format: str | None = None,
    *,
    limit: int = 0,
    require_gold: bool = False,
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[Example]:
    """The questions of a published file. `format` None = detected from its first row, `limit` 0 = all.

    Raises InputError that names file, line or row, and field.
    """
    if format is not None and format not in FORMATS:
        near = difflib.get_close_matches(format, FORMATS, 1)
        hint = f"did you mean '{near[0]}'?" if near else f"allowed: {', '.join(FORMATS)}"
        raise ValueError(f"unknown format '{format}', {hint}")
    first: dict[str, tuple[str, str]] = {}
    for row in islice(read_rows(path), limit or None):
        format = format or _recognised(row, path)
        example = _reader(format, aliases or {})(row)
        if example is None:
            continue
        if example.id in first:
            where, question = first[example.id]
            if format in REPEATING and question == example.question:
                continue
            row.fail("id", f"'{example.id}' stands in {where} too")
        first[example.id] = row.where, example.question
        if require_gold and not example.answers:
            raise InputError(f"{row.where}: has no gold answer")
        yield example
    if not first:
        raise InputError(f"{path}: holds no questions")


def _recognised(row: Row, path: str | os.PathLike[str]) -> str:
    format = recognise(row)
    if format is None:
        has = ", ".join(sorted(map(str, row.fields)))[:200] or "none"
        raise InputError(f"{path}: is in no form that is known (fields: {has}); formats: {', '.join(FORMATS)}")
    return format


def _reader(format: str, aliases: Mapping[str, Sequence[str]]) -> Callable[[Row], Example | None]:
    if format in READERS:
        return READERS[format]
    family = hotpotqa if format == "hotpotqa" else two_wiki
    return lambda row: family(row, aliases)


def read_questions(
    path: str | os.PathLike[str], format: str | None = None, *, limit: int = 0, require_gold: bool = False
) -> list[Question]:
    """Questions from JSON lines {"id", "question", "golden_answers", "metadata"}, or from a published file.

    `format` names the form of the file, such as "hotpotqa" (`espalier questions --help` lists them). None = detected
    from its first row. `limit` 0 = all. Raises InputError.
    """
    if format is None and is_own(path):
        return _core.read_questions(os.fspath(path), limit, require_gold)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "questions.jsonl"
        write_jsonl(file, (e.to_dict() for e in read_examples(path, format, limit=limit, require_gold=require_gold)))
        return _core.read_questions(os.fspath(file), 0, require_gold)


def conversion(path: str | os.PathLike[str]) -> str | None:
    """A message with the command that converts a published file for runs. None if it has no published form."""
    try:
        row = next(read_rows(path), None)
    except (OSError, InputError, MissingPart):
        return None
    form = None if row is None else recognise(row)
    if form in (None, "flashrag"):
        return None
    return f"{path} is in the form of {form}: `espalier questions {path} --out FILE` makes of it what runs read"


RAW = {"context", "paragraphs", "question_decomposition", "subj"}
"""Fields of FlashRAG's metadata that Espalier's own form has under other names."""


def is_own(path: str | os.PathLike[str]) -> bool:
    """The file is one of JSON lines in Espalier's own form, or too broken to be of any other."""
    name = Path(path)
    try:
        row = next(read_rows(name), None)
    except OSError:
        return True
    except InputError:
        row = None
    if row is None:
        return name.suffix == ".jsonl"
    if recognise(row) != "flashrag" or row.where != f"{name}:1" or name.suffix in (".csv", ".tsv", ".gz"):
        return False
    metadata = row.fields.get("metadata")
    return not isinstance(metadata, dict) or not (
        RAW & metadata.keys()
        or any(isinstance(metadata.get(field), (dict, str)) for field in ("supporting_facts", "evidences"))
    )
