"""The stubs say what is there; importing is light."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import espalier as esp
from espalier import _core


def declared() -> dict[str, dict[str, ast.FunctionDef] | ast.FunctionDef]:
    """What _core.pyi declares: functions, and classes as {member: definition}."""
    stub = ast.parse((Path(esp.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
    found: dict[str, dict[str, ast.FunctionDef] | ast.FunctionDef] = {}
    for node in stub.body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = {member.name: member for member in node.body if isinstance(member, ast.FunctionDef)}
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = node
    return found


def parameters(function: ast.FunctionDef) -> list[str]:
    a = function.args
    return [argument.arg for argument in [*a.posonlyargs, *a.args, *a.kwonlyargs] if argument.arg != "self"]


def real_parameters(function: object) -> list[str]:
    """From the first line of pybind11's docstring: name(self: T, a: int, *, b: int = 1) -> R."""
    depth, names, text = 0, [], ""
    signature = function.__doc__.split("\n")[0]
    for letter in signature[signature.index("(") + 1 :]:
        depth += (letter in "([{<") - (letter in ")]}>" and text[-1:] != "-")
        if depth < 0 or (letter == "," and depth == 0):
            names.append(text.split(":")[0].split("=")[0].strip())
            text = ""
            if depth < 0:
                break
        else:
            text += letter
    return [name for name in names if name not in ("", "self", "*", "/")]


def test_the_stubs_declare_exactly_what_the_module_has():
    stub = declared()
    assert set(stub) == {name for name in vars(_core) if not name.startswith("__")}
    for name, members in stub.items():
        if isinstance(members, dict):
            own = {n for n in vars(getattr(_core, name)) if not n.startswith("_")}
            assert {n for n in members if not n.startswith("__")} == own, name


def test_the_stubs_name_the_parameters_that_the_functions_have():
    for name, members in declared().items():
        real = getattr(_core, name)
        if isinstance(members, ast.FunctionDef):
            assert parameters(members) == real_parameters(real), name
        elif "__init__" in members and "__init__" in vars(real):
            assert parameters(members["__init__"]) == real_parameters(real.__init__), name


def test_everything_public_is_exported_and_explained():
    for name in esp.__all__:
        assert getattr(esp, name) is not None
        assert name == "__version__" or getattr(esp, name).__doc__, name


def test_importing_brings_nothing_heavy():
    heavy = ("numpy", "rich", "asyncio", "faiss", "argparse")
    code = f"import sys, espalier; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
