"""A retriever behind Search-R1's interface."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web

from .._core import Passage, Query
from ..errors import BackendError
from .batcher import Ask, Batcher
from .host import Door, Host, Listening
from .limits import Gate, Refusal, bad_field, flag_of, integer_of, read_object, text_of
from .metrics import Metrics

log = logging.getLogger("espalier.serve")
Found = Sequence[Sequence[Passage]]

seconds = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


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


def encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


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


def backend_failed(error: BackendError) -> Refusal:
    """The error for a client if the retriever failed. Its own message goes only to the log."""
    log.error("a backend failed: %s", json.dumps(str(error)[:1000]))
    return Refusal(502, "the retriever failed; the server's log says why", "backend")


class Retrieval:
    """POST /retrieve."""

    def __init__(self, host: Host, batcher: Batcher[Query, Sequence[Passage]], limits: Limits) -> None:
        self._host = host
        self._batcher = batcher
        self._limits = limits
        self.gate = Gate(limits.queue, "queries", 1)

    async def retrieve(self, request: web.Request) -> web.StreamResponse:
        ask = read_ask(await self._host.body(request), self._limits)
        with self.gate.room_for(sum(query.k for query in ask.queries)):
            try:
                body = await asyncio.wait_for(self._batcher(ask), self._limits.time_limit)
            except asyncio.TimeoutError:
                raise Refusal(504, f"no answer within {self._limits.time_limit:g} s", "timeout") from None
            except BackendError as error:
                raise backend_failed(error) from None
            return await self._host.send(request, web.Response(body=body, content_type="application/json"))


async def serve(search: Callable[[list[Query]], Found], door: Door, limits: Limits, listening: Listening) -> None:
    """Serves until a signal."""
    metrics = Metrics(seconds)
    host = Host(door, metrics)
    batcher = Batcher(search, limits.batch)
    retrieval = Retrieval(host, batcher, limits)
    host.route("POST", "/retrieve", retrieval.retrieve)
    metrics.watch("espalier_waiting_requests", "Requests that wait for the next search call", lambda: batcher.waiting)
    metrics.watch("espalier_inside_results", "Results that requests inside may bring", lambda: retrieval.gate.inside)
    metrics.watch("espalier_search_calls", "Search calls so far", lambda: batcher.calls)
    metrics.watch("espalier_search_queries", "Queries in search calls so far", lambda: batcher.queries)
    searching = asyncio.create_task(batcher.run())
    try:
        await host.run(grace=limits.time_limit, listening=listening)
    finally:
        searching.cancel()
        with suppress(asyncio.CancelledError):
            await searching
