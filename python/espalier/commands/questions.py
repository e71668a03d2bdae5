"""`espalier questions`: published sets of questions, as the files that runs read."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._core import Passage
from ..datasets import FORMATS, read_aliases, read_examples, said_twice
from ..errors import InputError
from ..io.files import write_jsonl
from ..io.terminal import say, say_error, say_json

SUMMARY = "Convert a published set of questions into the files that runs read."
EXAMPLES = (
    "espalier questions hotpot_dev_distractor_v1.json --out questions.jsonl --corpus corpus.jsonl",
    "espalier questions popQA.tsv --format popqa --limit 500 --out questions.jsonl",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", metavar="SOURCE", help="JSON, JSON lines, CSV, TSV (each plain or .gz) or Parquet")
    parser.add_argument(
        "--format",
        default="auto",
        metavar="FORMAT",
        help=f"auto goes by the fields of each row. Or one of: {', '.join(FORMATS)} (auto)",
    )
    parser.add_argument("--out", required=True, metavar="FILE", help="gets the questions, as JSON lines")
    parser.add_argument("--corpus", metavar="FILE", help="gets the passages that come with the questions, each once")
    parser.add_argument("--aliases", metavar="FILE", help="2WikiMultiHopQA's id_aliases.json: more gold answers")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="the first so many rows, 0 = all (0)")


def run(arguments: argparse.Namespace) -> int:
    if arguments.limit < 0:
        raise ValueError(f"option 'limit' is {arguments.limit}, allowed: 0 or more")
    format = None if arguments.format == "auto" else arguments.format
    aliases = read_aliases(arguments.aliases) if arguments.aliases else None
    passages: dict[str, Passage] = {}
    asked: list[tuple[str, str]] = []
    without_gold = 0

    def converted() -> Iterator[dict[str, Any]]:
        nonlocal without_gold
        for example in read_examples(arguments.source, format, limit=arguments.limit, aliases=aliases):
            asked.append((example.id, example.question))
            without_gold += not example.answers
            if arguments.corpus:
                passages.update((passage.id, passage) for passage in example.passages)
            yield example.to_dict()
        if arguments.corpus and not passages:
            raise InputError(f"{arguments.source}: no passages come with these questions. Leave out --corpus")

    write_jsonl(arguments.out, converted())
    if arguments.corpus:
        write_jsonl(
            arguments.corpus,
            ({"id": p.id, "title": p.title, "contents": f"{p.title}\n{p.text}"} for p in passages.values()),
        )
    if twice := said_twice(asked):
        say_error(f"{arguments.source}: {twice}")
    if arguments.json:
        say_json({"questions": len(asked), "without_gold": without_gold, "passages": len(passages)})
        return 0
    hidden = f", {without_gold:,} of them without gold answers" if without_gold else ""
    say(f"{Path(arguments.out)}: {len(asked):,} questions{hidden}")
    if arguments.corpus:
        say(f"{Path(arguments.corpus)}: {len(passages):,} passages")
    return 0
