"""Retrievers of FlashRAG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._core import Passage, Query


class FlashRagRetriever:
    """A retriever object of FlashRAG, such as `get_retriever(config)` returns, as a retriever."""

    def __init__(self, retriever: Any) -> None:
        self._retriever = retriever

    def __call__(self, queries: Sequence[Query]) -> list[list[Passage]]:
        most = max(query.k for query in queries)
        texts = [query.text for query in queries]
        found, scores = self._retriever.batch_search(texts, num=most, return_score=True)
        return [
            [passage_of(document, float(score)) for document, score in zip(documents, points, strict=True)][: query.k]
            for query, documents, points in zip(queries, found, scores, strict=True)
        ]


def passage_of(document: Mapping[str, Any], score: float) -> Passage:
    """FlashRAG's corpora have {id, contents}: the title on the first line, quoted or not, then the text."""
    title, newline, text = document["contents"].partition("\n")
    if not newline:
        title, text = "", title
    if len(title) > 1 and title[0] == title[-1] == '"':
        title = title[1:-1]
    return Passage(str(document["id"]), document.get("title") or title, text, score)
