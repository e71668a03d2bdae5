"""HotpotQA (Yang et al. 2018) and 2WikiMultiHopQA (Ho et al. 2020): JSON as released, and the Parquet files of hubs.

A row has `_id` or `id`, `question`, `answer`, `type`, `supporting_facts` [[title, sentence]], `context` [[title,
[sentence]]]; HotpotQA `level`, 2Wiki `evidences` [[subject, relation, object]] and the entity `answer_id`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .._core import Passage
from ..io.rows import Row
from .example import Example, distinct, known, passage


def hotpotqa(row: Row, dataset: str, aliases: Mapping[str, Sequence[str]]) -> Example:
    answers = [row.text("answer")] if row.fields.get("answer") not in (None, "") else []
    if answers and row.fields.get("answer_id"):
        answers += aliases.get(row.text("answer_id"), [])
    metadata, passages = facts(row)
    id = row.name(row.first_of("_id", "id"))
    return Example(id, row.text("question"), distinct(answers), {"dataset": dataset, **metadata}, passages)


def facts(row: Row) -> tuple[dict[str, Any], list[Passage]]:
    """What a row says beside question and answer."""
    support = row.records("supporting_facts", "title", "sent_id") if row.has("supporting_facts") else []
    context = row.records("context", "title", "sentences|content") if row.has("context") else []
    triples = row.records("evidences", "subject|fact", "relation", "object|entity") if row.has("evidences") else []
    for title, number in support:
        if not isinstance(title, str) or isinstance(number, bool) or not isinstance(number, int):
            row.fail("supporting_facts", "holds something that is not a title and a number")
    for triple in triples:
        row.all_texts("evidences", triple)
    titles = distinct(title for title, _ in support)
    passages: list[Passage] = []
    gold: dict[str, None] = {}
    sentences_of: dict[str, list[str]] = {}
    for title, sentences in context:
        if not isinstance(title, str):
            row.fail("context", "holds a title that is not a text")
        sentences = row.all_texts("context", [sentences] if isinstance(sentences, str) else sentences)
        found = passage(title, " ".join(sentences))
        passages.append(found)
        if title in titles and title not in sentences_of:
            gold[found.id] = None
        sentences_of.setdefault(title, sentences)  # the facts number those of the first paragraph
    said = [sentences_of[t][n].strip() for t, n in support if t in sentences_of and 0 <= n < len(sentences_of[t])]
    metadata = {
        "type": row.text("type") if row.has("type") else None,
        "level": row.text("level") if row.has("level") else None,
        "hops": len(titles) or None,
        "supporting_titles": titles,
        "gold_doc_ids": list(gold),
        "supporting_facts": support,
        "supporting_sentences": said if len(said) == len(support) else None,
        "evidences": triples,
    }
    return known(metadata), passages
