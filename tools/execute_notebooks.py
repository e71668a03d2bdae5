"""Runs the notebooks of examples/notebooks (or those that are named) in Jupyter and keeps what they show.

Metadata of the machine, the kernel and the clock are left out, so that the same notebook gives the same bytes.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parent.parent / "examples/notebooks"


def execute(file: Path) -> None:
    notebook = nbformat.read(file, as_version=4)
    NotebookClient(notebook, timeout=300, record_timing=False).execute()
    notebook.metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
        for output in cell.get("outputs", []):
            if "metadata" in output:
                output.metadata = {}
    nbformat.write(notebook, file)


if __name__ == "__main__":
    for file in [Path(name) for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        print(file.name)
        execute(file)
