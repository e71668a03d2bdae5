"""How every command reads its line and shows its help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from ...errors import did_you_mean
from ...gone import unknown

EXIT_CODES = """exit codes:
  0    everything is done
  1    a failure left questions open, or `doctor` found a problem. Run the same command again to go on
  2    a bad option, prompts with a problem (`prompts check`), or a part that is not in this build
  3    a file that cannot be read or written, bad data in one, or a folder where another process works
  4    no question is open, but some failed, or no reply of an annotation was read. Running again changes nothing
  130  interrupted. Run the same command again to go on"""
WHERE_CODES = "exit codes: espalier --help"


class Parser(argparse.ArgumentParser):
    """A parser that ends its help with examples and a word on exit codes, and says what is wrong in one line."""

    def __init__(self, *, examples: Sequence[str] = (), codes: str = WHERE_CODES, **more: Any) -> None:
        self.examples = tuple(examples)
        shown = ["examples:", *(f"  {example}" for example in examples), ""] if examples else []
        super().__init__(
            **more,
            epilog="\n".join([*shown, codes]),
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Before anything else is missed, an option that is none is named, with the nearest one."""
        args = sys.argv[1:] if args is None else args
        known = self._option_string_actions
        # Behind the first other word, the options are those of another command.
        other = self._subparsers or any(action.nargs == argparse.REMAINDER for action in self._actions)
        words = iter(args)
        for word in words:
            name, equals, _ = word.partition("=")
            if word == "--" or (other and not word.startswith("-")):
                break
            if name in known:
                if not equals and known[name].nargs is None:
                    next(words, None)  # its value
            elif name.startswith("--") and " " not in name:
                self.error(unknown(name, known, where=self.prog))
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            self.error(f"unknown command '{value}'{did_you_mean(value, action.choices)}")
        super()._check_value(action, value)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def add_command(commands: Any, name: str, summary: str, examples: Sequence[str] = ()) -> Parser:
    """Adds a command to the result of `add_subparsers`. `examples` are whole lines."""
    added: Parser = commands.add_parser(name, help=summary, description=summary, examples=examples)
    return added
