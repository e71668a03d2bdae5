"""What the house weighs, against the ceilings in weights.json.

    python tools/weights.py          prints the table
    python tools/weights.py --check  prints what is above its ceiling, and exits 1

A ceiling is raised in a commit of its own, which says what was worth it. The installed package gives the commands.
"""

import inspect
import json
import subprocess
import sys
from argparse import ArgumentParser
from pathlib import Path

import espalier
from espalier.cli import make_parser
from public_names import public_names

ROOT = Path(__file__).resolve().parent.parent
CEILINGS: dict[str, int] = json.loads((ROOT / "tools/weights.json").read_text(encoding="utf-8"))


def texts(*patterns: str) -> list[bytes]:
    """Each tracked file that a pattern of git names."""
    listed = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, capture_output=True, check=True).stdout
    files = [ROOT / name.decode() for name in listed.split(b"\0") if name]
    return [file.read_bytes() for file in files if file.exists()]


def lengths(*patterns: str) -> list[int]:
    """The lines of each of them."""
    return [text.count(b"\n") for text in texts(*patterns)]


def commands() -> dict[str, ArgumentParser]:
    [choices] = [action.choices for action in make_parser()._actions if action.dest == "command"]
    return choices


def weights() -> dict[str, int]:
    headers = lengths("include/*.hpp")
    pages = texts(":(glob)docs/*.md")  # all but docs/reference and docs/lab
    flags = [action for action in commands()["expand"]._actions if action.option_strings]
    return {
        "headers": len(headers),
        "lines of include": sum(headers) + sum(lengths("include/*.inc")),
        "longest header": max(headers),
        "lines of python": sum(lengths("python/*.py", "python/*.pyi")),
        "lines of bindings": sum(lengths("bindings/*")),
        "lines of tests": sum(lengths("tests/*.py", "tests/*.cpp", "tests/*.hpp")),
        "lines of benchmarks": sum(lengths("benchmarks/*.py", "benchmarks/*.cpp", "benchmarks/*.hpp")),
        "pages of docs": len(pages),
        "words of docs": sum(len(page.split()) for page in pages),
        "commands": len(commands()),
        "flags of expand": len(flags),
        "keywords of DecExRag": len(inspect.signature(espalier.DecExRag).parameters),
        "public C++ names": sum(map(len, public_names().values())),
    }


def main() -> int:
    measured = weights()
    if measured.keys() != CEILINGS.keys():
        sys.exit(f"weights.json and weights.py differ in {', '.join(measured.keys() ^ CEILINGS.keys())}")
    above = {name: weight for name, weight in measured.items() if weight > CEILINGS[name]}
    if sys.argv[1:] == ["--check"]:
        for name, weight in above.items():
            print(f"{name}: {weight:,} is above the ceiling of {CEILINGS[name]:,} in tools/weights.json")
        return int(bool(above))
    for name, weight in measured.items():
        print(f"{name:22}{weight:>8,} of {CEILINGS[name]:>7,}{'  above' if name in above else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
