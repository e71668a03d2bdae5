"""Espalier grows, scores, prunes and harvests reasoning trees for retrieval-augmented generation.

Most programs need no more than the names of this module. The rest is in modules of their own: `search` has the engines
and their parts, `errors` the exceptions, `aio` what is awaited, `parts` the types that go in and out.
"""

from __future__ import annotations

from . import little_memory as little_memory  # before what needs memory

# isort: split
from typing import TYPE_CHECKING

from . import aio as aio
from . import batch as batch
from . import doctor as doctor
from . import errors as errors
from . import gone
from . import parts as parts
from . import search as search
from . import tables as tables
from ._core import (
    Bm25,
    Completion,
    Dense,
    Faiss,
    HttpEncoder,
    HttpReranker,
    HttpRetriever,
    Hybrid,
    Index,
    Node,
    OpenAi,
    Passage,
    Prompt,
    Query,
    Question,
    Reranked,
    Simulated,
    Tree,
    World,
    best_answer,
    build_index,
    build_info,
)
from .datasets import read_questions
from .io.files import write_jsonl
from .io.read import read_passages, read_trees
from .local.llama_cpp import LlamaCpp, LlamaCppEncoder
from .local.transformers import Transformers
from .methods import AirRag, DecExRag, DecoupleRag, ProRag, ReasonRag
from .notebook.attach import attach
from .runs.annotate import annotate
from .runs.job import answer, expand, write_world
from .runs.merge import merge
from .runs.progress import progress_view
from .runs.ray_run import ray_run
from .runs.rescore import rescore
from .search.method import Method, run
from .search.rows import dpo_pairs, sft_rows
from .tables import read_run

attach()
if not TYPE_CHECKING:
    __getattr__ = gone.absent(__name__)

__version__: str = build_info()["version"]

__all__ = [
    "AirRag", "Bm25", "Completion", "DecExRag", "DecoupleRag", "Dense", "Faiss", "HttpEncoder", "HttpReranker",
    "HttpRetriever", "Hybrid", "Index", "LlamaCpp", "LlamaCppEncoder", "Method", "Node", "OpenAi", "Passage",
    "ProRag", "Prompt", "Query", "Question", "ReasonRag", "Reranked", "Simulated", "Transformers", "Tree",
    "World", "__version__", "annotate", "answer", "best_answer", "build_index", "dpo_pairs", "expand", "merge",
    "progress_view", "ray_run", "read_passages", "read_questions", "read_run", "read_trees", "rescore", "run",
    "sft_rows", "write_jsonl", "write_world",
]  # fmt: skip


def __dir__() -> list[str]:
    """What users use, for tab completion."""
    return [*__all__, "aio", "batch", "doctor", "errors", "parts", "search", "tables"]
