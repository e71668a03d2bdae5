"""A value model or a process reward model behind the value interface: POST /value and POST /classify."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aiohttp import web

from .batcher import Ask, Batcher
from .host import Door, Host, Listening
from .limits import Gate, Refusal, bad_field, read_object, text_of
from .metrics import Metrics
from .retriever import encoded, seconds

Numbers = tuple[float, ...]
Text = str | list[int]
"""A text, or its token ids."""


@dataclass(frozen=True)
class Limits:
    max_texts: int
    """Of one request."""
    max_text: int
    """Characters, or token ids."""
    queue: int
    """Texts of all requests that are inside."""
    batch: int
    """Texts in one call of the model, not counting the last request's."""
    time_limit: float
    """Seconds."""


def value_answer(found: Sequence[Numbers]) -> bytes:
    """Numbers in [-1, 1], plan and search of each text."""
    return encoded({"plan": [plan for plan, _ in found], "search": [search for _, search in found]})


def classes_answer(found: Sequence[Numbers]) -> bytes:
    """Raw numbers, as vLLM gives them without an activation."""
    return encoded({"object": "list", "data": [{"index": i, "probs": list(row)} for i, row in enumerate(found)]})


def texts_of(fields: dict[str, object], names: Sequence[str], limits: Limits) -> list[Text]:
    """The texts under the first of these names that the request has. Raises Refusal that names the field."""
    name = next((name for name in names if name in fields), names[0])
    given = fields.get(name)
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise bad_field(name, "must be a list of texts")
    if len(texts) > limits.max_texts:
        raise bad_field(name, f"holds {len(texts)} texts, more than the {limits.max_texts} allowed", 413)
    return [one_text(text, f"{name}[{i}]", name == "input_ids", limits) for i, text in enumerate(texts)]


def one_text(text: object, field: str, tokens: bool, limits: Limits) -> Text:
    if not tokens:
        return text_of(text, field, limits.max_text)
    if not isinstance(text, list) or not text or not all(type(token) is int and token >= 0 for token in text):
        raise bad_field(field, "must be a list of token ids")
    if len(text) > limits.max_text:
        raise bad_field(field, f"has {len(text)} tokens, more than the {limits.max_text} allowed", 413)
    return text


class Values:
    """The two routes."""

    def __init__(self, host: Host, batcher: Batcher[Text, Numbers], limits: Limits) -> None:
        self._host, self._batcher, self._limits = host, batcher, limits
        self.gate = Gate(limits.queue, "texts", 1)

    async def value(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, ("texts", "input_ids"), value_answer)

    async def classify(self, request: web.Request) -> web.StreamResponse:
        return await self._answer(request, ("input", "text"), classes_answer)

    async def _answer(
        self, request: web.Request, names: Sequence[str], answer: Callable[[Sequence[Numbers]], bytes]
    ) -> web.StreamResponse:
        texts = texts_of(read_object(await self._host.body(request)), names, self._limits)
        with self.gate.room_for(len(texts)):
            try:
                body = await asyncio.wait_for(self._batcher(Ask(texts, answer)), self._limits.time_limit)
            except asyncio.TimeoutError:
                raise Refusal(504, f"no answer within {self._limits.time_limit:g} s", "timeout") from None
            except ValueError as error:  # the model names what is wrong with a text
                raise Refusal(400, str(error), "invalid_value") from None
            return await self._host.send(request, web.Response(body=body, content_type="application/json"))


async def serve(
    valued: Callable[[list[Text]], Sequence[Numbers]], rewards: bool, door: Door, limits: Limits, listening: Listening
) -> None:
    """Serves until a signal. A process reward model (`rewards`) has the route /classify, a value model has /value."""
    metrics = Metrics(seconds)
    host = Host(door, metrics)
    batcher = Batcher(valued, limits.batch)
    values = Values(host, batcher, limits)
    if rewards:
        host.route("POST", "/classify", values.classify)
    else:
        host.route("POST", "/value", values.value)
    metrics.watch("espalier_waiting_requests", "Requests that wait for the next call", lambda: batcher.waiting)
    metrics.watch("espalier_inside_texts", "Texts of requests inside", lambda: values.gate.inside)
    metrics.watch("espalier_value_calls", "Calls of the model so far", lambda: batcher.calls)
    metrics.watch("espalier_value_texts", "Texts in calls of the model so far", lambda: batcher.queries)
    valuing = asyncio.create_task(batcher.run())
    try:
        await host.run(grace=limits.time_limit, listening=listening)
    finally:
        valuing.cancel()
        with suppress(asyncio.CancelledError):
            await valuing
