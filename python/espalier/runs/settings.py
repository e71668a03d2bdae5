"""The keywords of `expand` and `answer`, from the table of settings by tools/make_settings.py."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from ..protocols import EncoderLike, LanguageModelLike, RetrieverLike


class RunSettings(TypedDict, total=False):
    """The settings of a run, each with its default in brackets. None keeps the default.

    Search:

    - method: which method searches (decex).
    - preset: options as the method's paper or its published code has them.
    - protocol: how replies name their action: tags in their text, or calls of the chat API's tools (tags).
    - set: a search option. `espalier options` lists them.
    - constrain: whether replies follow a grammar. auto: for purposes where too few probes of the model can be read
      (auto).
    - seed: seed of the run (1).
    - questions: JSON lines with id, question, golden_answers.
    - limit: the number of questions, the first ones of the file, 0 = all.
    - shard: part I of N of the questions, 1/N to N/N. It counts after --limit. `espalier merge` joins the parts.
    - prompts: folder of prompts to use instead of the built-in ones.

    Model:

    - model: simulated, the URL of an OpenAI-compatible server, or in process gguf:FILE[?slots=N&context=N&threads=N]
      and hf:FOLDER[?device=NAME&batch=N] (simulated).
    - model_name: the model's name at the server.
    - model_revision: revision of its weights. It is part of the journal's keys.
    - models: another model for one purpose, such as rollout. It may be repeated.
    - endpoints: a further server with that model, or with a purpose's own. The model's own URL weighs 1. It may be
      repeated.
    - api: which interface of the server is asked (chat).
    - extra_body: JSON object merged into every request to a model. It is part of the journal's keys.
    - thinking: whether a reasoning model thinks, or its most tokens per thought (the model's default).

    Retriever:

    - corpus: JSON lines with id, title, contents. A retrieval server needs none.
    - index: folder of `espalier index build`, in place of the corpus.
    - retriever: bm25, dense or hybrid (an index's vectors), dense:FILE, hybrid:FILE, faiss:INDEX or a server's URL
      (bm25).
    - retriever_name: what a retrieval server searches. It is part of the journal's keys (default).
    - retriever_api: which interface the retrieval server has (search-r1).
    - reranker: URL of a reranker, /rerank or /score, for what was retrieved.
    - reranker_name: its model's name at the server.
    - rerank_depth: passages that the reranker sees (50).

    Encoder and values:

    - encoder: an embeddings server, or in process gguf:FILE: for dense, faiss, value heads, choices by embedding.
    - encoder_name: the encoder's name at its server.
    - encoder_profile: prefixes, scaling, length: e5, e5-instruct, bge, gte, minilm (none).
    - encoder_cut: how texts are cut to that length (none).
    - value_server: URL of a server that gives plan and search values (decouple).
    - value_name: name of the model behind the value server. It is part of the journal's keys (default).
    - value_head: trained head over the encoder's embeddings (decouple).

    Servers:

    - server: the kind of the model's server: vllm, sglang, llamacpp, llamacpp-python, ollama, openai, gateway or
      other. auto asks it (auto).
    - stream: replies come in chunks, for gateways that cut silent connections (False).
    - api_key_file: file with the servers' key (else the variable OPENAI_API_KEY).
    - timeout: seconds per attempt (300).
    - deadline: seconds per request with all its attempts (600).
    - attempts: attempts per request, 0 = as many as the deadline allows.
    - contact: say so when a server has not replied for so many seconds, 0 = never (30).
    - hedge: copy requests slower than this quantile of the recent ones to a second endpoint, such as 0.95.

    Journal:

    - journal_file: file that keeps the responses, shared with other runs (journal.sqlite in the run's folder).
    - journal: without a journal a run that was stopped starts over (True).
    - replay: answer from the journal alone (False).

    Execution:

    - in_flight: outstanding requests, or the largest batch (64).
    - open_questions: trees that grow at once, 0 = 4 times --in-flight.

    Output:

    - out: folder of the run. The same command goes on where it was stopped.
    - overwrite: start over where options, inputs or seed have changed. The journal is kept (False).
    """

    method: str | None
    preset: Literal["paper", "code"] | None
    protocol: Literal["tags", "tools"] | None
    set: Mapping[str, object] | None
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
    thinking: str | None
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
    encoder_cut: Literal["none", "vllm", "llamacpp"] | None
    value_server: str | EncoderLike | None
    value_name: str | None
    value_head: str | os.PathLike[str] | None
    server: str | None
    stream: bool | None
    api_key_file: str | os.PathLike[str] | None
    timeout: float | None
    deadline: float | None
    attempts: int | None
    contact: float | None
    hedge: float | None
    journal_file: str | os.PathLike[str] | None
    journal: bool | None
    replay: bool | None
    in_flight: int | None
    open_questions: int | None
    out: str | os.PathLike[str] | None
    overwrite: bool | None
