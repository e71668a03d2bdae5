"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One line of the report."""

    part: str
    state: str
    """ok, warning or problem."""
    found: str
    advice: str = ""
    """What to do; empty where nothing is to be done."""


def ok(part: str, found: str) -> Finding:
    return Finding(part, "ok", found)


def warning(part: str, found: str, advice: str) -> Finding:
    return Finding(part, "warning", found, advice)


def problem(part: str, found: object, advice: str) -> Finding:
    return Finding(part, "problem", str(found), advice)
