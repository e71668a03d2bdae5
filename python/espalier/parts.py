"""Types that go in and out: models, retrievers, encoders and rerankers, what they take and give, and those of runs."""

from ._core import ChainStep, Encoder, EncodeRequest, HttpScorer, Model, Reranker, RerankRequest, Retriever, grammar
from ._core import Progress as Progress
from .runs.job import RunResult
from .runs.settings import RunSettings

__all__ = [
    "ChainStep", "EncodeRequest", "Encoder", "HttpScorer", "Model", "Progress", "RerankRequest", "Reranker",
    "Retriever", "RunResult", "RunSettings", "grammar",
]  # fmt: skip
