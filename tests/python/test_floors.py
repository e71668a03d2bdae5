"""Python has floors as C++ has: who may import whom, without circles."""

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "python/espalier"
FLOORS: tuple[dict[str, str], ...] = (
    {"core": "_core little_memory"},
    {"types": "errors gone protocols bridge"},
    {"data": "io datasets export report"},
    {"search": "adapters aio batch local methods problem runs search"},
    {"view": "doctor eval notebook parts serve tables tracking", "train": "train"},
    {"commands": "commands cli"},
)
"""From the ground up. A folder or file may import from its own group and from all floors below."""
PLACE = {name: (floor, of) for floor, groups in enumerate(FLOORS) for of in groups for name in groups[of].split()}
FILES = {".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
         for file in ROOT.rglob("*.py")}  # fmt: skip


def imported(module: str) -> Iterator[str]:
    """The modules of the package that a module imports, anywhere in its text."""
    file = FILES[module]
    parents = file.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*parents[: len(parents) + 1 - node.level], *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                name = ".".join([*base, alias.name])
                yield name if name in FILES or name == "_core" else ".".join(base)


EDGES = {module: {found for found in imported(module) if found != module} for module in FILES if module != "__init__"}
"""Module -> those that it imports."""


def test_every_folder_and_file_has_its_floor():
    assert {module.partition(".")[0] for module in EDGES} | {"_core"} == PLACE.keys()


@pytest.mark.parametrize("name", PLACE)
def test_nothing_imports_from_above_or_from_beside(name: str):
    floor, group = PLACE[name]
    wrong = [
        f"{module} imports {found}"
        for module, founds in EDGES.items()
        for found in founds
        if module.partition(".")[0] == name
        and (there := PLACE[found.partition(".")[0]]) != (floor, group)
        and there[0] >= floor
    ]
    assert wrong == []


def test_no_modules_and_no_folders_import_each_other_in_a_circle():
    folders: dict[str, set[str]] = {}
    for module, founds in EDGES.items():
        top = module.partition(".")[0]
        folders.setdefault(top, set()).update({found.partition(".")[0] for found in founds} - {top})
    for graph in (EDGES, folders):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            pytest.fail(" -> ".join(error.args[1]))


def test_only_training_imports_torch_where_a_module_is_loaded():
    """A model from a folder of transformers imports it when it is loaded."""
    for module, file in FILES.items():
        tops = ast.parse(file.read_text(encoding="utf-8")).body
        names = {alias.name for node in tops if isinstance(node, ast.Import) for alias in node.names}
        names |= {str(node.module) for node in tops if isinstance(node, ast.ImportFrom)}
        if any(name.partition(".")[0] == "torch" for name in names):
            assert module.startswith("train."), module
