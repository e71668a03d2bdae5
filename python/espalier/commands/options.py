"""`espalier options`, and `espalier methods`, which prints what `espalier options --methods` does."""

import argparse
import json
from collections.abc import Iterator

from .. import _core
from ..io.terminal import say, say_json
from ..runs.summary import table
from ..search.method import Method
from .shared.parser import Parser

SUMMARY = "List a method's options."
EXAMPLES = ("espalier options --method prorag", "espalier options --method decex --json")
ABOUT = {
    "adaptive-rag": "a router chooses no search, one search or IRCoT",
    "airrag": "AirRAG: tree search over five reasoning actions",
    "airrag-blender": "AirRAG that also counts the answers of three simple methods",
    "airrag-lite": "AirRAG with three of its actions",
    "auto-rag": "plans, queries and answers in marked lines",
    "cot": "one call that reasons, no search",
    "decex": "DecEx-RAG: pruned search over decisions and their executions",
    "decouple": "DecoupleRAG: tree search with a plan value and a search value for each step",
    "deeprag": "each follow-up is answered from memory or searched",
    "direct": "one call that sees the question, no search",
    "flare": "searches where a token is unlikely, and writes the sentence again",
    "generate-then-retrieve": "an answer from memory is the query of a second one",
    "greedy-agent": "DecoupleRAG's agent, one path",
    "hiprag": "steps of reasoning, search and conclusion",
    "ikea": "Search-R1's loop, own knowledge first",
    "ircot": "one sentence a call, each the next query",
    "iter-retgen": "rounds of search and answer",
    "iterative": "splits the question, answers the parts, combines",
    "iterdrag": "Self-Ask that begins with documents",
    "judge-then-retrieve": "asks first whether to search",
    "prorag": "ProRAG: tree search over steps, with discounted outcomes",
    "ragent": "searches inside the reasoning, documents as they are",
    "reasonrag": "ReasonRAG: tree search with shortest-path rewards",
    "search-o1": "searches inside the reasoning, documents condensed",
    "search-r1": "think, search, information, answer",
    "self-ask": "follow-up questions, each searched",
    "self-rag": "an answer and a critique for each passage",
    "standard-rag": "one search, one call",
}
"""The methods, in a line each."""


def add_options(parser: argparse.ArgumentParser) -> None:
    names = ", ".join(_core.method_names())
    parser.add_argument("--method", default="decex", metavar="METHOD", help=f"one of: {names} (decex)")
    parser.add_argument("--methods", action="store_true", help="list the methods (also: espalier methods)")


def methods_parser() -> Parser:
    """The parser of `espalier methods`: a list of its own, but no command more."""
    about, lines = "List the methods, with what each asks and makes.", ("espalier methods", "espalier methods --json")
    parser = Parser(prog="espalier methods", description=about, examples=lines)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(methods=True)
    return parser


def methods() -> Iterator[tuple[str, str, list[str], list[str]]]:
    """Each method: what it is, the purposes for which it asks a model, and the files of data that `expand` makes."""
    for name in _core.method_names():
        yield name, ABOUT.get(name, ""), [asked[0] for asked in _core.method_prompts(name)], list(Method(name).rows([]))


def run(arguments: argparse.Namespace) -> int:
    if arguments.methods:
        if arguments.json:
            say_json([dict(zip(("method", "about", "asks", "makes"), row, strict=True)) for row in methods()])
            return 0
        lines = [
            (name, what, ", ".join(asks), ", ".join(makes).replace(".jsonl", ""))
            for name, what, asks, makes in methods()
        ]
        say(*table(("method", "what it is", "asks for", "expand makes"), lines, left=4))
        say("`espalier options --method NAME` lists the options of one, `espalier prompts show --method NAME` prompts")
        return 0
    rows = _core.method_options(arguments.method, True)
    if arguments.json:
        keys = ("option", "default", "allowed", "explanation", "type")
        say_json([dict(zip(keys, row, strict=True)) | {"default": json.loads(row[1])} for row in rows])
        return 0
    own = [row for row in rows if not row[0].startswith(("sampling.", "sim."))]
    shown = [(name, short(default), *more[:2]) for name, default, *more in own]
    say(*table(("option", "default", "allowed", "explanation"), shown, left=4))
    skills = ", ".join(row[0].removeprefix("sim.") for row in rows if row[0].startswith("sim."))
    say(f"sim.NAME is a rate of the simulated model. NAME: {skills}")
    if alone := [row[0].split(".") for row in rows if row[0].startswith("sampling.")]:
        purposes, names = (", ".join(dict.fromkeys(parts)) for parts in list(zip(*alone, strict=True))[1:])
        say(f"sampling.PURPOSE.NAME is an option of one purpose alone. NAME: {names}. PURPOSE: {purposes}")
    return 0


def short(default: str, width: int = 24) -> str:
    """A default for a narrow column. `--json` has it whole."""
    return default if len(default) <= width else default[: width - 1] + "…"
