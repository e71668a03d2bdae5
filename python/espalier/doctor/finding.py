"""What a check found, and how it is told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..io.terminal import say, say_json


def tell(findings: Iterable[Finding], *, as_json: bool) -> int:
    """Prints each finding as it is made, or all of them as JSON. Returns the number of problems."""
    told = []
    for finding in findings:
        told.append(finding)
        if not as_json:
            say(f"{finding.state:<9}{finding.part + ':':<18} {finding.found}")
            say(*([f"{'':<9}{finding.advice}"] if finding.advice else []))
    problems = sum(finding.state == "problem" for finding in told)
    if as_json:
        say_json({"problems": problems, "findings": [vars(finding) for finding in told]})
    return problems


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
    return Finding(part, "problem", str(found).partition(". No reply of this server was good")[0], advice)
