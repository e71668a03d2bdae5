"""What is printed. No text of a model, a server or a file moves the cursor, hides words or begins a line of its own."""

import json
import sys
from contextlib import suppress
from typing import TextIO

from ..errors import UNSEEN, one_line
from .files import naming
from .text import json_escape


def say(*lines: str, to: TextIO | None = None) -> None:
    """Prints each text as one line, on standard output if no stream is named."""
    with naming("standard output" if to in (None, sys.stdout) else "standard error"):
        for line in lines:
            print(one_line(line), file=to, flush=True)


def say_error(line: str) -> None:
    with suppress(OSError):  # as on a full disk
        say(f"espalier: {line}", to=sys.stderr)


def say_cells(*cells: str | None) -> None:
    """Prints a row with tabs between its cells, nothing for None."""
    with naming("standard output"):
        print("\t".join(one_line(cell or "") for cell in cells), flush=True)


def say_json(value: object) -> None:
    say_json_line(json.dumps(value, ensure_ascii=False))


def say_json_line(text: str) -> None:
    """Prints JSON. In place of what a terminal would obey or hide stand JSON's own escapes."""
    with naming("standard output"):
        print(UNSEEN.sub(json_escape, text), flush=True)
