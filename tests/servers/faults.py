"""The faults that a server can be asked for, by name."""

import functools
import re
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import formatdate
from typing import Any

from dialects import TOKENS, Dialect, Json, encode

Answer = tuple[int, dict[str, str], bytes]
Status = Callable[[Dialect], Answer]


@functools.cache
def _much() -> bytes:
    return b" " * 100_000_000


def _status(status: int, message: str = "injected", code: str = "", **headers: str) -> Status:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda dialect: (status, dict(named), encode(dialect.error(status, message, code)))


# What stands in for a reply, whatever the attempt: the request has failed.
PERMANENT: Mapping[str, Status] = {
    "400": _status(400),
    "401": _status(401),
    "404": _status(404),
    "413": _status(413),
    "422": lambda _: (422, {}, encode({"detail": [{"loc": ["body", "n"], "msg": "injected", "type": "int"}]})),
    "quota": _status(429, "injected: you exceeded your quota", "insufficient_quota", Retry_After="0"),
    "redirect": lambda _: (302, {"Location": "/elsewhere"}, b""),
}

# What stands in for a reply this once.
REPLACED: Mapping[str, Status] = {
    "408": _status(408),
    "429 seconds": _status(429, Retry_After="1"),
    "429 date": lambda dialect: _status(429, Retry_After=formatdate(time.time() + 1, usegmt=True))(dialect),
    "429 milliseconds": _status(429, Retry_After="600", retry_after_ms="30"),
    "500": _status(500),
    "502": lambda _: (502, {"Content-Type": "text/html"}, b"<html><h1>Bad Gateway</h1></html>"),
    "503": _status(503),
    "504": _status(504),
    "HTML": lambda _: (200, {"Content-Type": "text/html"}, b"<html><body>Sign in first</body></html>"),
    "empty body": lambda _: (200, {}, b""),
    "error on 200": lambda dialect: (200, {}, encode(dialect.error(500, "injected", ""))),
    "100 MB": lambda _: (200, {}, _much()),
}


def _relisted(change: Callable[[list[Json]], list[Json]]) -> Callable[[Json], Json]:
    """Changes the list of choices, or that of a retrieval server's results, where a reply has one."""

    def changed(reply: Json) -> Json:
        reply = reply | {name: change(reply[name]) for name in ("choices", "result") if name in reply}
        if "choices" in reply:  # the server counts what it sends
            made = sum(len(choice["token_ids"]) if "token_ids" in choice else TOKENS for choice in reply["choices"])
            reply["usage"] = reply["usage"] | {"completion_tokens": made}
        return reply

    return changed


def _inserted(damage: bytes) -> Callable[[bytes], bytes]:
    """Puts bytes at the beginning of the first text."""
    begin = re.compile(rb'"(?:content|contents|text|response)": "')
    return lambda body: begin.sub(lambda found: found[0] + damage, body, count=1)


def _ended(reason: str | None, **more: Any) -> Callable[[Json], Json]:
    """Every text ends for another reason, and a choice has more fields."""

    def changed(reply: Json) -> Json:
        if "done_reason" in reply:
            return reply | {"done_reason": reason}
        choices = [
            choice | {"finish_reason": reason, "stop_reason": None, "matched_stop": None, **more}
            for choice in reply.get("choices", ())
        ]
        return reply | ({"choices": choices} if choices else {})

    return changed


# What happens to a good reply's lists and to the ends of its texts.
RELISTED: Mapping[str, Callable[[Json], Json]] = {
    "too short a list": _relisted(lambda items: items[1:]),
    "too long a list": _relisted(lambda items: [*items, {"index": len(items)}]),
    "duplicate choices": _relisted(lambda items: [*items, *items[:1]]),
    "abort": _ended("abort"),
    "null reason": _ended(None),
    "filtered": _ended("content_filter"),
    "error in a choice": _ended("error", error={"code": 502, "message": "injected"}),
}

# What happens to its bytes.
DAMAGED: Mapping[str, Callable[[bytes], bytes]] = {
    "invalid UTF-8": _inserted(b"\xff\xc3"),
    "lone surrogate": _inserted(rb"\ud83d"),
}

# What happens to the connection.
BROKEN: Sequence[str] = ("refuse", "stall", "reset", "drip")

TRANSIENT: Sequence[str] = (*BROKEN, *REPLACED, *RELISTED, *DAMAGED)  # and "TLS", for a server that speaks it
