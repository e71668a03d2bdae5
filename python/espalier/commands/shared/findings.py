"""How a check tells what it found."""

from __future__ import annotations

from ...doctor.finding import Finding


def print_finding(finding: Finding) -> None:
    """One line, and its advice below."""
    print(f"{finding.state:<9}{finding.part + ':':<18} {' '.join(finding.found.split())}")
    if finding.advice:
        print(f"{'':<9}{finding.advice}", flush=True)
