"""The keywords of `expand` and `answer`, from the table of settings by tools/make_settings.py."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .settings_table import listed

if TYPE_CHECKING:
    from ..protocols import EncoderLike, LanguageModelLike, PruningLike, RetrieverLike


class RunSettings(TypedDict, total=False):
    """The settings of a run, each with its default in brackets. None keeps the default."""

    method: str | None
    preset: Literal["paper", "code"] | None
    set: Mapping[str, object] | None
    prune: str | PruningLike | None
    constrain: Literal["auto", "off", "always", "draft"] | None
    seed: int | None
    questions: str | os.PathLike[str] | None
    limit: int | None
    shard: str | None
    prompts: str | os.PathLike[str] | None
    model: str | LanguageModelLike | None
    model_name: str | None
    model_revision: str | None
    models: Mapping[str, str | LanguageModelLike | tuple[str | LanguageModelLike, str]] | None
    endpoints: Sequence[str] | None
    api: Literal["chat", "completions"] | None
    extra_body: str | Mapping[str, Any] | None
    corpus: str | os.PathLike[str] | None
    index: str | os.PathLike[str] | None
    retriever: str | RetrieverLike | None
    retriever_name: str | None
    retriever_api: Literal["search-r1", "rerank", "pyserini", "elasticsearch"] | None
    reranker: str | None
    reranker_name: str | None
    rerank_depth: int | None
    encoder: str | EncoderLike | None
    encoder_name: str | None
    encoder_profile: str | None
    values: str | os.PathLike[str] | EncoderLike | None
    value_name: str | None
    server: str | None
    stream: bool | None
    api_key_file: str | os.PathLike[str] | None
    session: str | None
    timeout: float | None
    deadline: float | None
    attempts: int | None
    wait: float | None
    journal_file: str | os.PathLike[str] | None
    journal: bool | None
    replay: bool | None
    keep_tokens: bool | None
    in_flight: int | None
    open_questions: int | None
    out: str | os.PathLike[str] | None
    overwrite: bool | None


RunSettings.__doc__ = f"{RunSettings.__doc__}\n\n{listed()}"
