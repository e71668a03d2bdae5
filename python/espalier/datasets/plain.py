"""Sets that have little more than questions and answers: NQ-open, WebQuestions, Bamboogle.

NQ-open (Lee et al. 2019): JSON lines {question, answer: [text]}. WebQuestions (Berant et al. 2013): JSON {url,
utterance, targetValue}, the answers as `(list (description "..."))`; on hubs {url, question, answers}. Bamboogle
(Press et al. 2022): a table {Question, Answer}. Rows without an `id` are numbered from 0.
"""

from __future__ import annotations

import re

from ..io.rows import Row
from .example import Example, distinct, known

DESCRIPTION = re.compile(r'\(description (?:"((?:[^"\\]|\\.)*)"|([^()"]*))\)')


def nq_open(row: Row) -> Example:
    answers = row.texts("answer") if row.has("answer") else []
    id = row.name("id") if row.has("id") else f"nq_open-{row.number}"
    return Example(id, row.text("question"), distinct(answers), {"dataset": "nq_open"})


def webquestions(row: Row) -> Example:
    answers = row.texts("answers") if row.has("answers") else []
    if row.has("targetValue"):
        answers = descriptions(row)
    url = row.text("url") if row.fields.get("url") else None
    return Example(
        f"webquestions-{row.number}",
        row.text(row.first_of("utterance", "question")),
        distinct(answers),
        known({"dataset": "webquestions", "url": url}),
    )


def descriptions(row: Row) -> list[str]:
    """The texts of `(list (description "a b") (description c))`."""
    text = row.text("targetValue")
    left = DESCRIPTION.sub("", text)
    if re.fullmatch(r"\(list\s*\)", left) is None:
        row.fail("targetValue", f"is no list of descriptions: '{text[:60]}'")
    return [re.sub(r"\\(.)", r"\1", quoted) or plain for quoted, plain in DESCRIPTION.findall(text)]


def bamboogle(row: Row) -> Example:
    return Example(
        f"bamboogle-{row.number}",
        row.text("Question"),
        distinct(row.texts("Answer")),
        {"dataset": "bamboogle", "hops": 2},
    )
