"""Retrievers of other libraries as functions that searches call, imported when they are used."""

from typing import TYPE_CHECKING

from ..gone import absent
from .faiss import faiss_retriever

__all__ = ["faiss_retriever"]
if not TYPE_CHECKING:
    __getattr__ = absent(__name__)
