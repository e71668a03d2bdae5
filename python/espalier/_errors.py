"""The exceptions of Espalier. Bad options are ValueError."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class Error(Exception):
    """Root of every error that Espalier raises by itself, bad options (ValueError) excepted."""


class InputError(Error):
    """Bad input data; the message names the file, the line and the field."""


class StoreError(Error):
    """A journal cannot be read or written, or a record in it is damaged; the message names the file and the record."""


class MissingPart(Error):
    """A part that was left out of this build; the message names the package that provides it."""


class BackendError(Error):
    """A backend failed: raised by backends, and raised or returned by Python functions used as backends.

    A failure that is not `permanent` is tried again a few times. `trees` holds what a run could finish all the same:
    a tree a question, None where the failure left it open.
    """

    def __init__(self, message: str = "", *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.trees: list[object] = []


def whole(trees: Sequence[T | None], errors: Mapping[int, BackendError]) -> list[T]:
    """The trees, if none is missing; else the first error, which holds them."""
    if errors:
        error = errors[min(errors)]
        error.trees = list(trees)
        raise error
    return [tree for tree in trees if tree is not None]
