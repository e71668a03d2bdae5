"""Objects of compiled classes that hold nothing: made by __new__, used before __init__, or after one that failed."""

import copy
import pickle
from collections.abc import Callable
from contextlib import suppress
from traceback import TracebackException

import pytest
from espalier import _core

CLASSES = [one for one in vars(_core).values() if isinstance(one, type)]
FUNCTIONS = [one for one in vars(_core).values() if type(one).__name__ in ("builtin_function_or_method", "function")]
USES = (
    *(repr, str, bool, hash, len, iter, list, dir, copy.copy, copy.deepcopy),
    *(lambda one, p=p: pickle.dumps(one, p) for p in range(6)),
    *(lambda one: one == one, lambda one: one in [1], lambda one: one[0]),
    lambda one: one.__reduce__(),
    lambda one: TracebackException(KeyError, KeyError(one), None, capture_locals=True),
)
TOLD = "this object holds nothing: its __init__ was not called, or it failed"


def outcome(use: Callable[..., object], *arguments: object) -> object:
    try:
        return use(*arguments)
    except Exception as error:
        return str(error) if isinstance(error, TypeError) else error


@pytest.mark.parametrize("made", CLASSES)
def test_an_object_that_holds_nothing_raises_type_error_and_never_ends_the_process(made: type):
    kept = [made.__new__(made), made.__new__(made)]
    outcome(kept[0].__init__, object(), "no such arguments")
    with suppress(TypeError):  # as pybind11 says it of a class whose __init__ does not call its base's
        type("Early", (made,), {"__init__": lambda self: kept.append(self)})()
    members = {name: one for base in made.__mro__[::-1] for name, one in vars(base).items()}
    for one in kept:
        for use in (*USES, *(lambda one, f=f, n=n: f(*[one] * n) for f in FUNCTIONS for n in range(12))):
            outcome(use, one)
            outcome(use, [one])
        for name, own in members.items():
            if isinstance(own, property):
                assert outcome(getattr, one, name) == TOLD, name
            elif type(own).__name__ == "instancemethod" and own.__doc__ and not name.startswith(("__init", "__set")):
                assert name == "__reduce__" or TOLD in [outcome(own, one, *[None] * n) for n in range(7)], name
