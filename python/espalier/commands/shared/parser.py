"""How every command reads its line and shows its help."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, NoReturn

EXIT_CODES = """exit codes:
  0    everything is done
  1    a failure left questions open, or `doctor` found a problem. Run the same command again to go on
  2    a bad option, prompts with a problem (`prompts check`), or a part that is not in this build
  3    a file that cannot be read or written, bad data in one, or a folder where another process works
  4    no question is open, but some failed. Running again would change nothing
  130  interrupted. Run the same command again to go on"""


class Parser(argparse.ArgumentParser):
    """A parser that ends its help with examples and exit codes, and says what is wrong in one line."""

    def __init__(self, *, examples: Sequence[str] = (), **more: Any) -> None:
        self.examples = tuple(examples)
        shown = ["examples:", *(f"  {example}" for example in examples), ""] if examples else []
        super().__init__(
            **more,
            epilog="\n".join([*shown, EXIT_CODES]),
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def add_command(commands: Any, name: str, summary: str, examples: Sequence[str] = ()) -> Parser:
    """Adds a command to the result of `add_subparsers`. `examples` are whole lines."""
    added: Parser = commands.add_parser(name, help=summary, description=summary, examples=examples)
    return added
