"""What a check found, and how it is told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass


def tell(findings: Iterable[Finding], *, as_json: bool) -> int:
    """Prints each finding as it is made, or all of them as JSON. Returns the number of problems."""
    told = []
    for finding in findings:
        told.append(finding)
        if not as_json:
            print_finding(finding)
    problems = sum(finding.state == "problem" for finding in told)
    if as_json:
        print(json.dumps({"problems": problems, "findings": [vars(finding) for finding in told]}, ensure_ascii=False))
    return problems


def print_finding(finding: Finding) -> None:
    """One line, and its advice below."""
    print(f"{finding.state:<9}{finding.part + ':':<18} {' '.join(finding.found.split())}")
    if finding.advice:
        print(f"{'':<9}{finding.advice}", flush=True)


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
