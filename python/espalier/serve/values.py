"""A value model or a process reward model behind the value interface: POST /value and POST /classify."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aiohttp import web

from .batched import Ask, Batched, encoded
from .host import Door, Listening
from .limits import Gate, Refusal, bad_field, read_object, text_of

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


def wrong_text(error: Exception) -> Refusal | None:
    """The model names what is wrong with a text."""
    return Refusal(400, str(error), "invalid_value") if isinstance(error, ValueError) else None


async def serve(
    valued: Callable[[list[Text]], Sequence[Numbers]], rewards: bool, door: Door, limits: Limits, listening: Listening
) -> None:
    """Serves until a signal. A process reward model (`rewards`) has the route /classify, a value model has /value."""
    metrics = ("inside_texts", "value_calls", "value_texts")
    gate = Gate(limits.queue, "texts", 1)
    server: Batched[Text, Numbers] = Batched(valued, door, gate, limits.batch, limits.time_limit, metrics, wrong_text)
    names, answer = (("input", "text"), classes_answer) if rewards else (("texts", "input_ids"), value_answer)

    async def value(request: web.Request) -> web.StreamResponse:
        texts = texts_of(read_object(await server.host.body(request)), names, limits)
        return await server.answer(request, Ask(texts, answer), len(texts))

    server.host.route("POST", "/classify" if rewards else "/value", value)
    await server.run(listening)
