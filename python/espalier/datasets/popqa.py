"""PopQA (Mallen et al. 2023): TSV as released, or the Parquet files of hubs.

A row has `id`, `question`, `possible_answers` (a JSON list as text), the triple `subj`, `prop`, `obj`, the page
`s_wiki_title` and the popularities `s_pop`, `o_pop`.
"""

from __future__ import annotations

from typing import Any

from ..io.rows import Row
from .example import Example, distinct, known


def popqa(row: Row) -> Example:
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
