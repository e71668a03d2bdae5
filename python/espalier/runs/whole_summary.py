"""The summary of a run, from those of its shards and from its answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

SCORES = ("em", "f1", "acc")
LATE = ("thinking_tokens", "grammar_broken")
"""Counts of a purpose that only some summaries have. They stand last."""
TOLD = ("first_unread", "notes")
"""What is not added up, and stands only where there is something to tell."""
LAST = ("first_unread", "pruned", "notes", "seconds")
WARNING = "exploration changed none of "


def whole_summary(parts: Sequence[Mapping[str, Any]], answers: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """`answers` are the rows of the whole run, in the order of the questions."""
    places: dict[str, int] = {}
    sums = dict.fromkeys(SCORES, 0.0)
    scored = False
    for place, row in enumerate(answers):
        places[row["id"]] = place
        if row["em"] is not None:
            scored = True
            sums = {name: sums[name] + row[name] for name in SCORES}
    whole = reduce(added, [{name: value for name, value in part.items() if name not in TOLD} for part in parts])
    for name in SCORES:
        whole[name] = sums[name] / len(places) if scored else None
    for counts in whole["by_purpose"].values():
        counts.update({name: counts.pop(name) for name in LATE if name in counts})
    whole["by_purpose"] = dict(sorted(whole["by_purpose"].items()))
    told = (first_unread(parts, places), notes(parts, whole["choices"], whole["explored"]))
    whole |= {name: found for name, found in zip(TOLD, told, strict=True) if found}
    order = [*(name for name in whole if name not in LAST), *LAST]
    return {name: whole[name] for name in order if name in whole}


def added(one: Any, other: Any) -> Any:
    """The sums of all numbers, by name. Texts are those of the first, and what is true in one is true."""
    if isinstance(one, dict):
        both = {name: added(value, other[name]) if name in other else value for name, value in one.items()}
        return both | {name: value for name, value in other.items() if name not in one}
    if isinstance(one, bool):
        return one or other
    return one + other if isinstance(one, int | float) and other is not None else one


def first_unread(parts: Sequence[Mapping[str, Any]], places: Mapping[str, int]) -> dict[str, Any]:
    """By purpose, the completion of the earliest question."""
    found: dict[str, Any] = {}
    for part in parts:
        for purpose, unread in part.get("first_unread", {}).items():
            earlier = found.setdefault(purpose, unread)
            found[purpose] = min(earlier, unread, key=lambda one: places[one["question"]])
    return dict(sorted(found.items()))


def notes(parts: Sequence[Mapping[str, Any]], choices: int, explored: int) -> dict[str, str]:
    """The notes of all shards. A warning that exploration changed nothing stands only where it holds for the whole."""
    found: dict[str, str] = {}
    warning = ""
    for part in parts:
        for name, note in part.get("notes", {}).items():
            if note.startswith(WARNING):
                warning = re.sub(r"\d+", str(choices), note, count=1)
            else:
                found[name] = joined(found.get(name, ""), note)
    if warning and not explored:
        found["trees.jsonl"] = warning
    return dict(sorted(found.items()))


def joined(whole: str, part: str) -> str:
    """Two notes as one. Where they differ only in the number that they begin with, it is a count."""
    before, same = split(whole)
    count, rest = split(part)
    if before and count and rest == same:
        return f"{int(before) + int(count)}{rest}"
    if part in whole:
        return whole
    return f"{whole}; {part}" if whole else part


def split(note: str) -> tuple[str, str]:
    """The number that a note begins with, '' = none, and the rest."""
    rest = note.lstrip("0123456789")
    return note[: len(note) - len(rest)], rest
