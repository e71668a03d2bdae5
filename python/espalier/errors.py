"""The exceptions of Espalier. Bad options are ValueError."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any, TypeVar

__all__ = ["BackendError", "Error", "InputError", "MissingPart", "PolicyError", "StoreError", "UnreadableWarning"]

T = TypeVar("T")
UNSEEN = re.compile(
    r"[\0-\x1f\x7f-\x9f\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"
)
"""Control characters, ends of lines, halves of characters, and what hides or reorders text (fmt/one_line.hpp)."""


def one_line(text: str) -> str:
    """The text as one line that a terminal may show. What it would obey or hide becomes an escape, as in C."""
    return UNSEEN.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


class Error(Exception):
    """Base of all errors that Espalier raises, except bad options (ValueError). Its text is one line."""

    def __str__(self) -> str:
        return one_line(super().__str__())


class InputError(Error):
    """Bad input data. The message names the file, the line and the field."""


class StoreError(Error):
    """A journal cannot be read or written, or a record is damaged. The message names the file and the record."""


class PolicyError(Error):
    """A pruning policy failed, or cuts what it cannot. The message names the engine and the policy.

    `trees` holds those that could be finished, one per question or root, None for the others.
    """

    trees: Sequence[object] = ()


class UnreadableWarning(UserWarning):
    """Much of what a model said could not be read. The message shows what it said and what was expected."""


class MissingPart(Error):
    """A part that this build does not contain. The message names the package that provides it."""


def needed(package: str, what: str, module: str = "") -> Any:
    """A package's module, for what needs it. Raises MissingPart."""
    try:
        return import_module(module or package)
    except ImportError as error:
        why = "" if isinstance(error, ModuleNotFoundError) else f" ({first_line(error)})"
        raise MissingPart(f"{what} needs {package}{why}: pip install {package}") from None


class BackendError(Error):
    """A backend failed: raised by backends, and raised or returned by Python functions used as backends.

    A failure that is not `permanent` is retried a few times. `trees` holds the trees that a run could still finish, one
    per question, None for open questions.
    """

    def __init__(self, message: str = "", *, permanent: bool = False) -> None:
        super().__init__(message)
        self.permanent = permanent
        self.trees: list[object] = []


def whole(trees: Sequence[T | None], errors: Mapping[int, Exception]) -> list[T]:
    """The trees if none is missing. Otherwise raises the first error, which holds them."""
    if errors:
        error: Any = errors[min(errors)]
        error.trees = list(trees)
        raise error
    return [tree for tree in trees if tree is not None]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message on an unknown name: the known one that was meant, where one is near."""
    plain = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), plain, 1)
    return f", did you mean '{plain[near[0]]}'?" if near else ""


def first_line(error: Exception) -> str:
    """What an exception of another library says, in one line."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
