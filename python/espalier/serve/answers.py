"""A method behind OpenAI's chat completions."""

import asyncio
import hashlib
import json
import logging
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aiohttp import web
from prometheus_client import Counter

from .._core import Tree
from ..errors import BackendError
from ..io.files import write_jsonl
from .chat import ChatAnswer, ChatRequest, comment, event, last_event, read_chat
from .host import Door, Host, Listening, Metrics, internal, sending
from .limits import Gate, Refusal
from .searches import Searches

log = logging.getLogger("espalier.serve")

seconds = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600)


@dataclass(frozen=True)
class Offer:
    """What is served, and within which limits."""

    name: str
    """Of the model, as clients see it."""
    seed: int
    """Where a request names none."""
    traces: Path | None
    """Folder of the trees, a file each."""
    max_question: int
    """Characters."""
    searches: int
    """At once."""
    time_limit: float
    """Seconds of one search."""
    comment_seconds: float = 10.0
    """Between the comments that keep a waiting stream alive."""


def question_id(text: str) -> str:
    """Of the text alone: the same question is searched in the same way."""
    return "q-" + hashlib.sha256(text.encode()).hexdigest()[:16]


def citations(tree: Tree) -> list[dict[str, Any]]:
    """The documents that the answer's chain saw, each once, in the order in which it saw them."""
    node = tree.best_node
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    searches = 0
    for _, content in node.state.segments if node else []:
        if isinstance(content, str):
            continue
        searches += 1
        for rank, p in enumerate(content, 1):
            row = {"id": p.id, "title": p.title, "text": p.text, "score": p.score, "search": searches, "rank": rank}
            rows.setdefault((p.id, p.text), row)
    return list(rows.values())


def answer_of(tree: Tree, chat: ChatRequest, trace_id: str | None) -> ChatAnswer:
    """Raises Refusal where the search found no answer."""
    row = tree.to_row()
    if row["answer"] is None:
        if tree.status == "budget":
            raise Refusal(504, "the search's budget ended before there was an answer", "budget")
        raise Refusal(502, "the model gave no reply that could be read as an answer", "no_answer")
    usage = {name: row[name] for name in ("prompt_tokens", "completion_tokens")}
    return ChatAnswer(
        id=f"chatcmpl-{uuid.uuid4().hex}",
        created=int(time.time()),
        model=chat.model,
        text=row["answer"],
        finish="length" if tree.status == "budget" else "stop",
        usage=usage | {"total_tokens": sum(usage.values())},
        espalier={
            "trace_id": trace_id,
            "question_id": row["id"],
            "status": row["status"],
            "calls": row["completions"],
            "retrievals": row["retrievals"],
            "nodes": len(tree),
            "citations": citations(tree),
            "ignored": chat.ignored,
        },
    )


def backend_failed(error: BackendError) -> Refusal:
    """For a client, without addresses and advice for us. The status of a failure that may pass asks it to retry."""
    log.error("a backend failed: %s", json.dumps(str(error)[:1000]))
    told = re.sub(r"^(GET|POST) \S+: |; the server (wants|knows) .*|\. No reply of this .*", "", str(error))
    said = re.sub(r"\b[\w+.-]+://\S*", "[address]", told)[:300]
    if error.permanent:
        return Refusal(502, f"the model or the retriever refused: {said}", "backend_refused")
    return Refusal(503, f"the model or the retriever failed: {said}", "backend_unavailable", retry_after=30)


