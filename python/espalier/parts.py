"""What models, retrievers, encoders and rerankers are, what they take and give, numbers of servers, and gold chains."""

from ._core import ChainStep, Encoder, EncodeRequest, HttpScorer, Model, Reranker, RerankRequest, Retriever, grammar

__all__ = [
    "ChainStep", "EncodeRequest", "Encoder", "HttpScorer", "Model", "RerankRequest", "Reranker", "Retriever",
    "grammar",
]  # fmt: skip
