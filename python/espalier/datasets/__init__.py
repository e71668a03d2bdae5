"""Public sets of questions, in the forms in which they are published and in FlashRAG's."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from .. import _core
from .._core import Question
from ..errors import InputError, MissingPart, did_you_mean
from ..io.files import write_jsonl
from ..io.rows import Row, parsed, read_rows
from .example import Example
from .flashrag import flashrag
from .hotpot import hotpotqa
from .musique import musique
from .plain import ambigqa, bamboogle, nq_open, popqa, triviaqa, webquestions

__all__ = ["FORMATS", "Example", "conversion", "read_aliases", "read_examples", "read_questions", "said_twice"]

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
    """The format of a row, by its fields."""
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
        "triviaqa": holds("Question", "QuestionId") or holds("question", "question_id", "question_source"),
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
    """The questions of a published file. `format` None = each row's own, by its fields. `limit` 0 = all.

    Raises InputError that names file, line or row, and field, also for a field that looks like gold and is not read.
    """
    if format is not None and format not in FORMATS:
        hint = did_you_mean(format, FORMATS) or f", allowed: {', '.join(FORMATS)}"
        raise ValueError(f"unknown format '{format}'{hint}")
    first: dict[str, tuple[str, str]] = {}
    for row in islice(read_rows(path), limit or None):
        form = format or recognise(row)
        if form is None:
            has = ", ".join(sorted(map(str, row.fields)))[:200] or "none"
            raise InputError(f"{row.where}: is in no form that is known (fields: {has}); formats: {', '.join(FORMATS)}")
        example = READERS[form](row) if form in READERS else hotpotqa(row, form, aliases or {})
        if example is None:
            continue
        left = {name: parsed(value) for name, value in row.fields.items() if name not in row.used}
        left = json.loads(json.dumps(left, default=str), parse_constant=bool, parse_int=bool)
        if unread := _core.unread_gold(json.dumps(left), example.answers):
            row.fail(unread, f"looks like gold answers or aliases, and the form {form} does not read it")
        if example.id in first:
            where, question = first[example.id]
            if form in REPEATING and question == example.question:
                continue
            row.fail("id", f"'{example.id}' stands in {where} too")
        first[example.id] = row.where, example.question
        if require_gold and not example.answers:
            raise InputError(f"{row.where}: has no gold answer")
        yield example
    if not first:
        raise InputError(f"{path}: holds no questions")


def read_questions(
    path: str | os.PathLike[str], format: str | None = None, *, limit: int = 0, require_gold: bool = False
) -> list[Question]:
    """Questions from JSON lines {"id", "question", "golden_answers", "metadata"}, or from a published file.

    `format` names the form of the file, such as "hotpotqa" (`espalier questions --help` lists them). None = detected
    from each row. `limit` 0 = all. Raises InputError.
    """
    if format is None and is_own(path, limit):
        return _core.read_questions(os.fspath(path), limit, require_gold)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "questions.jsonl"
        write_jsonl(file, (e.to_dict() for e in read_examples(path, format, limit=limit, require_gold=require_gold)))
        return _core.read_questions(os.fspath(file), 0, require_gold)


def said_twice(questions: Iterable[tuple[str, str]]) -> str:
    """Which of (id, text) ask the same question, by its normal form. "" if none do."""
    first: dict[str, str] = {}
    pairs = [(id, first.setdefault(_core.normal_form(text), id)) for id, text in questions]
    twice = [f"'{other}' and '{id}'" for id, other in pairs if id != other]
    more = f", and so do {len(twice) - 3} more" if len(twice) > 3 else ""
    return f"{', '.join(twice[:3])} ask the same question{more}" if twice else ""


def conversion(path: str | os.PathLike[str]) -> str | None:
    """A message with the command that converts a published file for runs. None if it has no published form."""
    try:
        other = os.fspath(path).lower().removesuffix(".gz").endswith((".parquet", ".csv", ".tsv", ".json"))
        row = None if not Path(path).is_file() else next(read_rows(path), None) if other else _strange(path)
    except (OSError, InputError, MissingPart):
        return None
    command = f"`espalier questions {path} --out FILE`"
    form = None if row is None else recognise(row)
    return form and f"{path} is in the form of {form}: {command} makes of it what runs read"


RAW = {"context", "paragraphs", "question_decomposition", "subj"}
"""Fields of FlashRAG's metadata that Espalier's own form has under other names."""


def is_own(path: str | os.PathLike[str], limit: int = 0) -> bool:
    """The file is one of JSON lines in Espalier's own form, or too broken to be of any other."""
    lines = os.fspath(path).endswith((".jsonl", ".jsonl.gz"))
    try:
        return lines and _strange(path, limit) is None
    except (OSError, InputError) as error:
        return lines or isinstance(error, OSError)


def _strange(path: str | os.PathLike[str], limit: int = 0) -> Row | None:
    """The first row that is not in Espalier's own form."""
    return next((row for row in islice(read_rows(path), limit or None) if not _own(row)), None)


def _own(row: Row) -> bool:
    metadata = row.fields.get("metadata")
    if recognise(row) != "flashrag" or any(_core.gold_name(name) for name in row.fields.keys() - {"golden_answers"}):
        return False
    return not isinstance(metadata, dict) or not (
        RAW & metadata.keys()
        or any(isinstance(metadata.get(field), (dict, str)) for field in ("supporting_facts", "evidences"))
    )
