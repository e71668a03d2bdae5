"""`espalier completion`."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..errors import MissingPart
from .shared.config import commands_of

if TYPE_CHECKING:
    from collections.abc import Iterator

SUMMARY = "Print the script that completes this command in a shell."
EXAMPLES = (
    "espalier completion bash > ~/.local/share/bash-completion/completions/espalier",
    "espalier completion zsh > ~/.zfunc/_espalier",
    "espalier completion fish > ~/.config/fish/completions/espalier.fish",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=["bash", "zsh", "fish"], help="which shell")


def run(arguments: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError:
        raise MissingPart("completion needs the package shtab (pip install 'espalier-rag[cli]')") from None
    parser: argparse.ArgumentParser = arguments.whole
    for action in every_action(parser):
        if action.metavar in ("FILE", "JOURNAL"):
            action.complete = shtab.FILE  # type: ignore[attr-defined]
        elif action.metavar in ("DIR", "RUN", "A", "B"):
            action.complete = shtab.DIRECTORY  # type: ignore[attr-defined]
    print(shtab.complete(parser, arguments.shell), end="")
    return 0


def every_action(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    yield from parser._actions
    for command in commands_of(parser).values():
        yield from every_action(command)
