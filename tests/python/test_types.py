"""The stubs say what is there; importing is light."""

import ast
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import espalier as esp
import pytest
from espalier import _core, eval, problem
from espalier.search import Mcts

CALLED = ("instancemethod", "builtin_function_or_method")
"""What the compiled functions are."""


def test_the_stubs_declare_what_the_module_has():
    pytest.importorskip("mypy")
    options = ["--concise", "--mypy-config-file", Path(__file__).parents[2] / "pyproject.toml"]
    command = [sys.executable, "-m", "mypy.stubtest", *options, "espalier._core"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.splitlines()
    # A stub cannot name pybind11's metaclass, nor say that a class has no constructor. For stubtest Final can be set.
    beyond = r"metaclass differs$|__init__ is inconsistent, stub does not have \*args|is read-only at runtime"
    assert [line for line in said if not re.search(beyond, line)] == []
    assert any(line.startswith("espalier._core.Tree is") for line in said)  # it did compare


def test_the_stubs_let_nobody_set_an_attribute():
    stub = ast.parse((Path(esp.__file__).parent / "_core.pyi").read_text(encoding="utf-8"))
    members = (member for node in stub.body for member in getattr(node, "body", ()))
    attributes = [member for member in members if isinstance(member, ast.AnnAssign)]
    assert attributes
    assert all(ast.unparse(attribute.annotation).startswith("Final[") for attribute in attributes)


def test_all_that_is_called_has_a_signature():
    for one in vars(_core).values():
        members = vars(one).items() if isinstance(one, type) else [("", one)] * callable(one)
        called = [member for name, member in members if type(member).__name__ in CALLED and name[:5] != "_pybi"]
        assert all(map(inspect.signature, called))
        assert not isinstance(one, type) or vars(one)["__init__"] not in called or inspect.signature(one)
    assert "Bm25(passages, *, k1=1.2, b=0.75, analyzer='simple', threads=0)" in pydoc.plain(pydoc.render_doc(esp.Bm25))
    assert str(inspect.signature(Mcts)).startswith("(evaluate, *, select=Ellipsis, simulations=")


def test_help_shows_the_types_of_python():
    of_cpp = re.compile(r"::|_core|typing\.|collections\.abc|\b(object|handle|Supports\w+)\b")
    shown, public = [], {}
    for module in (esp, esp.doctor, esp.parts, problem, esp.search):
        public |= {name: getattr(module, name) for name in module.__all__}
    for member in [public[name] for name in sorted(public) if getattr(_core, name, None)]:
        inner = [one for one in vars(member).values() if one.__doc__] if isinstance(member, type) else []
        shown += [one.__doc__.partition("\n")[0] for one in (member, *inner) if type(one).__name__ in CALLED]
        shown += [one.__doc__.partition(": ")[0] for one in inner if isinstance(one, property)]
    assert len(shown) > 200 and [line for line in shown if of_cpp.search(line)] == []
    assert "temperature: float = 0.0, max_tokens: int = 512" in pydoc.render_doc(esp.Prompt)
    assert "reward: RewardLike | None = None" in _core.Search.start.__doc__


def test_everything_public_is_exported_and_explained():
    for name in esp.__all__:
        assert getattr(esp, name) is not None
        assert name == "__version__" or getattr(esp, name).__doc__, name


def test_the_root_shows_what_most_programs_need_and_hides_no_module():
    shown = {*dir(esp), *dir(esp.tables), *dir(esp.search), *dir(eval)}
    assert len(esp.__all__) <= 50 and {*dir(esp)} > {*esp.__all__} and not {"Any", "Path", "absent"} & shown
    assert not {"attach", "bridge", "gone", "rounds", "runs", "Run"} & {*dir(esp)}
    assert [file.stem for file in Path(esp.__file__).parent.glob("_[a-z]*.py*")] == ["_core"]


def test_importing_brings_nothing_heavy():
    heavy = ("numpy", "asyncio", "faiss", "argparse")
    code = f"import sys, espalier; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
