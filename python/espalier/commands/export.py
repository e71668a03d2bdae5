"""`espalier export`."""

import argparse
from dataclasses import asdict

from ..export import FORMATS, export
from ..export.format import STYLES
from ..export.traces.advantages import ADVANTAGES
from ..io.terminal import say, say_json

SUMMARY = "Write a run's training rows in the formats of trainers."
EXAMPLES = (
    "espalier export out/demo --format sft.messages --format dpo.explicit --out out/data",
    "espalier export out/demo --format sft.sharegpt --out out/data --tokenizer models/qwen --licence 'questions: mine'",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a run")
    parser.add_argument(
        "--format", action="append", required=True, metavar="NAME", help=f"{', '.join(FORMATS)}. It may be repeated"
    )
    parser.add_argument(
        "--out",
        required=True,
        metavar="DIR",
        help="gets the files, README.md and, for LLaMA-Factory, dataset_info.json",
    )
    parser.add_argument("--from", dest="product", metavar="ROWS", help="the run's rows to take: sft, rft, dpo, prm ...")
    parser.add_argument(
        "--style",
        default="conversational",
        choices=STYLES,
        help="conversational: lists of messages. standard: texts, where a format has both. tools: actions are calls of "
        "tools (conversational)",
    )
    parser.add_argument("--threshold", type=float, metavar="X", help="least value of a good step, for prm.stepwise")
    parser.add_argument("--margin", action="store_true", help="a column with the rewards' difference, for prm.pairwise")
    parser.add_argument(
        "--data-source", default="espalier", metavar="NAME", help="by which verl chooses a reward (espalier)"
    )
    parser.add_argument(
        "--tokenizer", metavar="NAME", help="name or folder. It counts the rows that trainers would cut or drop"
    )
    parser.add_argument("--max-length", type=int, metavar="N", help="tokens, in place of the trainers' own limits")
    parser.add_argument(
        "--advantage",
        default="outcome",
        choices=list(ADVANTAGES),
        help="for traces: what a branch is worth beside the others. outcome compares its reward with those of all "
        "branches of the question. tree compares it also with those that begin with the same step, tree-code as "
        "Tree-GRPO's code does. process adds the process rewards of its steps, which ProRAG and ReasonRAG have "
        "(outcome)",
    )
    parser.add_argument(
        "--beta", type=float, default=0.3, metavar="X", help="weight of process rewards in --advantage process (0.3)"
    )
    parser.add_argument(
        "--licence",
        dest="licences",
        action="append",
        default=[],
        metavar="TEXT",
        help="a line for the data card. It may be repeated",
    )


def run(arguments: argparse.Namespace) -> int:
    names: tuple[str, ...] = ("out", "product", "style", "threshold", "margin", "data_source", "tokenizer")
    names += ("max_length", "advantage", "beta", "licences")
    files = export(arguments.run, arguments.format, **{name: getattr(arguments, name) for name in names})
    if arguments.json:
        say_json([asdict(file) | {"path": str(file.path)} for file in files])
        return 0
    for file in files:
        say(f"{file.path}: {file.rows:,} rows of {file.product}.jsonl, for {', '.join(file.trainers)}")
        say(*(f"  {count:,} left out: {why}" for why, count in file.left_out.items()))
        for report in file.lengths:
            lost = ", ".join(f"{n:,} {verdict}" for verdict, n in sorted(report.rows.items()))
            say(f"  {report.trainer} {report.rule}: {lost}, longest {report.longest:,}")
    return 0
