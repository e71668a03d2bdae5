"""Models, encoders and retrievers of other libraries as functions that searches call, imported when they are used."""

from .bm25s import Bm25sRetriever
from .faiss import faiss_retriever
from .flashrag import FlashRagRetriever
from .qdrant import QdrantRetriever
from .sentence_transformers import SentenceEncoder
from .vllm import VllmModel

__all__ = [
    "Bm25sRetriever",
    "FlashRagRetriever",
    "QdrantRetriever",
    "SentenceEncoder",
    "VllmModel",
    "faiss_retriever",
]
