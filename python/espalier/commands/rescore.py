"""`espalier rescore`."""

import argparse

from ..runs.progress import shown_as
from ..runs.rescore import rescore
from .shared.run_options import add_allow_failed, pairs
from .shared.task import print_run, tell_failed

SUMMARY = "Do a recorded run again under other options. No model is asked."
EXAMPLES = (
    "espalier rescore out/demo --set reward=em --out out/em",
    "espalier rescore out/demo --set threshold=0.8 --set chain=all --out out/strict --json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", metavar="RUN", help="folder of a run that kept its journal")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="OPTION=VALUE",
        help="another reward, threshold, chain ... `espalier options` lists them",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="gets the same files as a run")
    add_allow_failed(parser)


def run(arguments: argparse.Namespace) -> int:
    with shown_as(quiet=arguments.json) as view:
        result = rescore(arguments.run, pairs("--set", arguments.set, "OPTION=VALUE"), out=arguments.out, progress=view)
    said = f"undetermined: {result.open} questions, because their search would have asked more than this run did"
    print_run(result, arguments, [said] if result.open else [])
    return tell_failed(result.summary["method"], result.out, result.summary, arguments.allow_failed)
