"""What Espalier asks of the parts that a user brings."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Union

from ._core import Completion, EncodeRequest, Encoder, Model, Passage, Prompt, Query, Retriever, State
from ._core import Accuracy, Agreement, ExactMatch, F1

Reply = Union[str, Completion, BaseException]
LanguageModelFunction = Callable[[list[Prompt]], Union[Sequence[Reply], Awaitable[Sequence[Reply]]]]
LanguageModelLike = Union[Model, LanguageModelFunction]

Found = Union[Sequence[Passage], BaseException]
RetrieverFunction = Callable[[list[Query]], Union[Sequence[Found], Awaitable[Sequence[Found]]]]
RetrieverLike = Union[Retriever, RetrieverFunction]

# A matrix [n, dimension] of floats: an array, or rows of numbers.
EncoderFunction = Callable[[list[EncodeRequest]], Any]
EncoderLike = Union[Encoder, EncoderFunction]

RewardFunction = Callable[[list[State]], Union[Sequence[float], Awaitable[Sequence[float]]]]
RewardLike = Union[F1, ExactMatch, Accuracy, Agreement, RewardFunction]
