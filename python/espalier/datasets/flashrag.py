"""FlashRAG's form of every set: {id, question, golden_answers, metadata}, the published fields under `metadata`.

DecEx-RAG publishes its sets in this form too, with `src_id` as the id.
"""

from collections.abc import Callable
from typing import Any

from .._core import Passage
from ..io.rows import Row
from .example import Example, distinct
from .hotpot import facts
from .musique import chain
from .plain import triple

PUBLISHED: dict[Callable[[Row], tuple[dict[str, Any], list[Passage]]], tuple[str, ...]] = {
    facts: ("context", "supporting_facts", "evidences"),
    chain: ("paragraphs", "question_decomposition"),
    lambda row: (triple(row), []): ("subj", "prop", "obj", "s_wiki_title", "s_pop", "o_pop"),
}
"""What reads the published fields of a family, and which they are."""


def flashrag(row: Row) -> Example:
    answers = row.gold()
    metadata: dict[str, Any] = {}
    passages: list[Passage] = []
    if row.has("metadata"):
        inner = row.inner("metadata")
        metadata |= {name: value for name, value in inner.fields.items() if value is not None}
        for read, fields in PUBLISHED.items():
            if not any(inner.has(field) for field in fields[:3]):
                continue
            for field in fields:
                metadata.pop(field, None)
            said, given = read(inner)
            metadata |= said
            passages += given
        _check(Row(row.where, row.number, metadata, "metadata."))
        answers += inner.aliases() if answers else []
        row.used.discard("metadata")  # other gold in it would be missed
    return Example(row.id or row.name("id"), row.text("question"), distinct(answers), metadata, passages)


def _check(metadata: Row) -> None:
    """What Espalier itself reads there has the type that it needs."""
    for field in ("type", "subject", "relation", "object"):
        if metadata.has(field):
            metadata.text(field)
    if metadata.has("hops") and metadata.fields["hops"] not in range(1001):
        metadata.fail("hops", "is no whole number from 0 to 1000")
    if metadata.has("supporting_titles"):
        metadata.all_texts("supporting_titles", metadata.fields["supporting_titles"])
    if metadata.has("decomposition"):
        for step in metadata.records("decomposition", "question", "answer"):
            metadata.all_texts("decomposition", step)
