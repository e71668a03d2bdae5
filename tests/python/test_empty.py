"""Objects of compiled classes that hold nothing: made by __new__, used before __init__, or after one that failed."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from espalier import _core
from espalier.bridge import mismatch

CLASSES = {name: one for name, one in vars(_core).items() if isinstance(one, type)}
FUNCTIONS = [one for one in vars(_core).values() if type(one).__name__ in ("builtin_function_or_method", "function")]
WHOLE = (
    *(repr, str, bool, hash, len, iter, list, dir, copy.copy, copy.deepcopy),
    *(lambda one, p=p: pickle.dumps(one, p) for p in range(6)),
    *(lambda one: one == one, lambda one: one in [1], lambda one: one[0]),
    lambda one: traceback.TracebackException(KeyError, KeyError(one), None, capture_locals=True),
)
"""What Python does with any object."""


def empty(made: type) -> Iterator[Any]:
    yield made.__new__(made)
    failed = made.__new__(made)
    with suppress(Exception):
        failed.__init__(object(), no_such_option=1)
    yield failed
    kept: list[Any] = []
    early = type("Early", (made,), {"__init__": lambda self: kept.append(self)})
    with suppress(TypeError):  # as pybind11 says it of a class whose __init__ does not call its base's
        early()
    yield kept[0]


def outcome(use: Callable[..., object], *arguments: object) -> str:
    try:
        return type(use(*arguments)).__name__
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def nothing_for(function: object) -> list[None]:
    """As many arguments as a compiled function needs, itself included."""
    [signature] = re.fullmatch(r"[\w.]*\((.*)\)(?: -> .*)?", str(function.__doc__).split("\n")[0]).groups()
    return [None for one in mismatch.parameters(signature) if one.required]


def main() -> None:
    """Prints what comes of every method and property of every such object."""
    for name, made in CLASSES.items():
        members = {member: one for base in made.__mro__[::-1] for member, one in vars(base).items()}
        for one in empty(made):
            for use in WHOLE:
                outcome(use, one)
            for function in FUNCTIONS:  # as each of their arguments, and in a list
                for argument in (one, [one], {"given": one}):
                    outcome(function, *[argument for _ in nothing_for(function)])
            for member, own in members.items():
                if isinstance(own, property):
                    print(name, member, outcome(getattr, one, member), sep="\t", flush=True)
                elif (
                    type(own).__name__ == "instancemethod"
                    and own.__doc__
                    and not re.match("__(in|set|reduce_)", member)
                ):
                    print(name, member, outcome(own, one, *nothing_for(own)[1:]), sep="\t", flush=True)


def test_an_object_that_holds_nothing_raises_type_error_and_never_ends_the_process():
    done = subprocess.run([sys.executable, "-X", "faulthandler", __file__], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-300:] + done.stderr[-3000:]
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    told = "TypeError: this object holds nothing: its __init__ was not called, or it failed"
    assert [row for row in rows if row[2] != told] == [] and len(rows) > 500


if __name__ == "__main__":
    main()
