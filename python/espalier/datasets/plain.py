"""Sets that come without passages: AmbigQA, PopQA, TriviaQA, NQ-open, WebQuestions, Bamboogle.

NQ-open (Lee et al. 2019): JSON lines {question, answer: [text]}. WebQuestions (Berant et al. 2013): JSON {url,
utterance, targetValue}, the answers as `(list (description "..."))`; on hubs {url, question, answers}. Bamboogle
(Press et al. 2022): a table {Question, Answer}. Rows without an `id` are numbered from 0.
"""

import re
from typing import Any

from ..io.rows import Row
from .example import Example, distinct, known


def ambigqa(row: Row) -> Example:
    """AmbigQA / AmbigNQ (Min et al. 2020): JSON as released, light or full, or the Parquet files of hubs.

    A row has `id`, `question`, `annotations` [{type: singleAnswer, answer} or {type: multipleQAs, qaPairs: [{question,
    answer}]}], and in the full form `nq_doc_title`, `viewed_doc_titles`. Any answer of any annotator counts. `readings`
    says which answer belongs to which reading of the question.
    """
    row.used.add("nq_answer")  # of NQ-open
    answers: list[str] = []
    readings = []
    kinds = set()
    notes = row.records("annotations", "type", "answer?", "qaPairs?") if row.has("annotations") else []
    for kind, answer, pairs in notes:
        if kind not in ("singleAnswer", "multipleQAs"):
            row.fail("annotations", "holds a type that is neither singleAnswer nor multipleQAs")
        kinds.add(kind)
        if kind == "singleAnswer":
            answers += row.all_texts("annotations", answer)
            continue
        within = Row(row.where, row.number, {"qaPairs": pairs}, "annotations.")
        for question, accepted in within.records("qaPairs", "question", "answer"):
            within.all_texts("qaPairs", [question])
            answers += within.all_texts("qaPairs", accepted)
            readings.append({"question": question, "answers": distinct(accepted)})
    metadata = {
        "dataset": "ambigqa",
        "type": "ambiguous" if "multipleQAs" in kinds else "single" if kinds else None,
        "readings": readings,
        "nq_doc_title": row.text("nq_doc_title") if row.fields.get("nq_doc_title") else None,
        "viewed_doc_titles": row.texts("viewed_doc_titles") if row.has("viewed_doc_titles") else None,
    }
    return Example(row.name("id"), row.text("question"), distinct(answers), known(metadata))


def popqa(row: Row) -> Example:
    """PopQA (Mallen et al. 2023): TSV as released, or the Parquet files of hubs.

    A row has `id`, `question`, `possible_answers` (a JSON list as text), the triple `subj`, `prop`, `obj`, the page
    `s_wiki_title` and the popularities `s_pop`, `o_pop`.
    """
    row.used.add("o_aliases")  # the possible answers hold them
    answers = distinct(row.texts("possible_answers"))
    return Example(row.name("id"), row.text("question"), answers, {"dataset": "popqa", **triple(row)})


def triple(row: Row) -> dict[str, Any]:
    """What a row says beside question and answers."""
    relation = row.text("prop")
    return known(
        {
            "type": relation,
            "hops": 1,
            "supporting_titles": [row.text("s_wiki_title")] if row.fields.get("s_wiki_title") else [],
            "subject": row.text("subj"),
            "relation": relation,
            "object": row.text("obj"),
            "subject_popularity": _count(row, "s_pop"),
            "object_popularity": _count(row, "o_pop"),
        }
    )


def _count(row: Row, field: str) -> int | None:
    if row.fields.get(field) in (None, ""):
        return None
    text = row.name(field)
    if not text.isdecimal():
        row.fail(field, f"is no whole number: '{text[:40]}'")
    return int(text)


def triviaqa(row: Row) -> Example:
    """TriviaQA (Joshi et al. 2017): JSON as released, {"Data": [...]}, or the Parquet files of hubs, in small letters.

    A row has `QuestionId`, `Question`, `QuestionSource`, `EntityPages` [{Title}] and `Answer` {Value, Aliases,
    HumanAnswers, Type}; hidden answers are missing or `<unk>`.
    """
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
    id = row.name(row.first_of("question_id", "QuestionId"))
    return Example(id, row.text(row.first_of("question", "Question")), distinct(answers), known(metadata))


DESCRIPTION = re.compile(r'\(description (?:"((?:[^"\\]|\\.)*)"|([^()"]*))\)')


def nq_open(row: Row) -> Example:
    id = row.id or f"nq_open-{row.number}"
    return Example(id, row.text("question"), distinct(row.gold()), {"dataset": "nq_open"})


def webquestions(row: Row) -> Example:
    answers = descriptions(row) if row.has("targetValue") else row.gold()
    url = row.text("url") if row.fields.get("url") else None
    question = row.text(row.first_of("utterance", "question"))
    metadata = known({"dataset": "webquestions", "url": url})
    return Example(f"webquestions-{row.number}", question, distinct(answers), metadata)


def descriptions(row: Row) -> list[str]:
    """The texts of `(list (description "a b") (description c))`."""
    text = row.text("targetValue")
    left = DESCRIPTION.sub("", text)
    if re.fullmatch(r"\(list\s*\)", left) is None:
        row.fail("targetValue", f"is no list of descriptions: '{text[:60]}'")
    return [re.sub(r"\\(.)", r"\1", quoted) or plain for quoted, plain in DESCRIPTION.findall(text)]


def bamboogle(row: Row) -> Example:
    metadata = {"dataset": "bamboogle", "hops": 2}
    return Example(f"bamboogle-{row.number}", row.text("Question"), distinct(row.gold()), metadata)
