"""Collections of Qdrant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core import EncodeRequest, Passage, Query
from ..errors import BackendError, InputError
from ..protocols import Encoder


class QdrantRetriever:
    """A collection behind a `QdrantClient` as a retriever. All waiting queries are encoded and searched at once.

    `encoder` is a plain function of a list, or a part such as HttpEncoder. `using` names the vector, where points have
    several. Titles and texts are in the points' payload under `title` and `text`. A passage has its point's id. Raises
    InputError for a point without a text.
    """

    def __init__(
        self,
        client: Any,
        collection: str,
        encoder: Encoder,
        *,
        using: str | None = None,
        title: str = "title",
        text: str = "text",
    ) -> None:
        self._client = client
        self._collection = collection
        self._encoder = encoder
        self._using = using
        self._title = title
        self._text = text

    def __call__(self, queries: Sequence[Query]) -> list[list[Passage]]:
        from qdrant_client import models
        from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

        vectors: Any = self._encoder([EncodeRequest(query.text, "query") for query in queries])
        asked = [
            models.QueryRequest(
                query=[float(number) for number in vector],
                using=self._using,
                limit=query.k,
                with_payload=[self._title, self._text],
            )
            for query, vector in zip(queries, vectors, strict=True)
        ]
        try:
            found = self._client.query_batch_points(self._collection, requests=asked)
        except ApiException as error:
            status = error.status_code if isinstance(error, UnexpectedResponse) else None
            passes = status is None or status in (408, 429) or status >= 500
            raise BackendError(f"Qdrant: {error}", permanent=not passes) from error
        return [[self._passage(point) for point in response.points] for response in found]

    def _passage(self, point: Any) -> Passage:
        payload = point.payload or {}
        if not isinstance(payload.get(self._text), str):
            raise InputError(f"{self._collection}: point {point.id} has no text under '{self._text}'")
        return Passage(str(point.id), str(payload.get(self._title) or ""), payload[self._text], point.score)
