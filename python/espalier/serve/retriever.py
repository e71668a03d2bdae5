"""A retriever behind Search-R1's interface."""

import json
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from .._core import Passage, Query
from ..errors import BackendError
from .batched import Ask, Batched, encoded
from .host import Door, Listening
from .limits import Gate, Refusal, bad_field, flag_of, integer_of, read_object, text_of

log = logging.getLogger("espalier.serve")
Found = Sequence[Sequence[Passage]]


@dataclass(frozen=True)
class Limits:
    topk: int
    """Where a request names none."""
    max_topk: int
    max_queries: int
    max_query: int
    """Characters."""
    max_results: int
    """Queries times topk, of one request."""
    queue: int
    """The same, of all requests that are inside."""
    batch: int
    """Queries in one search call, not counting the last request's."""
    time_limit: float
    """Seconds."""


def document(passage: Passage) -> dict[str, str]:
    """A document as Search-R1's corpora have it: the quoted title, a newline, the text."""
    return {"id": passage.id, "contents": f'"{passage.title}"\n{passage.text}'}


def scored_answer(found: Found) -> bytes:
    return encoded({"result": [[{"document": document(p), "score": p.score} for p in hits] for hits in found]})


def bare_answer(found: Found) -> bytes:
    return encoded({"result": [[document(p) for p in hits] for hits in found]})


def single_answer(found: Found) -> bytes:
    """As DecoupleSearch's server answers."""
    return encoded([{"id": p.id, "title": p.title, "text": p.text, "score": p.score} for p in found[0]])


def read_ask(body: bytes, limits: Limits) -> Ask[Query, Sequence[Passage]]:
    """{"queries", "topk", "return_scores"}, or {"query", "top_k"}. Raises Refusal that names the field."""
    fields = read_object(body)
    if "queries" not in fields and "query" in fields:
        text = text_of(fields["query"], "query", limits.max_query)
        return Ask([Query(text, integer_of(fields, "top_k", limits.topk, 1, limits.max_topk))], single_answer)
    texts = fields.get("queries")
    if not isinstance(texts, list):
        raise bad_field("queries", "must be a list of texts")
    if len(texts) > limits.max_queries:
        raise bad_field("queries", f"holds {len(texts)} texts, more than the {limits.max_queries} allowed", 413)
    k = integer_of(fields, "topk", limits.topk, 1, limits.max_topk)
    if len(texts) * k > limits.max_results:
        raise bad_field("topk", f"times the number of queries is more than the {limits.max_results} allowed", 413)
    queries = [Query(text_of(text, f"queries[{i}]", limits.max_query), k) for i, text in enumerate(texts)]
    return Ask(queries, scored_answer if flag_of(fields, "return_scores", False) else bare_answer)


def backend_failed(error: Exception) -> Refusal | None:
    """The error for a client if the retriever failed. Its own message goes only to the log."""
    if not isinstance(error, BackendError):
        return None
    log.error("a backend failed: %s", json.dumps(str(error)[:1000]))
    return Refusal(502, "the retriever failed; the server's log says why", "backend")


async def serve(search: Callable[[list[Query]], Found], door: Door, limits: Limits, listening: Listening) -> None:
    """Serves until a signal."""
    names = ("inside_results", "search_calls", "search_queries")
    gate = Gate(limits.queue, "queries", 1)
    server: Batched[Query, Sequence[Passage]] = Batched(
        search, door, gate, limits.batch, limits.time_limit, names, backend_failed
    )

    async def retrieve(request: web.Request) -> web.StreamResponse:
        ask = read_ask(await server.host.body(request), limits)
        return await server.answer(request, ask, sum(query.k for query in ask.queries))

    server.host.route("POST", "/retrieve", retrieve)
    await server.run(listening)
