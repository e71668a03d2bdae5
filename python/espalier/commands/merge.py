"""`espalier merge`."""

import argparse

from ..runs.merge import merge
from .shared.run_options import add_allow_failed
from .shared.task import print_run, tell_end

SUMMARY = "Merge the shards of a run into the folder of one run."
EXAMPLES = (
    "espalier merge out/shard-* --out out/whole",
    "espalier merge out/shard-* --out out/whole --no-journal --json",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shards", metavar="DIR", nargs="+", help="the folders of all shards, in any order")
    parser.add_argument("--out", required=True, metavar="DIR", help="gets the files of the whole run")
    parser.add_argument(
        "--no-journal",
        dest="journal",
        action="store_false",
        help="leave the journals with the shards. `rescore` then works on the shards alone",
    )
    add_allow_failed(parser)


def run(arguments: argparse.Namespace) -> int:
    result = merge(arguments.shards, out=arguments.out, journal=arguments.journal)
    print_run(result, arguments, ["These shards were merged before. Nothing was done."] * result.recognised)
    return tell_end(result, arguments)
