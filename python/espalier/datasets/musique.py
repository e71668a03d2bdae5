"""MuSiQue (Trivedi et al. 2022): JSON lines, or the Parquet files of hubs.

A row has `id`, `question`, `answer`, `answer_aliases`, `answerable`, `paragraphs` [{idx, title, paragraph_text,
is_supporting}] and `question_decomposition` [{id, question, answer, paragraph_support_idx}]. FlashRAG keeps the steps'
paragraphs alone, each in its step as `support_paragraph`.
"""

import re
from typing import Any

from .._core import Passage
from ..io.rows import Row
from .example import Example, distinct, known, passage

PARAGRAPH = ("idx?", "title", "paragraph_text|text", "is_supporting?")


def musique(row: Row) -> Example | None:
    """None for what the file calls unanswerable: MuSiQue-Full has each such question under its answerable twin's id."""
    if row.fields.get("answerable") is False:
        return None
    answers = [row.text("answer")] if row.has("answer") else []
    if row.has("answer_aliases"):
        answers += row.texts("answer_aliases")
    metadata, passages = chain(row)
    id = row.name("id")
    sort = id.partition("__")[0]
    if re.fullmatch(r"\dhop\d?", sort):  # which shape the chain has: "2hop", "3hop1", "3hop2" ...
        metadata["type"] = sort
    return Example(id, row.text("question"), distinct(answers), {"dataset": "musique", **metadata}, passages)


def chain(row: Row) -> tuple[dict[str, Any], list[Passage]]:
    """What a row says beside question and answer."""
    passages: list[Passage] = []
    by_number: dict[str, Passage] = {}
    marked = []
    steps = []
    if row.has("question_decomposition"):
        columns = ("question", "answer", "paragraph_support_idx?", "support_paragraph?")
        steps = row.records("question_decomposition", *columns)
    if row.has("paragraphs"):
        paragraphs = row.records("paragraphs", *PARAGRAPH)
    else:
        given = {"support_paragraph": [paragraph for *_, paragraph in steps if paragraph is not None]}
        within = Row(row.where, row.number, given, f"{row.path}question_decomposition.")
        paragraphs = within.records("support_paragraph", *PARAGRAPH)
    for place, (idx, title, text, supporting) in enumerate(paragraphs):
        row.all_texts("paragraphs", [title, text])
        passages.append(found := passage(title, text))
        by_number.setdefault(str(place if idx is None else idx), found)
        if supporting is True:
            marked.append(found)
    supports, decomposition = [], []
    for question, answer, idx, _ in steps:
        row.all_texts("question_decomposition", [question, answer])
        support = None if idx is None else by_number.get(str(idx))
        if idx is not None and paragraphs and support is None:
            row.fail("question_decomposition", f"points at paragraph {idx}, which is not there")
        step = {"question": question, "answer": answer}
        if support is not None:
            supports.append(support)
            step |= {"support_title": support.title, "support_doc_id": support.id, "support_text": support.text}
        decomposition.append(step)
    gold = list(dict.fromkeys([*supports, *marked]))
    metadata = {
        "type": f"{len(steps)}hop" if steps else None,
        "hops": len(steps) or None,
        "supporting_titles": distinct(found.title for found in gold),
        "gold_doc_ids": [found.id for found in gold],
        "decomposition": decomposition,
    }
    return known(metadata), passages
