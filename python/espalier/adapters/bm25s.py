"""A BM25 index of bm25s."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core import Passage, Query


class Bm25sRetriever:
    """A `bm25s.BM25` over these passages, row i of the index being passage i, as a retriever.

    `tokenize` maps a list of texts to what `retrieve` takes, as the index was built. The default is that of bm25s.
    Passages that share no word with the query are left out.
    """

    def __init__(
        self,
        index: Any,
        passages: Sequence[Passage],
        *,
        tokenize: Callable[[list[str]], Any] | None = None,
        threads: int = 0,
    ) -> None:
        self._index = index
        self._passages = passages
        self._tokenize = tokenize or default_tokens
        self._threads = threads

    def __call__(self, queries: Sequence[Query]) -> list[list[Passage]]:
        rows, scores = self._index.retrieve(
            self._tokenize([query.text for query in queries]),
            corpus=range(len(self._passages)),
            k=min(max(query.k for query in queries), len(self._passages)),
            n_threads=self._threads,
            show_progress=False,
        )
        return [
            [
                self._hit(int(row), float(score))
                for row, score in zip(found[: query.k], points, strict=False)
                if score > 0
            ]
            for query, found, points in zip(queries, rows, scores, strict=True)
        ]

    def _hit(self, row: int, score: float) -> Passage:
        passage = self._passages[row]
        return Passage(passage.id, passage.title, passage.text, score)


def default_tokens(texts: list[str]) -> Any:
    import bm25s

    return bm25s.tokenize(texts, show_progress=False)
