"""The notebooks of examples/notebooks: each was run as it stands, shows no error and nothing of a machine, and its code
still says what the notebook shows. The one that trains runs where TRL is (`make test-trl`).
"""

import contextlib
import io
import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parent.parent / "examples/notebooks"
NAMES = ["first_tree", "own_reward", "comparing_methods", "from_trees_to_trl"]
NEEDS = {"from_trees_to_trl": ["trl"]}


def code_of(name: str) -> list[dict[str, Any]]:
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_these_are_all():
    assert sorted(NAMES) == sorted(file.stem for file in FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_kept_as_it_ran(name: str):
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    notebook, cells = json.loads(text), code_of(name)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert not any(cell["metadata"] for cell in notebook["cells"]) and notebook["metadata"].keys() == {"kernelspec"}
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert outputs and "error" not in {output["output_type"] for output in outputs}
    assert "stderr" not in {output.get("name") for output in outputs}
    assert not re.search(r"0x[0-9a-f]{8,}|\d{4}-\d\d-\d\d", "".join(shown(cell["outputs"]) for cell in cells))
    assert "simulated" in "".join(notebook["cells"][0]["source"])
    assert len(text) < 200_000


def shown(outputs: list[dict[str, Any]]) -> str:
    """What a cell printed."""
    return "".join("".join(output["text"]) for output in outputs if output["output_type"] == "stream")


def run(source: str, names: dict[str, Any], where: str) -> str:
    """The same, of a cell that is run now."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, where, "exec"), names)
    return printed.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_its_code_says_what_it_shows(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for package in NEEDS.get(name, ["matplotlib", "pandas"]):
        pytest.importorskip(package)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)  # and back, whereto the notebook goes
    names: dict[str, Any] = {"__name__": "__main__"}
    with warnings.catch_warnings():
        for number, cell in enumerate(code_of(name), 1):
            assert run("".join(cell["source"]), names, f"{name}.ipynb, cell {number}") == shown(cell["outputs"])
