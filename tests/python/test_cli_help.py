"""What every command says of itself: examples that can be copied, exit codes."""

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from espalier.cli import main, make_parser
from espalier.commands.shared.parser import EXIT_CODES, WHERE_CODES, Parser


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
        words = shlex.split(example.replace("\\\n", " ").partition(" > ")[0])
        make_parser().parse_args(words[1:])
        assert max(map(len, example.splitlines())) <= 118


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_says_what_it_and_each_option_does(name: str):
    leaf = LEAVES[name]
    assert leaf.description and leaf.description.endswith(".")
    silent = [action.dest for action in leaf._actions if not action.help and not action.choices]
    assert silent == []


@pytest.mark.parametrize("name", [name for name in LEAVES if not name.startswith("espalier train ")])
def test_every_help_text_is_a_fragment_without_semicolons(name: str):
    for action in LEAVES[name]._actions:
        said = (action.help or "").removesuffix(" ...")
        assert ";" not in said and not said.endswith("."), action.dest


def test_the_exit_codes_are_told_once_and_every_help_says_where():
    assert EXIT_CODES in make_parser().format_help()
    assert all(leaf.format_help().endswith(f"\n{WHERE_CODES}\n") for leaf in LEAVES.values())


def test_the_list_of_methods_stands_in_the_help_and_has_its_own(capsys: pytest.CaptureFixture[str]):
    assert "\ncommands:\n  `espalier methods` lists the methods" in make_parser().format_help()
    with pytest.raises(SystemExit):
        main(["methods", "--help"])
    shown = capsys.readouterr().out
    assert shown.startswith("usage: espalier methods [-h] [--json]\n") and shown.endswith(f"\n{WHERE_CODES}\n")


def test_a_mistyped_option_or_command_is_told_with_the_nearest_one(capsys: pytest.CaptureFixture[str]):
    for words, said in (
        (["expand", "--questons", "x"], "espalier expand: unknown option '--questons', did you mean '--questions'?"),
        (["expand", "--methd=cot"], "espalier expand: unknown option '--methd', did you mean '--method'?"),
        (["index", "build", "j", "--qqqq"], "espalier index build: unknown option '--qqqq'"),
        (["--versoin"], "espalier: unknown option '--versoin', did you mean '--version'?"),
        (["expnd", "--out", "x"], "espalier: unknown command 'expnd', did you mean 'expand'?"),
        (["expand", "--K", "3"], "espalier expand: unknown option '--K', write --set k=VALUE"),
        (["world", "--out", "w", "seed=3"], "espalier world: 'seed=3' is no option, did you mean '--seed'?"),
        (["world", "--out", "w", "-seed", "1"], "espalier world: '-seed' is no option, did you mean '--seed'?"),
        (["world", "--out", "w", "a.b"], "espalier world: 'a.b' is no option, and nothing else may stand there"),
        (["index", "buld"], "espalier index: unknown command 'buld', did you mean 'build'?"),
    ):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2 and capsys.readouterr().err == f"{said}\n"


def test_words_that_look_like_options_are_read_where_they_stand_for_other_things():
    search = ["index", "search", "--index", "i"]
    assert make_parser().parse_args([*search, "--", "--what"]).query == ["--what"]
    assert make_parser().parse_args([*search, "--what is it?"]).query == ["--what is it?"]


def test_the_options_of_a_run_are_in_groups_below_a_short_usage():
    usages = {
        "expand": "--questions FILE --out DIR [options]",
        "answer": "--questions FILE --out DIR [options]",
        "batch prepare": "--questions FILE --out DIR [options]",
        "eval": "--methods A,B,C --questions FILE --out DIR [options]",
        "doctor": "[options]",
        "serve answers": "[options]",
    }
    for command, usage in usages.items():
        shown = LEAVES[f"espalier {command}"].format_help()
        assert shown.startswith(f"usage: espalier {command} {usage}\n")
        assert all(f"\n{group}:\n" in shown for group in ("search", "model", "retriever", "servers", "execution"))
    shown = LEAVES["espalier expand"].format_help()
    assert all(f"\n{group}:\n" in shown for group in ("journal", "output", "tracking", "tasks of Ray"))


def test_the_table_of_options_is_narrow_and_its_json_whole(capsys: pytest.CaptureFixture[str]):
    assert main(["options"]) == 0
    *rows, purposes = capsys.readouterr().out.splitlines()
    assert max(map(len, rows)) < 200
    assert {"thinking", "finish_reasons", "bm25.k1"} <= {row.split()[0] for row in rows} and "recall" in rows[-1]
    [refusals] = [row for row in rows if row.startswith("refusals")]
    assert "unknown; n/a; unanswer…  " in refusals and not any(row.startswith("sampling.") for row in rows)
    assert purposes.startswith("sampling.PURPOSE.NAME ") and "max_tokens" in purposes and "rollout" in purposes
    assert main(["options", "--json"]) == 0
    options = {row["option"]: row for row in json.loads(capsys.readouterr().out)}
    assert len(options["refusals"]["default"]) > 100 and "sampling.rollout.top_k" in options
    k = options["k"]
    assert (k["default"], k["allowed"]) == (3, "1 or more") and k["explanation"]


def test_the_table_of_exit_codes_says_the_same_as_the_help():
    page = (Path(__file__).parents[2] / "docs" / "command.md").read_text(encoding="utf-8")
    codes = re.findall(r"^  (\d+) +(.*)$", EXIT_CODES, re.M)
    assert codes == re.findall(r"^\| (\d+) \| (.*) \|$", page, re.M)
    assert [code for code, _ in codes] == ["0", "1", "2", "3", "4", "130"]
