"""An encoder of sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import EncodeRequest


class SentenceEncoder:
    """A `SentenceTransformer` as an encoder: `Dense(passages, SentenceEncoder(model))`.

    What stands before queries and passages is what the model's own `prompts` say ("query", "passage" or "document"),
    unless it is given. `normalize` scales vectors to length 1.
    """

    def __init__(
        self,
        model: Any,
        *,
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
        batch: int = 64,
        normalize: bool = False,
    ) -> None:
        own = model.prompts or {}
        passages = own.get("passage") or own.get("document") or ""
        self._prefixes = {
            "query": own.get("query") or "" if query_prefix is None else query_prefix,
            "passage": passages if passage_prefix is None else passage_prefix,
        }
        self._model = model
        self._batch = batch
        self._normalize = normalize

    def __call__(self, requests: Sequence[EncodeRequest]) -> Any:
        """A matrix [n, dimension] of floats."""
        return self._model.encode(
            [self._prefixes[request.role] + request.text for request in requests],
            batch_size=self._batch,
            prompt="",
            normalize_embeddings=self._normalize,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
