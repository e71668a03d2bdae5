"""What a server refuses, and in which words: sizes, counts, and fields of the wrong kind."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Refusal(Exception):
    """A request that gets an error in OpenAI's shape in place of an answer."""

    status: int
    message: str
    code: str | None = None
    field: str | None = None
    retry_after: int | None = None
    """Seconds."""

    def body(self) -> dict[str, Any]:
        kind = "invalid_request_error" if self.status < 500 and self.status != 429 else "server_error"
        if self.status == 429:
            kind = "rate_limit_error"
        return {"error": {"message": self.message, "type": kind, "param": self.field, "code": self.code}}


class Gate:
    """Limits what is inside at once, in any unit. More is refused with 429."""

    def __init__(self, limit: int, what: str, retry_after: int) -> None:
        self._limit = limit
        self._what = what
        self._retry_after = retry_after
        self.inside = 0

    @contextmanager
    def room_for(self, amount: int) -> Iterator[None]:
        self.enter(amount)
        try:
            yield
        finally:
            self.leave(amount)

    def enter(self, amount: int) -> None:
        """Something larger than the limit comes in alone."""
        if self.inside and self.inside + amount > self._limit:
            raise Refusal(429, f"too many {self._what} at once, try again", "overloaded", retry_after=self._retry_after)
        self.inside += amount

    def leave(self, amount: int) -> None:
        self.inside -= amount


def bad_field(field: str, problem: str, status: int = 422) -> Refusal:
    return Refusal(status, f"{field} {problem}", "invalid_value", field)


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body."""
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, f"the body is not JSON: {error}", "invalid_json") from None
    if not isinstance(value, dict):
        raise Refusal(400, "the body is not a JSON object", "invalid_json")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def text_of(value: object, field: str, longest: int, *, status: int = 422, too_long: int = 413) -> str:
    """A text of at most so many characters."""
    if not isinstance(value, str):
        raise bad_field(field, "must be a text", status)
    if len(value) > longest:
        raise bad_field(field, f"has {len(value)} characters, more than the {longest} allowed", too_long)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise bad_field(field, "holds half of a surrogate pair", status) from None
    return value


def integer_of(fields: Mapping[str, Any], field: str, default: int, low: int, high: int, *, status: int = 422) -> int:
    """An integer in [low, high], or the default if it is absent or null."""
    value = fields.get(field)
    if value is None:
        return default
    if type(value) is not int or not low <= value <= high:
        raise bad_field(field, f"must be an integer from {low} to {high}", status)
    return value


def flag_of(fields: Mapping[str, Any], field: str, default: bool, *, status: int = 422) -> bool:
    value = fields.get(field)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise bad_field(field, "must be true or false", status)
    return value
