"""What models, retrievers, encoders and rerankers are, and what they take and give."""

from ._core import Encoder, EncodeRequest, Model, Reranker, RerankRequest, Retriever, grammar

__all__ = ["EncodeRequest", "Encoder", "Model", "RerankRequest", "Reranker", "Retriever", "grammar"]
