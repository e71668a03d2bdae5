"""`espalier slurm`."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ..runs.slurm import write_scripts
from .shared.parser import add_command

SUMMARY = "Do the shards of a run as jobs of SLURM."
EXAMPLES = ()
WRITE = (
    "espalier slurm write --shards 4096 --out out/job --sbatch=--time=4:00:00 --sbatch=--partition=cpu \\\n"
    "    expand --questions questions.jsonl --corpus corpus.jsonl --model http://node1:8000/v1 --model-name qwen",
)


def add_options(parser: argparse.ArgumentParser) -> None:
    steps = parser.add_subparsers(dest="step", metavar="STEP", required=True)
    write = add_command(steps, "write", "Write an array of jobs for the shards, and a job that merges them.", WRITE)
    write.add_argument("--shards", type=int, required=True, metavar="N", help="how many")
    write.add_argument("--out", required=True, metavar="DIR", help="gets the scripts, the shards and the merged run")
    write.add_argument(
        "--max-array-size",
        type=int,
        default=1001,
        metavar="N",
        help="MaxArraySize of the cluster (`scontrol show config`). More shards become several arrays (1001)",
    )
    write.add_argument(
        "--sbatch", action="append", default=[], metavar="OPTION", help="an option of every job. It may be repeated"
    )
    write.add_argument("--json", action="store_true", help="print JSON")
    write.add_argument(
        "line", metavar="COMMAND", nargs=argparse.REMAINDER, help="expand or answer, without --shard and --out"
    )


def run(arguments: argparse.Namespace) -> int:
    script = write_scripts(
        Path(arguments.out),
        arguments.line,
        shards=arguments.shards,
        max_array_size=arguments.max_array_size,
        sbatch=arguments.sbatch,
    )
    print(json.dumps({"script": str(script)}, ensure_ascii=False) if arguments.json else f"Next: {script}")
    return 0
