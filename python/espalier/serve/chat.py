"""OpenAI's chat completions: what is read of a request, and the shapes of answers."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .limits import bad_field, flag_of, integer_of, read_object, text_of

bad = 400  # OpenAI's status for a bad field

# What would change the answer in a way that a search cannot follow.
unsupported = ("tools", "functions", "audio", "prediction", "web_search_options")


@dataclass(frozen=True)
class ChatRequest:
    """A question, and what else of a request counts here."""

    model: str
    question: str
    seed: int | None
    stream: bool
    include_usage: bool
    ignored: list[str] = field(default_factory=list)
    """Fields, and earlier messages, that have no effect on a search."""


def read_chat(body: bytes, longest: int) -> ChatRequest:
    """The last message is the question. Raises Refusal that names the field."""
    fields = read_object(body)
    model = text_of(fields.get("model"), "model", 1000, status=bad, too_long=bad)
    for name in unsupported:
        if fields.get(name):
            raise bad_field(name, "is not supported: a search answers with a text", bad)
    if integer_of(fields, "n", 1, 1, 2**31, status=bad) != 1:
        raise bad_field("n", "must be 1: a search gives one answer", bad)
    form = fields.get("response_format")
    if form is not None and (not isinstance(form, dict) or form.get("type") != "text"):
        raise bad_field("response_format", "must be of the type 'text'", bad)
    options = fields.get("stream_options")
    if options is not None and not isinstance(options, dict):
        raise bad_field("stream_options", "must be an object", bad)
    question, earlier = read_messages(fields.get("messages"), longest)
    heard = {"model", "messages", "stream", "stream_options", "seed", "n", "response_format"}
    ignored = sorted(name for name, value in fields.items() if name not in heard and value is not None)
    seed = integer_of(fields, "seed", -1, 0, 2**63 - 1, status=bad)
    return ChatRequest(
        model=model,
        question=question,
        seed=None if seed < 0 else seed,
        stream=flag_of(fields, "stream", False, status=bad),
        include_usage=flag_of(options or {}, "include_usage", False, status=bad),
        ignored=ignored + [f"messages[{i}]" for i in range(earlier)],
    )


def read_messages(messages: object, longest: int) -> tuple[str, int]:
    """The last message's text, and how many stand before it."""
    if not isinstance(messages, list) or not messages:
        raise bad_field("messages", "must be a list with a message", bad)
    last = messages[-1]
    place = f"messages[{len(messages) - 1}]"
    if not isinstance(last, dict) or last.get("role") != "user":
        raise bad_field(f"{place}.role", "must be 'user': the last message is the question", bad)
    content = last.get("content")
    if isinstance(content, list):
        content = "\n".join(read_part(part, f"{place}.content[{i}]", longest) for i, part in enumerate(content))
    question = text_of(content, f"{place}.content", longest, status=bad, too_long=bad).strip()
    if not question:
        raise bad_field(f"{place}.content", "holds no question", bad)
    return question, len(messages) - 1


def read_part(part: object, place: str, longest: int) -> str:
    if not isinstance(part, dict) or part.get("type") != "text":
        raise bad_field(place, "must be a part of the type 'text'", bad)
    return text_of(part.get("text"), f"{place}.text", longest, status=bad, too_long=bad)


@dataclass(frozen=True)
class ChatAnswer:
    """A final answer with what is said about it."""

    id: str
    created: int
    model: str
    text: str
    finish: str
    """'stop', or 'length' where a budget ended the search."""
    usage: Mapping[str, int]
    espalier: Mapping[str, Any]

    def _object(self, kind: str, **more: Any) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model, **more}

    def completion(self) -> dict[str, Any]:
        message = {"role": "assistant", "content": self.text, "refusal": None}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.finish}
        return self._object("chat.completion", choices=[choice], usage=self.usage, espalier=self.espalier)

    def chunks(self, *, include_usage: bool) -> Iterator[dict[str, Any]]:
        """The same in pieces. The last piece with a choice carries `espalier`."""

        def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
            if include_usage:
                more["usage"] = None
            return self._object("chat.completion.chunk", choices=[choice], **more)

        yield chunk({"role": "assistant", "content": "", "refusal": None})
        for piece in re.findall(r"\s*\S+\s*$|\s*\S+", self.text):
            yield chunk({"content": piece})
        yield chunk({}, self.finish, espalier=self.espalier)
        if include_usage:
            yield self._object("chat.completion.chunk", choices=[], usage=self.usage)


def event(value: object) -> bytes:
    """One server-sent event."""
    return b"data: " + json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n\n"


last_event = b"data: [DONE]\n\n"
comment = b": searching\n\n"
