"""TriviaQA (Joshi et al. 2017): JSON as released, {"Data": [...]}, or the Parquet files of hubs, in small letters.

A row has `QuestionId`, `Question`, `QuestionSource`, `EntityPages` [{Title}] and `Answer` {Value, Aliases,
HumanAnswers, Type}; hidden answers are missing or `<unk>`.
"""

from __future__ import annotations

from ..io.rows import Row
from .example import Example, distinct, known


def triviaqa(row: Row) -> Example:
    answers, sort = [], None
    field = row.first_of("answer", "Answer")
    if row.has(field):
        answer = row.inner(field)
        value = answer.text(answer.first_of("value", "Value"))
        answers = [] if value == "<unk>" else [value]
        for names in (("aliases", "Aliases"), ("human_answers", "HumanAnswers")):
            if answer.has(name := answer.first_of(*names)):
                answers += answer.texts(name)
        kind = answer.first_of("type", "Type")
        sort = answer.text(kind) if answer.fields.get(kind) else None
    pages = row.first_of("entity_pages", "EntityPages")
    titles = [title for [title] in row.records(pages, "title|Title?")] if row.has(pages) else []
    source = row.first_of("question_source", "QuestionSource")
    metadata = {
        "dataset": "triviaqa",
        "answer_type": sort,
        "entity_titles": distinct(row.all_texts(pages, [title for title in titles if title is not None])),
        "question_source": row.text(source) if row.fields.get(source) else None,
    }
    return Example(
        row.name(row.first_of("question_id", "QuestionId")),
        row.text(row.first_of("question", "Question")),
        distinct(answers),
        known(metadata),
    )
