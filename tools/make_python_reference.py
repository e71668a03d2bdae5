"""Writes the Python reference: in docs/reference/python/*.md what stands between `<!-- names of MODULE: NAME -->` and
the next `<!-- end of names -->`, from signatures, docstrings and the tables of options.

Run it after a change of any of these, with the package installed.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from espalier import _core
from espalier.bridge.mismatch import split
from espalier.search.method import TypedMethod
from make_cpp_reference import prose, table

ROOT = Path(__file__).resolve().parent.parent
PAGES = ROOT / "docs/reference/python"
BLOCK = re.compile(r"(<!-- names of ([\w.]+): ([\w\s]+?) -->\n).*?(<!-- end of names -->)", re.S)
ROOMS = "adapters aio batch doctor errors eval export parts problem protocols search tables tracking"
PUBLIC = {
    value
    for module in ("espalier", *(f"espalier.{room}" for room in ROOMS.split()))
    for value in map(vars(importlib.import_module(module)).get, importlib.import_module(module).__all__)
    if isinstance(value, type)
}
WIDE = 100


def names(page: str) -> list[tuple[str, str]]:
    """The names that a page lists, each with its module."""
    return [(module, name) for _, module, listed, _ in BLOCK.findall(page) for name in listed.split()]


def page(text: str) -> str:
    """A page with its entries made anew, below the heading before them."""

    def entries(found: re.Match[str]) -> str:
        level = "##" + "#" * bool(re.search("^## ", BLOCK.sub("", text[: found.start()]), re.MULTILINE))
        blocks = [block for name in found[3].split() for block in entry(found[2], name, level)]
        return found[1] + "\n" + "\n\n".join(blocks) + "\n\n" + found[4]

    return BLOCK.sub(entries, text)


def files() -> dict[Path, str]:
    """What is written, by file."""
    pages = {file: file.read_text(encoding="utf-8") for file in PAGES.glob("*.md")}
    return {file: page(text) for file, text in pages.items()}


def entry(module: str, name: str, level: str) -> Iterator[str]:
    """The blocks that describe a name."""
    found = getattr(importlib.import_module(module), name)
    said = "esp." + (f"{module.partition('.')[2]}." if "." in module else "") + name
    yield f"{level} {said.removeprefix('esp.')}"
    if inspect.isclass(found) and issubclass(found, TypedMethod):
        yield from typed_method(name, found)
    elif inspect.isclass(found) and issubclass(found, dict):
        yield prose(found.__doc__.partition("\n\n")[0])
        yield "[Settings](../settings.md) lists them."
    elif inspect.isclass(found):
        yield from class_(said, found)
    elif callable(found) and not hasattr(found, "__args__"):
        yield code(signature(said, found))
        yield from about(found)
    else:
        yield from data(module, name)


def class_(said: str, cls: type) -> Iterator[str]:
    base = cls.__bases__[0]
    protocol = getattr(cls, "_is_protocol", False)
    if not protocol and not issubclass(cls, BaseException):
        yield code(signature(said, cls.__init__) if made_by_users(cls) else f"class {said}")
    if issubclass(base, BaseException) or (base in PUBLIC and base.__name__ != cls.__name__):
        yield f"A kind of `{base.__name__}`."
    yield from about(cls)
    if made_by_users(cls) and compiled(cls.__init__):
        yield from about(cls.__init__)
    fields = {name: member for name, member in vars(cls).items() if not name.startswith("_")}
    rows = [row for name, member in fields.items() if (row := field(name, member))]
    if rows or (rows := annotated(cls) if not protocol else []):
        yield table("field | type | meaning", rows)
    shown = [(name, one) for name, one in vars(cls).items() if is_method(name, one, protocol)]
    if shown:
        yield "\n".join(method(name, one) for name, one in shown)


def is_method(name: str, member: Any, protocol: bool) -> bool:
    if isinstance(member, (property, type)) or not callable(getattr(member, "__func__", member)):
        return False
    return not name.startswith("_") or (name == "__call__" and (protocol or compiled(member)))


def method(name: str, member: Any) -> str:
    function = getattr(member, "__func__", member)
    text = " ".join(plain(function).split())
    head = f"- `{signature('self' if name == '__call__' else name, function)}`"
    return head + (f": {prose(text)}" if text else "")


def compiled(function: object) -> bool:
    """It is pybind11's, whose signature is the first line of its docstring."""
    return type(function).__name__ in ("instancemethod", "builtin_function_or_method", "PyCFunction")


