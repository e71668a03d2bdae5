"""What models, retrievers, encoders and rerankers are, what they take and give, and the steps of gold chains."""

from ._core import ChainStep, Encoder, EncodeRequest, Model, Reranker, RerankRequest, Retriever, grammar

__all__ = ["ChainStep", "EncodeRequest", "Encoder", "Model", "RerankRequest", "Reranker", "Retriever", "grammar"]
