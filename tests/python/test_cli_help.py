"""What every command says of itself: examples that can be copied, exit codes."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator

import pytest
from espalier.cli import make_parser
from espalier.commands.parser import EXIT_CODES, Parser


def leaves(parser: Parser) -> Iterator[Parser]:
    """The commands that have no commands below them."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in below:
        for child in action.choices.values():
            yield from leaves(child)
    if not below:
        yield parser


LEAVES = {leaf.prog: leaf for leaf in leaves(make_parser())}


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_has_examples_that_parse(name: str):
    leaf = LEAVES[name]
    assert leaf.examples
    for example in leaf.examples:
        assert example.startswith(name + " ") and example in leaf.format_help()
        make_parser().parse_args(shlex.split(example.replace("\\\n", " "))[1:])
        assert max(map(len, example.splitlines())) <= 118


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_says_what_it_and_each_option_does(name: str):
    leaf = LEAVES[name]
    assert leaf.description and leaf.description.endswith(".")
    silent = [action.dest for action in leaf._actions if not action.help and not action.choices]
    assert silent == []


@pytest.mark.parametrize("name", LEAVES)
def test_every_help_documents_the_exit_codes(name: str):
    assert EXIT_CODES in LEAVES[name].format_help()
    assert re.findall(r"^  (\d+)", EXIT_CODES, re.M) == ["0", "1", "2", "3", "130"]
