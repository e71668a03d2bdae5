"""AmbigQA / AmbigNQ (Min et al. 2020): JSON as released, light or full, or the Parquet files of hubs.

A row has `id`, `question`, `annotations` [{type: singleAnswer, answer} or {type: multipleQAs, qaPairs: [{question,
answer}]}], and in the full form `nq_doc_title`, `viewed_doc_titles`.
"""

from __future__ import annotations

from ..io.rows import Row
from .example import Example, distinct, known


def ambigqa(row: Row) -> Example:
    """Any answer of any annotator counts. `readings` says which answer belongs to which reading of the question."""
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
