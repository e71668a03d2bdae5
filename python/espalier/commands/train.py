"""`espalier train`."""

import argparse
from typing import Any

from ..io.terminal import say, say_json
from ..runs.progress import shown_as
from ..train import run_stage
from ..train.options import STAGES, Sampled, described, options_of
from .shared.parser import add_command

SUMMARY = "Train a model on the rows of runs, or on what it samples itself."
ANY = "The model that is trained: a folder of transformers, gguf:FILE, or micro:SIZE for a new one."
SAMPLING = "The model that samples and is trained: a folder of transformers. It can answer already."
EXAMPLES = ()
EXAMPLES_OF: dict[str, tuple[str, ...]] = {
    "sft": (
        "espalier train sft --data out/demo --model models/small --out models/tuned",
        "espalier train sft --data out/a --data out/b --model micro:1M --context-weight 0.2 --out models/micro",
    ),
    "dpo": (
        "espalier train dpo --data out/demo --model models/tuned --out models/preferred",
        "espalier train dpo --data out/demo --model models/tuned --kinds decision --sft-weight 0.2 --out models/p",
    ),
    "value": ("espalier train value --data out/labelled --model models/tuned --out models/value",),
    "prm": ("espalier train prm --data out/judged --model models/tuned --out models/prm",),
    "rft": ("espalier train rft --model models/tuned --questions q.jsonl --corpus c.jsonl --out models/rft",),
    "grpo": (
        "espalier train grpo --model models/tuned --questions q.jsonl --corpus c.jsonl --steps 50 --out models/rl",
    ),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    stages = parser.add_subparsers(dest="stage", metavar="|".join(STAGES), required=True)
    for name, kind in STAGES.items():
        one = add_command(stages, name, kind.summary, EXAMPLES_OF[name])
        if not issubclass(kind, Sampled):
            one.add_argument(
                "--data",
                action="append",
                required=True,
                metavar="RUN",
                help=f"The folder of a run with {name}.jsonl. It may be repeated.",
            )
        one.add_argument("--model", required=True, metavar="MODEL", help=SAMPLING if issubclass(kind, Sampled) else ANY)
        one.add_argument("--out", required=True, metavar="DIR", help="The folder that gets the trained model.")
        for field in described(kind):
            add_option(one, field.name, field.default, field.metadata)


def add_option(parser: argparse.ArgumentParser, name: str, default: Any, about: Any) -> None:
    flag = "--" + name.replace("_", "-")
    if isinstance(default, bool):
        parser.add_argument(flag, action="store_true", help=about["help"])
        return
    if isinstance(default, tuple):
        parser.add_argument(flag, action="append", default=[], metavar=about["value"], help=about["help"])
        return
    shown = f" ({default})" if default else ""
    parser.add_argument(
        flag,
        type=type(default),
        default=default,
        metavar=about["value"],
        choices=about["choices"] or None,
        help=about["help"] + shown,
    )


def run(arguments: argparse.Namespace) -> int:
    kind = STAGES[arguments.stage]
    names = ("data", "model", "out", *(f.name for f in described(kind)))
    options = options_of(kind, {name: getattr(arguments, name) for name in names if hasattr(arguments, name)})
    trained = run_stage(options, shown_as(quiet=arguments.json))
    if arguments.json:
        say_json(vars(trained) | {"out": str(trained.out)})
        return 0
    held_out = "" if trained.eval_loss is None else f", {trained.eval_loss:.4f} on the held-out rows"
    loss = "" if trained.loss is None else f", loss {trained.loss:.4f}"
    say(f"{trained.out}: {trained.steps:,} steps{loss}{held_out}")
    return 0
