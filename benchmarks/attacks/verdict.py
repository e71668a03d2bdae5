"""What an attack is and how it ends: it returns if the package held, or raises Broke."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Attack = Callable[[Path], None]
"""Gets an empty folder of its own."""

ATTACKS: dict[str, Attack] = {}
"""By name, in the order in which they run."""


class Broke(Exception):
    """The package did what it must not do, or the attack could not be made."""


def attack(function: Attack) -> Attack:
    """Lists a function as an attack under its own name."""
    ATTACKS[function.__name__.replace("_", "-")] = function
    return function


def held(fact: object, otherwise: str) -> None:
    """What must be true of the package."""
    if not fact:
        raise Broke(otherwise)


def attacked(fact: object, what: str) -> None:
    """What must be true of the attack: without it, a package that held would prove nothing."""
    if not fact:
        raise Broke(f"no attack was made: {what}")
