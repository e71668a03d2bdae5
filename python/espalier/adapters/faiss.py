"""Search with faiss, compiled in or from the package faiss-cpu."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from .._core import Encoder, EncodeRequest, Faiss, Passage, Query, build_info
from ..bridge.call import call
from ..errors import needed
from ..protocols import EncoderLike, RetrieverLike


def faiss_retriever(passages: Sequence[Passage], index: str | os.PathLike[str], encoder: EncoderLike) -> RetrieverLike:
    """A retriever over a faiss index file whose row i is passage i.

    Uses the compiled part, or the package faiss-cpu if the build has no faiss.
    """
    if build_info()["parts"]["faiss"] is None:
        return Faiss(list(passages), encoder, file=os.fspath(index))
    return _FaissCpu(passages, os.fspath(index), encoder)


class _FaissCpu:
    """The same with the package faiss-cpu. It searches one query at a time, so that no result depends on the batch."""

    def __init__(self, passages: Sequence[Passage], index: str, encoder: EncoderLike) -> None:
        faiss = needed("faiss-cpu", "a build without faiss", "faiss")
        self._passages = list(passages)
        self._encoder = encoder
        self._index: Any = faiss.read_index(index)
        self._sign = -1.0 if self._index.metric_type == faiss.METRIC_L2 else 1.0
        if self._index.ntotal != len(self._passages):
            raise ValueError(f"the index holds {self._index.ntotal} vectors for {len(self._passages)} passages")

    def __call__(self, queries: list[Query]) -> list[list[Passage]]:
        import numpy as np

        requests = [EncodeRequest(query.text, "query") for query in queries]
        own = isinstance(self._encoder, Encoder)
        vectors: Any = self._encoder(requests) if own else call(self._encoder, requests, "encoder")
        return [
            self._search(np.asarray(vector, dtype="float32"), query.k)
            for vector, query in zip(vectors, queries, strict=True)
        ]

    def _search(self, vector: Any, k: int) -> list[Passage]:
        scores, rows = self._index.search(vector.reshape(1, -1), k)
        hits = sorted(
            (-self._sign * float(score), int(row)) for score, row in zip(scores[0], rows[0], strict=True) if row >= 0
        )
        found = ((self._passages[row], -score) for score, row in hits)
        return [Passage(passage.id, passage.title, passage.text, score) for passage, score in found]
