"""`espalier world`."""

import argparse
from pathlib import Path

from ..io.terminal import say, say_json
from ..runs.job import write_world

SUMMARY = "Generate passages and multi-hop questions."
EXAMPLES = (
    "espalier world --out world",
    "espalier world --out world --passages 500 --questions 20 --seed 7 --max-hops 2",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", required=True, metavar="DIR", help="gets questions.jsonl and corpus.jsonl")
    parser.add_argument("--passages", type=int, default=2000, metavar="N", help="one per entity (2000)")
    parser.add_argument("--questions", type=int, default=100, metavar="N", help="all different (100)")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="equal seeds give equal worlds (1)")
    parser.add_argument("--max-hops", type=int, default=4, metavar="N", help="longest chain, 1 to 4 (4)")


def run(arguments: argparse.Namespace) -> int:
    names = ("passages", "questions", "seed", "max_hops")
    write_world(arguments.out, **{name: getattr(arguments, name) for name in names})
    written = {name: str(Path(arguments.out) / f"{name}.jsonl") for name in ("questions", "corpus")}
    if arguments.json:
        say_json(written)
        return 0
    say(f"{written['questions']}: {arguments.questions} questions")
    say(f"{written['corpus']}: {arguments.passages} passages")
    return 0
