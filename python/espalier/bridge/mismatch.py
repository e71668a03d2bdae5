"""What is said of a call whose arguments do not fit: one line in place of pybind11's signatures."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import did_you_mean
from ..gone import instead_of, said

NUMBERS = {"SupportsFloat": "a number", "float": "a number", "SupportsInt": "a whole number", "int": "a whole number"}
"""How several versions of pybind11 write numbers. SupportsIndex stands beside them and says no more."""


class Parameter(NamedTuple):
    name: str
    type: str
    required: bool
    by_name: bool


def sentence(said: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    """What is wrong with a call, from the report of pybind11 and the arguments."""
    first, *lines = said.split("\n")
    function = first.partition("(")[0]
    faults = []
    for line in lines:
        signature = re.match(r"    \d+\. ([\w.]*)\((.*)\)(?: -> .*)?$", line)
        if signature:
            made = signature[1].rpartition(".")[2]  # by a constructor, whose signature leaves `self` out
            wanted = list(parameters(signature[2]))
            faults.append(fault_of_call(made or function, wanted, args[1:] if made else args, kwargs))
    return faults[0] if faults else first


def parameters(text: str) -> Iterator[Parameter]:
    """Those that a signature lists."""
    by_name = False
    for part in split(text, ", "):
        name, colon, rest = part.partition(": ")
        type, default, _ = rest.partition(" = ")
        if colon:
            yield Parameter(name, type, not default, by_name)
        by_name = by_name or part.startswith("*")


def split(text: str, separator: str) -> list[str]:
    """At separators outside of brackets and quotes."""
    parts, start, depth, quoted = [], 0, 0, False
    for i, character in enumerate(text):
        quoted ^= character == "'"
        depth += 0 if quoted else (character in "[({") - (character in "])}")
        if depth == 0 and not quoted and text.startswith(separator, i) and i >= start:
            parts.append(text[start:i])
            start = i + len(separator)
    return [*parts, text[start:]] if text else []


def fault_of_call(function: str, wanted: list[Parameter], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
    import espalier

    call = f"{function}()"
    # Else a public one has called it, of the same arguments.
    public = hasattr(espalier, function) or hasattr(espalier.search, function)
    if wanted and wanted[0].name == "self":
        wanted, args = wanted[1:], args[1:]
    places = [parameter for parameter in wanted if not parameter.by_name]
    names = [parameter.name for parameter in wanted]
    if len(args) > len(places):
        by_name = "; the others go by their names" if len(wanted) > len(places) else ""
        return f"{call} takes {len(places)} arguments without a name, not {len(args)}{by_name}"
    for name in kwargs:
        if name not in names:
            if instead := instead_of(name, function):
                return said(f"{call}: option '{name}'", instead)
            near = did_you_mean(name, names)
            return f"{call} has no option '{name}'{near or ', it has ' + (', '.join(names) or 'none')}"
    given = {parameter.name: value for parameter, value in zip(places, args, strict=False)}
    for name in given:
        if name in kwargs:
            return f"{call} is given '{name}' twice"
    given |= kwargs
    for parameter in wanted:
        if parameter.required and parameter.name not in given:
            return f"{call} needs '{parameter.name}', {described(parameter.type)}"
        if parameter.name in given:
            fault = fault_of(given[parameter.name], parameter.type, parameter.name)
            if fault:
                return f"{call}: {fault}" if public else fault
    for parameter in wanted:  # of the right type, but out of the range of C++'s
        value = given.get(parameter.name)
        if isinstance(value, int) and "Int" in parameter.type and (value < 0 or value >= 2**31):
            return f"{call}: {parameter.name} is out of range: {value}"
    half = broken(given, "")
    return f"{call}: {half}" if half else f"{call} cannot be called with these arguments; it takes {', '.join(names)}"


def broken(value: object, where: str) -> str:
    """Which text in a value has half of a surrogate pair, which UTF-8 cannot hold; "" if none has."""
    if isinstance(value, (str, os.PathLike)):
        return f"{where} holds half of a surrogate pair" if re.search("[\ud800-\udfff]", str(value)) else ""
    items = (
        value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    )
    parts = ((item, f"{where}[{key!r}]" if where else f"{key}") for key, item in items)
    keys = (broken(key, f"a name in {where or 'the call'}") for key in value) if isinstance(value, Mapping) else ()
    return next(filter(None, (*keys, *(broken(item, place) for item, place in parts))), "")


def fault_of(value: object, type: str, where: str) -> str:
    """Why a value is not of a type, as pybind11 writes it; "" if it is."""
    kind, inner = taken_apart(type)
    if kind == "|":
        return "" if any(not fault_of(value, one, where) for one in inner) else unfit(value, type, where)
    if kind in ("Sequence", "list"):
        if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
            return unfit(value, type, where)
        return next(filter(None, (fault_of(item, inner[0], f"{where}[{i}]") for i, item in enumerate(value))), "")
    if kind in ("Mapping", "dict"):
        if not isinstance(value, Mapping):
            return unfit(value, type, where)
        keys = (fault_of(key, inner[0], f"a key of {where}") for key in value)
        values = (fault_of(item, inner[1], f"{where}[{key!r}]") for key, item in value.items())
        return next(filter(None, (*keys, *values)), "")
    return "" if fits(value, kind) else unfit(value, type, where)


def fits(value: object, kind: str) -> bool:
    from .. import _core

    of = {
        "None": lambda: value is None,
        "str": lambda: isinstance(value, (str, bytes)),
        "bytes": lambda: isinstance(value, bytes),
        "bool": lambda: value is None or hasattr(value, "__bool__"),
        "PathLike": lambda: isinstance(value, os.PathLike),
        "Callable": lambda: callable(value),
        "SupportsFloat": lambda: hasattr(value, "__float__"),
        "float": lambda: hasattr(value, "__float__"),
        "SupportsInt": lambda: hasattr(value, "__int__") and not isinstance(value, float),
        "int": lambda: hasattr(value, "__int__") and not isinstance(value, float),
        "SupportsIndex": lambda: hasattr(value, "__index__"),
    }
    if kind in of:
        return of[kind]()
    known = getattr(_core, kind, None)
    return not isinstance(known, type) or isinstance(value, known)


def taken_apart(type: str) -> tuple[str, list[str]]:
    """A type's name and what stands in its brackets; "|" and its parts."""
    parts = split(type, " | ")
    if len(parts) > 1:
        return "|", parts
    name, bracket, inner = type.partition("[")
    kind = name.rpartition(".")[2]
    if kind == "Optional":
        return "|", [inner[:-1], "None"]
    return ("|" if kind == "Union" else kind), split(inner[:-1], ", ") if bracket else []


def described(type: str) -> str:
    """A type in words."""
    kind, inner = taken_apart(type)
    if kind == "|":
        return " or ".join(dict.fromkeys(described(one) for one in inner if not one.endswith("SupportsIndex")))
    if kind in ("Sequence", "list"):
        return f"a list of {described(inner[0]).removeprefix('a ').removeprefix('an ')}"
    if kind in ("Mapping", "dict"):
        return "a dict"
    words = {
        "None": "None",
        "bool": "True or False",
        "PathLike": "a path",
        "Callable": "a function",
        "object": "any object",
    }
    return words.get(kind) or NUMBERS.get(kind) or f"{'an' if kind[0] in 'AEIO' else 'a'} {kind}"


def unfit(value: object, type: str, where: str) -> str:
    plain = value is None or isinstance(value, (str, bytes, int, float))
    shown = repr(value) if plain else value.__class__.__name__
    return f"{where} must be {described(type)}, not {shown if len(shown) <= 60 else shown[:57] + '...'}"