class Answers:
    """POST /v1/chat/completions and GET /v1/models."""

    def __init__(self, host: Host, searches: Searches, offer: Offer) -> None:
        self._host = host
        self._searches = searches
        self._offer = offer
        self._created = int(time.time())
        self.gate = Gate(offer.searches, "searches", 5)
        self._costs = Counter("espalier_costs", "Logical costs of searches", ["kind"], registry=host.metrics.registry)
        self._ends = Counter("espalier_searches", "Searches by how they ended", ["end"], registry=host.metrics.registry)

    async def complete(self, request: web.Request) -> web.StreamResponse:
        chat = read_chat(await self._host.body(request), self._offer.max_question)
        self._check_model(chat.model)
        with self.gate.room_for(1):
            if chat.stream:
                return await self._stream(request, chat)
            return await self._host.send(request, web.json_response((await self._answer(chat)).completion()))

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [self._model()]})

    async def model(self, request: web.Request) -> web.Response:
        self._check_model(request.match_info["model"])
        return web.json_response(self._model())

    def _model(self) -> dict[str, Any]:
        return {"id": self._offer.name, "object": "model", "created": self._created, "owned_by": "espalier"}

    def _check_model(self, name: str) -> None:
        if name != self._offer.name:
            message = f"no model {json.dumps(name[:200])}; this server offers {json.dumps(self._offer.name)}"
            raise Refusal(404, message, "model_not_found", "model")

    async def _answer(self, chat: ChatRequest) -> ChatAnswer:
        """Raises Refusal, and nothing else."""
        end = "cancelled"
        try:
            tree = await self._search(chat)
            end = tree.status
            return answer_of(tree, chat, await self._keep(tree))
        except Exception as error:
            refusal = error if isinstance(error, Refusal) else internal(error)
            end = refusal.code or "failed"
            raise refusal from None
        finally:
            self._ends.labels(end).inc()

    async def _search(self, chat: ChatRequest) -> Tree:
        id = question_id(chat.question)
        seed = self._offer.seed if chat.seed is None else chat.seed
        try:
            tree = await asyncio.wait_for(self._searches(chat.question, id, seed), self._offer.time_limit)
        except asyncio.TimeoutError:
            raise Refusal(504, f"no answer within {self._offer.time_limit:g} s", "timeout") from None
        except BackendError as error:
            raise backend_failed(error) from None
        for costs in tree.costs.values():
            for kind, amount in costs.items():
                self._costs.labels(kind).inc(amount)
        return tree

    async def _keep(self, tree: Tree) -> str | None:
        """Writes the tree under the id that it returns. A full disk takes no answer away."""
        if self._offer.traces is None:
            return None
        trace_id = f"{tree.question.id}-{uuid.uuid4().hex[:8]}"
        try:
            await asyncio.to_thread(write_jsonl, self._offer.traces / f"{trace_id}.jsonl", [tree], private=True)
        except OSError as error:
            log.error("the tree of %s cannot be kept: %s", trace_id, error)
            return None
        return trace_id

    async def _stream(self, request: web.Request, chat: ChatRequest) -> web.StreamResponse:
        """The answer in pieces. Comments keep a waiting connection open. An error after a comment is an event."""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})
        search = asyncio.create_task(self._answer(chat))
        try:
            while not (await asyncio.wait({search}, timeout=self._offer.comment_seconds))[0]:
                await self._begin(request, response)
                await response.write(comment)
            try:
                events = [event(chunk) for chunk in search.result().chunks(include_usage=chat.include_usage)]
            except Refusal as refusal:
                if not response.prepared:
                    raise
                events = [event(refusal.body())]
            await self._begin(request, response)
            with sending(request, self._offer.time_limit):
                for data in (*events, last_event):
                    await response.write(data)
                await response.write_eof()
        finally:
            search.cancel()  # nothing, if it has ended
            await asyncio.gather(search, return_exceptions=True)
        return response

    @staticmethod
    async def _begin(request: web.Request, response: web.StreamResponse) -> None:
        if not response.prepared:
            await response.prepare(request)


async def serve(settings: Mapping[str, Any], offer: Offer, door: Door, listening: Listening) -> None:
    """Serves until a signal, or until the searches end by an error, which is raised."""
    metrics = Metrics(seconds)
    host = Host(door, metrics)
    searches = Searches(settings, host.fail)
    answers = Answers(host, searches, offer)
    host.route("POST", "/v1/chat/completions", answers.complete)
    host.route("GET", "/v1/models", answers.models)
    host.route("GET", "/v1/models/{model:.+}", answers.model)
    metrics.watch("espalier_open_searches", "Searches under way", lambda: answers.gate.inside)
    try:
        await host.run(grace=offer.time_limit, listening=listening)
    finally:
        await searches.stop()
