"""Which installed distribution the package comes from: on the package index, `espalier` is another project's name."""

from __future__ import annotations

from importlib.metadata import distributions
from pathlib import Path

NAME = "espalier-rag"


def distribution() -> str:
    """Its name, version and folder."""
    folder = Path(__file__).resolve().parent.parent
    for found in distributions(name=NAME):
        if folder.parent == Path(str(found.locate_file(""))).resolve():
            return f"{NAME} {found.version} in {folder}"
    return f"the sources of {NAME} in {folder}"


def others() -> list[str]:
    """Distributions of other projects that install a package of our name too. They may have replaced our files."""
    return [f"{found.metadata['Name']} {found.version}" for found in distributions(name="espalier")]
