"""Reads the files of a run, field by field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from ..errors import InputError

T = TypeVar("T")


class Fields:
    """A JSON object whose errors name its file and line."""

    def __init__(self, place: str, data: Mapping[str, Any], path: str = "") -> None:
        self.data = data
        self._place, self._path = place, path

    def wrong(self, name: str, what: str) -> InputError:
        return InputError(f"{self._place}: field '{self._path}{name}': {what}")

    def has(self, name: str) -> bool:
        return name in self.data

    def _typed(self, name: str, kind: type[T], expected: str) -> T:
        if name not in self.data:
            raise self.wrong(name, "is missing")
        value = self.data[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(name, f"should be {expected}")
        return value

    def text(self, name: str) -> str:
        return self._typed(name, str, "a text")

    def flag(self, name: str) -> bool:
        return self._typed(name, bool, "true or false")

    def whole(self, name: str) -> int:
        return self._typed(name, int, "a whole number")

    def wholes(self, name: str) -> tuple[int, ...]:
        items = self._typed(name, list, "a list of whole numbers")
        if not all(type(item) is int for item in items):
            raise self.wrong(name, "should be a list of whole numbers")
        return tuple(items)

    def number(self, name: str) -> float:
        value = self._typed(name, object, "a number")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise self.wrong(name, "should be a number")
        return float(value)

    def maybe_number(self, name: str) -> float | None:
        """The number, or None if the field is null."""
        return None if name in self.data and self.data[name] is None else self.number(name)

    def items(self, name: str) -> list[Any]:
        return self._typed(name, list, "a list")

    def row(self, name: str) -> Fields:
        return Fields(self._place, self._typed(name, dict, "an object"), f"{self._path}{name}.")

    def rows(self, name: str) -> list[Fields]:
        found = []
        for i, item in enumerate(self.items(name)):
            if not isinstance(item, dict):
                raise self.wrong(f"{name}[{i}]", "should be an object")
            found.append(Fields(self._place, item, f"{self._path}{name}[{i}]."))
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        items = self._typed(name, list, "a list of texts")
        if not all(isinstance(item, str) for item in items):
            raise self.wrong(name, "should be a list of texts")
        return tuple(items)
