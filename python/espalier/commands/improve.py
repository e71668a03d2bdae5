"""`espalier improve`."""

from __future__ import annotations

import argparse
import json

from ..runs.summary import table
from .shared.run_options import add_setting
from .shared.settings import pairs

SUMMARY = "Make a model better in rounds: grow trees by DecEx-RAG, train sft, train dpo, answer held-out questions."
EXAMPLES = (
    "espalier improve --questions q.jsonl --corpus c.jsonl --model hf:models/tuned --set form=policy --out out/better",
    "espalier improve --questions q.jsonl --corpus c.jsonl --model simulated --student micro:1M \\\n"
    "    --prompts examples/compact_prompts --sft context_weight=0.2 --dpo kinds=decision --rounds 3 --out out/micro",
)
SETTINGS = ("questions", "corpus", "index", "retriever", "prompts", "model", "model_name", "constrain", "seed")
EXECUTION = ("api_key_file", "in_flight")


def add_options(parser: argparse.ArgumentParser) -> None:
    for name in (*SETTINGS, *EXECUTION):
        add_setting(parser, name, required=name in ("questions", "model"))
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="the most rounds (2)")
    parser.add_argument(
        "--teacher", default="", metavar="MODEL[,NAME]", help="grows the trees of the first round (the model itself)"
    )
    parser.add_argument(
        "--student",
        default="",
        metavar="MODEL",
        help="what is trained first: a folder, gguf:FILE or micro:SIZE (the model itself)",
    )
    parser.add_argument(
        "--eval-questions", default="", metavar="FILE", help="the held-out questions (a share of --questions)"
    )
    parser.add_argument("--eval-share", type=float, default=0.2, metavar="X", help="that share, drawn by id (0.2)")
    for option, help in (
        ("set", "search option of trees and answers. `espalier options` lists them"),
        ("answer-set", "search option of answers alone"),
        ("sft", "option of `espalier train sft`"),
        ("dpo", "option of `espalier train dpo`"),
    ):
        parser.add_argument(
            f"--{option}", action="append", default=[], metavar="OPTION=VALUE", help=f"{help}. It may be repeated"
        )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder of the rounds. The same command goes on")
    parser.add_argument("--overwrite", action="store_true", help="train anew, also where options have changed")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    from ..eval.evaluation import views
    from ..rounds.loop import run_rounds
    from ..rounds.options import improve_options
    from ..rounds.table import rounds_table  # numpy is not for every command

    names = (*SETTINGS, *EXECUTION, "rounds", "teacher", "student", "eval_questions", "eval_share")
    given = {name: getattr(arguments, name) for name in (*names, "out", "overwrite")}
    given["model_name"] = given["model_name"] or ""
    for name in ("set", "answer_set", "sft", "dpo"):
        given[name] = pairs(f"--{name.replace('_', '-')}", getattr(arguments, name), "OPTION=VALUE")
    options = improve_options(given)
    if arguments.json:
        print(json.dumps(run_rounds(options, lambda line: None, views(quiet=True)), ensure_ascii=False))
        return 0
    result = run_rounds(options, lambda line: print(line, flush=True), views(quiet=False))
    shown = rounds_table(result)
    cells = [["-" if cell is None else str(cell) for cell in row] for row in shown.rows]
    print("\n".join([*table(shown.header, cells, left=shown.left), *(f"  {note}" for note in shown.notes)]))
    print(f"Page: {options.out}/rounds.html")
    return 0