def signature(name: str, function: Any, *, without: int = 0) -> str:
    if compiled(function):
        parameters = re.sub(r"^\w+\((self: \w+(, )?)?", "(", function.__doc__.partition("\n")[0])
        return name + re.sub(r" -> None$", "", parameters)
    found = inspect.signature(function)
    shown, by_name = [], False
    for one in list(found.parameters.values())[without:]:
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not by_name:
            shown.append("*")
            by_name = True
        by_name = by_name or one.kind is one.VAR_POSITIONAL
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        kind = "" if one.annotation is one.empty else f": {hint(one.annotation)}"
        default = "" if one.default is one.empty else f" = {one.default!r}"
        shown.append(f"{star}{one.name}{kind}{default}")
    result = "" if found.return_annotation in (found.empty, None, "None") else f" -> {hint(found.return_annotation)}"
    return f"{name}({', '.join(shown)}){result}"


def hint(annotation: Any) -> str:
    """A type as a module writes that imports its names."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(typing|collections\.abc|pathlib(\._local)?|espalier(\.\w+)*)\.", "", text)


def made_by_users(cls: type) -> bool:
    """It has a constructor, of its own or a base's in Python."""
    return compiled(cls.__init__) or inspect.isfunction(cls.__init__)


def field(name: str, member: Any) -> list[str]:
    """Name, type and meaning of a property."""
    if isinstance(member, property) or type(member).__name__ == "cached_property":
        function = member.fget if isinstance(member, property) else member.func
        if compiled(function):
            kind, _, text = member.__doc__.partition(": ")
        else:
            kind, text = hint(inspect.signature(function).return_annotation), plain(function)
        return [f"`{name}`", f"`{kind}`", prose(" ".join(text.split()))]
    return []


def annotated(cls: type) -> list[list[str]]:
    """Name, type and meaning of each field of a dataclass."""
    if not hasattr(cls, "__dataclass_fields__"):
        return []
    [body] = [
        node.body
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(cls))))
        if isinstance(node, ast.ClassDef)
    ]
    return [
        [f"`{node.target.id}`", f"`{ast.unparse(node.annotation)}`", prose(" ".join(text_of(after).split()))]
        for node, after in zip(body, [*body[1:], None], strict=True)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]


def text_of(node: ast.stmt | None) -> str:
    """What a text below a field or a value says about it."""
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return inspect.cleandoc(node.value.value) if is_text else ""


def typed_method(name: str, cls: type[TypedMethod]) -> Iterator[str]:
    """A method's class: its keywords with ranges and defaults."""
    yield code(f"esp.{name}(**options)")
    yield prose(plain(cls).partition("\n\n")[0])
    keywords = cls.__signature__.parameters
    rows = []
    for option, default, allowed, text, _ in _core.method_options(cls._name):
        if option in keywords:
            shown = json.loads(default)
            rows.append([f"`{option}`", "" if shown in ("", None) else f"`{shown}`", allowed, prose(text)])
    yield table("option | default | allowed | meaning", rows)
    rest = re.search(r"^- set: .*", plain(cls), re.M | re.S)
    yield prose(rest[0] if rest else "")


def about(of: Any) -> Iterator[str]:
    if text := plain(of):
        yield prose(text)


def plain(of: Any) -> str:
    """A docstring, without the signature that pybind11 puts in front."""
    text = of.__doc__ or ""
    if compiled(of):
        text = text.partition("\n")[2]
    return inspect.cleandoc(text)


def data(module: str, name: str) -> Iterator[str]:
    """A value of a module, with the text below it in its source."""
    found = importlib.import_module(module)
    tree = ast.parse(inspect.getsource(found))
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        target = (
            node.target
            if isinstance(node, ast.AnnAssign)
            else node.targets[0]
            if isinstance(node, ast.Assign)
            else None
        )
        if isinstance(target, ast.Name) and target.id == name:
            yield code(f"{name} = {ast.unparse(node.value).strip(chr(39))}")
            if text := text_of(after):
                yield prose(text)


def code(line: str) -> str:
    if len(line) > WIDE and "(" in line:
        name, _, rest = line.partition("(")
        inside, bracket, result = rest.rpartition(")")
        lines = ["   "]
        for one in split(inside, ", "):
            if len(lines[-1]) + len(one) > WIDE:
                lines.append("   ")
            lines[-1] += f" {one},"
        line = "\n".join([f"{name}(", *lines, bracket + result])
    return f"```py\n{line}\n```"


if __name__ == "__main__":
    for file, text in files().items():
        file.write_text(text, encoding="utf-8")
