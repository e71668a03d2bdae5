"""How a reply comes in pieces: as events on OpenAI's routes, as lines of JSON on Ollama's own."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Sequence
from itertools import zip_longest

from dialects import Json


def encode(reply: object) -> bytes:
    return json.dumps(reply, ensure_ascii=False).encode()


def is_event(line: bytes) -> bool:
    return line.startswith(b"data: ")


def lines_of(parts: Iterable[object], *, events: bool) -> list[bytes]:
    return [b"data: " + encode(part) + b"\n\n" if events else encode(part) + b"\n" for part in parts]


def _words(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)


def _pieces_of(choice: Json, chat: bool) -> list[Json]:
    """A choice word by word, each with what is known of it; what ends it comes last, by itself."""

    def piece(text: str | None) -> Json:
        said = {} if text is None else {"content": text}
        return {"index": index, "finish_reason": None} | ({"delta": said} if chat else {"text": text or ""})

    rest = dict(choice)
    index, whole = rest.pop("index"), rest.pop("message", {}).get("content", "") if chat else rest.pop("text", "")
    logprobs, ids = rest.pop("logprobs", None) or {}, rest.pop("token_ids", None)
    pieces = [piece("")] if chat else []
    for at, word in enumerate(_words(whole)):
        known = {name: values[at : at + 1] for name, values in logprobs.items() if values}
        pieces.append(piece(word) | {"logprobs": known or None} | ({"token_ids": ids[at : at + 1]} if ids else {}))
    return [*pieces, piece(None) | rest]


def stream_of(request: Json, reply: Json) -> list[bytes]:
    """The events of a reply: choices take turns; an index that comes again comes later; then usage, and the end."""
    chat = "messages" in request
    first: dict[int, Json] = {}
    again: list[Json] = []
    for choice in reply["choices"]:
        if choice["index"] in first:
            again.append(choice)
        first.setdefault(choice["index"], choice)
    turns = zip_longest(*(_pieces_of(choice, chat) for choice in first.values()))
    pieces = [piece for turn in turns for piece in turn if piece]
    pieces += [piece for choice in again for piece in _pieces_of(choice, chat)]
    about = {"id": reply["id"], "created": 1, "model": reply["model"], "object": "chat.completion.chunk"}
    chunks = [about | {"choices": [piece], "usage": None} for piece in pieces]
    if request.get("stream_options", {}).get("include_usage"):
        chunks.append(about | {"choices": [], "usage": reply["usage"]})
    lines = lines_of(chunks, events=True)
    return [lines[0], b": keep-alive\n\n", *lines[1:], b"data: [DONE]\n\n"]


def ollama_stream_of(reply: Json) -> list[bytes]:
    """The lines of a reply of Ollama's own routes; the last one tells how it ended."""

    def said(text: str) -> Json:
        return {"message": {"role": "assistant", "content": text}} if chat else {"response": text}

    chat = "message" in reply
    words = _words(reply["message"]["content"] if chat else reply["response"])
    parts = [{"model": reply["model"], "done": False} | said(word) for word in words]
    return lines_of([*parts, reply | said("")], events=False)


def cut_anywhere(data: bytes, seed: int) -> Sequence[bytes]:
    """The data in pieces of 1 to 100 bytes."""
    draw, pieces, at = random.Random(seed), [], 0
    while at < len(data):
        size = draw.randint(1, 100)
        pieces.append(data[at : at + size])
        at += size
    return pieces
