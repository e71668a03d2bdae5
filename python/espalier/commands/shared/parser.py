"""How every command reads its line and shows its help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
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

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Before anything else is missed, an option that is none is named, with the nearest one."""
        known = self._option_string_actions
        takes_any = any(action.nargs == argparse.REMAINDER for action in self._actions)
        if not self._subparsers and not takes_any:
            for word in args if args is not None else sys.argv[1:]:
                name = word.partition("=")[0]
                if word == "--":
                    break
                if name.startswith("--") and name not in known:
                    near = get_close_matches(name, known, 1)
                    self.error(f"unknown option '{name}'" + (f", did you mean '{near[0]}'?" if near else ""))
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def add_command(commands: Any, name: str, summary: str, examples: Sequence[str] = ()) -> Parser:
    """Adds a command to the result of `add_subparsers`. `examples` are whole lines."""
    added: Parser = commands.add_parser(name, help=summary, description=summary, examples=examples)
    return added
