"""What Espalier asks of the parts that a user brings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from ._core import (
    F1,
    Accuracy,
    Agreement,
    Completion,
    Encoder,
    EncodeRequest,
    ExactMatch,
    Model,
    Passage,
    Prompt,
    Query,
    Reranker,
    RerankRequest,
    Retriever,
    State,
)
from ._per_request import PerRequest

Reply: TypeAlias = str | Completion | BaseException
LanguageModelFunction: TypeAlias = Callable[[list[Prompt]], Sequence[Reply] | Awaitable[Sequence[Reply]]]
LanguageModelLike: TypeAlias = Model | LanguageModelFunction | PerRequest[Reply]

Found: TypeAlias = Sequence[Passage] | BaseException
RetrieverFunction: TypeAlias = Callable[[list[Query]], Sequence[Found] | Awaitable[Sequence[Found]]]
RetrieverLike: TypeAlias = Retriever | RetrieverFunction | PerRequest[Found]

# A matrix [n, dimension] of floats: an array, or rows of numbers.
EncoderFunction: TypeAlias = Callable[[list[EncodeRequest]], Any]
EncoderLike: TypeAlias = Encoder | EncoderFunction | PerRequest[Any]

# A row of floats a request, one a text.
RerankerFunction: TypeAlias = Callable[[list[RerankRequest]], Any]
RerankerLike: TypeAlias = Reranker | RerankerFunction | PerRequest[Any]

RewardFunction: TypeAlias = Callable[[list[State]], Sequence[float] | Awaitable[Sequence[float]]]
RewardLike: TypeAlias = F1 | ExactMatch | Accuracy | Agreement | RewardFunction | PerRequest[float | BaseException]
