"""Reads the training rows of a recorded run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from .._errors import InputError
from ..datasets.rows import read_rows
from .records import Asked, Dialogue, Message, Origin, Pair, Record, Steps

T = TypeVar("T")


class Row:
    """An object of a JSON line, which names file, line and field of what is wrong with it."""

    def __init__(self, place: str, data: Mapping[str, Any], path: str = "") -> None:
        self._place, self._data, self._path = place, data, path

    def wrong(self, name: str, what: str) -> InputError:
        return InputError(f"{self._place}: field '{self._path}{name}': {what}")

    def has(self, name: str) -> bool:
        return name in self._data

    def _typed(self, name: str, kind: type[T], expected: str) -> T:
        if name not in self._data:
            raise self.wrong(name, "is missing")
        value = self._data[name]
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
        """None where the field is null."""
        return None if name in self._data and self._data[name] is None else self.number(name)

    def row(self, name: str) -> Row:
        return Row(self._place, self._typed(name, dict, "an object"), f"{self._path}{name}.")

    def rows(self, name: str) -> list[Row]:
        found = []
        for i, item in enumerate(self._typed(name, list, "a list")):
            if not isinstance(item, dict):
                raise self.wrong(f"{name}[{i}]", "should be an object")
            found.append(Row(self._place, item, f"{self._path}{name}[{i}]."))
        return found

    def texts(self, name: str) -> tuple[str, ...]:
        items = self._typed(name, list, "a list of texts")
        if not all(isinstance(item, str) for item in items):
            raise self.wrong(name, "should be a list of texts")
        return tuple(items)

    def span(self, name: str, text: str) -> tuple[int, int]:
        """[begin, end) within a text."""
        match self._data.get(name):
            case [int(begin), int(end), *_] if 0 <= begin <= end <= len(text):
                return begin, end
        raise self.wrong(name, f"should be [begin, end] within a text of {len(text)} code points")

    def weights(self, name: str, text: str) -> tuple[tuple[int, int, float], ...]:
        found, at = [], 0
        for item in self._typed(name, list, "a list"):
            match item:
                case [int(begin), int(end), int() | float() as weight] if (
                    at <= begin <= end <= len(text) and weight >= 0
                ):
                    found.append((begin, end, float(weight)))
                    at = end
                case _:
                    raise self.wrong(name, f"should hold [begin, end, weight] in order within {len(text)} code points")
        return tuple(found)


def origin(row: Row, *nodes: str) -> Origin:
    """The row's, whose nodes stand in these fields of its provenance, or in its list `nodes`."""
    provenance = row.row("provenance")
    numbers = tuple(map(provenance.whole, nodes)) if nodes else provenance.wholes("nodes")
    return Origin(row.text("id"), provenance.text("tree"), numbers)


def one_turn(row: Row, prompt: str, completion: str, *nodes: str) -> Dialogue:
    said = Message("user", row.text(prompt)), Message("assistant", row.text(completion))
    weights = row.weights("weights", said[1].content) if row.has("weights") else ()
    return Dialogue(origin(row, *nodes), said, weights)


def conversation(row: Row) -> Dialogue:
    messages = []
    for said in row.rows("messages"):
        role, content = said.text("role"), said.text("content")
        if role not in ("system", "user", "assistant", "function"):
            raise said.wrong("role", f"is '{role}', allowed: system, user, assistant, function")
        value = next(
            (said.maybe_number(name) for name in ("q_value_thought", "q_value_search") if said.has(name)), None
        )
        at = said.whole("value_at") if value is not None else None
        if at is not None and not 0 <= at <= len(content):
            raise said.wrong("value_at", f"should lie within a text of {len(content)} code points")
        messages.append(Message("tool" if role == "function" else role, content, value, at))
    if not messages or messages[-1].role != "assistant":
        raise row.wrong("messages", "should end with the assistant's turn")
    correct = row.flag("correct")
    policy_loss = row.flag("policy_loss") if row.has("policy_loss") else correct
    return Dialogue(origin(row), tuple(messages), correct=correct, policy_loss=policy_loss)


def sft(row: Row) -> Dialogue:
    if row.has("messages"):
        return conversation(row)
    if row.has("history"):
        return one_turn(row, "history", "completion", "node")
    return one_turn(row, "prompt", "completion")


def rft(row: Row) -> Dialogue:
    return one_turn(row, "input", "output", "node")


def dpo(row: Row) -> Pair:
    """DecEx-RAG's pairs may begin within the assistant's turn, in a thought that is open; texts of models and documents
    are neutralised, so that only the turn itself can have opened it."""
    prompt, chosen, rejected = row.text("prompt"), row.text("chosen"), row.text("rejected")
    provenance = row.row("provenance")
    start = len(prompt)
    if provenance.text("method") == "decex" and prompt.rfind("<think>") > prompt.rfind("</think>"):
        start = prompt.rfind("<think>")
    margin = provenance.number("margin")
    return Pair(origin(row, "chosen_node", "rejected_node"), prompt[:start], prompt[start:], chosen, rejected, margin)


def judged(row: Row) -> Pair:
    """Two steps that a judge has compared: the prompt is the question and the steps before."""
    asked, label = row.row("input"), row.row("label")
    prompt = f"Question: {asked.text('question')}\n{asked.text('history')}"
    better, worse = label.maybe_number("chosen_reward"), label.maybe_number("rejected_reward")
    # The judge decides which is better: where the rewards say otherwise, there is no margin between the two.
    margin = None if better is None or worse is None else max(0.0, better - worse)
    chosen, rejected = row.row("chosen").text("new_step"), row.row("rejected").text("new_step")
    return Pair(origin(row, "node"), prompt, "", chosen, rejected, margin)


def scored(row: Row) -> Steps:
    """A chain whose steps are worth the share of good chains through them."""
    steps = row.rows("steps")
    texts = tuple(
        "\n".join(f"{part.text('kind')}: {part.text('text')}" for part in step.rows("segments")) for step in steps
    )
    return Steps(origin(row, "node"), row.text("question"), texts, tuple(step.number("score") for step in steps), 0.5)


def prm(row: Row) -> Pair | Steps:
    return scored(row) if row.has("steps") else judged(row)


def rollout(row: Row) -> Steps:
    response = row.text("response")
    texts, values = [], []
    for step in row.rows("steps"):
        begin, end = step.span("span", response)
        value = step.maybe_number("process_reward")
        if value is None:
            raise step.wrong("process_reward", "nobody has scored this step; `espalier annotate RUN --with prm` does")
        texts.append(response[begin:end])
        values.append(value)
    return Steps(origin(row, "node"), row.text("prompt"), tuple(texts), tuple(values), 0.0)


def asked(row: Row) -> Asked:
    return Asked(Origin(row.text("id"), row.text("id"), ()), row.text("question"), row.texts("golden_answers"))


PRODUCTS: dict[str, Callable[[Row], Record]] = {
    "sft": sft,
    "rft": rft,
    "dpo": dpo,
    "value": conversation,
    "prm": prm,
    "rollouts": rollout,
    "trees": asked,
}
"""Files of a run, without .jsonl, and how a line of each is read."""


def read_product(run: Path, product: str) -> Iterator[Record]:
    """The records in a file of a run. Raises InputError, which names file, line and field."""
    ids = set()
    for row in read_rows(run / f"{product}.jsonl"):
        record = PRODUCTS[product](Row(row.where, row.fields))
        if record.origin.id in ids:
            row.fail("id", f"'{record.origin.id}' stands twice")
        ids.add(record.origin.id)
        yield record
