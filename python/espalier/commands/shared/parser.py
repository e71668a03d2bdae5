"""How every command reads its line and shows its help."""

import argparse
import re
import sys
from collections.abc import Container, Sequence
from typing import Any, NoReturn

from ... import _core
from ...errors import did_you_mean, one_line
from ...gone import unknown
from ...io.files import naming

EXIT_CODES = """exit codes:
  0    everything is done
  1    a failure left questions open, `doctor` found a problem, or memory was too little. Run the same again to go on
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
                said = unknown(name, known, where=self.prog)
                self.error(said if " is gone " in said else of_methods(name, known) or said)
        found, left = super().parse_known_args(args, namespace)
        if left:
            option = "--" + left[0].partition("=")[0].lstrip("-").replace("_", "-")
            hint = did_you_mean(option, known) if re.fullmatch(r"--[a-z-]{3,}", option) else ""
            self.error(f"'{left[0]}' is no option{hint or ', and nothing else may stand there'}")
        return found, left

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if isinstance(action, argparse._SubParsersAction) and value not in action.choices:
            hint = f": `{self.prog} --help` lists them"
            self.error(f"unknown command '{value}'{did_you_mean(value, action.choices) or hint}")
        super()._check_value(action, value)

    def print_help(self, file: Any = None) -> None:  # argparse's own drops what a full disk says
        with naming("standard output"):
            print(self.format_help(), end="", file=file, flush=True)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {one_line(message)}\n")


def of_methods(name: str, known: Container[str]) -> str:
    """What to say of an option that is one of a method."""
    rows = [row[0] for method in _core.method_names() for row in _core.method_options(method, True)]
    option = {row.lower(): row for row in rows}.get(name[2:].replace("-", "_").lower())
    return f"unknown option '{name}', write --set {option}=VALUE" if option and "--set" in known else ""


def add_command(
    commands: Any, name: str, summary: str, examples: Sequence[str] = (), json: str = "print JSON"
) -> Parser:
    """Adds a command to the result of `add_subparsers`. `examples` are whole lines, () = it has subcommands."""
    added: Parser = commands.add_parser(name, help=summary, description=summary, examples=examples)
    if examples:
        added.add_argument("--json", action="store_true", help=json)
    return added
