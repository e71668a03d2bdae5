"""Scripts that do a run's shards as an array of SLURM jobs, and merge them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from ..io.files import write_text

SHARDS = """#!/bin/bash
#SBATCH --job-name=espalier
#SBATCH --chdir={here}
#SBATCH --output={logs}/%A_%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
{more}
# 60 seconds before the end of its time the job goes back into the queue. The run goes on where it was.
again() {{
  [ -z "$!" ] || kill -TERM "$!"
  wait
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID"
  exit 0
}}
trap again TERM

shard=$((SHARDS_BEFORE + SLURM_ARRAY_TASK_ID))
{line} --shard "$shard/{shards}" --out {out}/"shard-$shard" &
wait "$!"
code=$?
# 4: nothing is open, but some questions failed. Running again would change nothing, so the shard is ready to be merged.
[ "$code" -eq 4 ] || exit "$code"
"""

SUBMIT = """#!/bin/bash
# Submits the shards, and the merge that follows when all of them have ended well.
set -e
jobs=afterok
submit() {{ # the number of shards before these, and their number
  job=$(sbatch --parsable --array="1-$2" --export="ALL,SHARDS_BEFORE=$1" {out}/shards.sbatch)
  jobs="$jobs:${{job%%;*}}"
}}
{submits}
sbatch --dependency="$jobs" {out}/merge.sbatch
"""

MERGE = """#!/bin/bash
#SBATCH --job-name=espalier-merge
#SBATCH --chdir={here}
#SBATCH --output={logs}/merge.log
{more}
{merge} {out}/shard-* --out {out}/whole
"""


def write_scripts(
    out: Path, line: Sequence[str], *, shards: int, max_array_size: int = 1001, sbatch: Sequence[str] = ()
) -> Path:
    """Writes shards.sbatch, merge.sbatch and submit.sh into a folder. Returns submit.sh.

    `line` is the command of the run without `--shard` and `--out`: the shards become the folders shard-1 ... in `out`,
    and `whole` is the merged run. `max_array_size` is the cluster's MaxArraySize, one more than the largest index of an
    array. `sbatch` are further options of every job. Raises ValueError.
    """
    if not line or line[0] not in ("expand", "answer"):
        raise ValueError(f"the command of the run begins with expand or answer, not '{' '.join(line[:1])}'")
    for word in line:
        if word.partition("=")[0] in ("--shard", "--out"):
            raise ValueError(f"the command of the run names {word.partition('=')[0]}, which each job sets itself")
    if shards < 1:
        raise ValueError(f"option 'shards' is {shards}, allowed: 1 or more")
    if max_array_size < 2:
        raise ValueError(f"option 'max-array-size' is {max_array_size}, allowed: 2 or more")
    out = out.absolute()
    (out / "logs").mkdir(parents=True, exist_ok=True)
    most = max_array_size - 1
    espalier = [sys.executable, "-m", "espalier.cli"]
    words = {
        "here": shlex.quote(str(Path.cwd())),
        "logs": shlex.quote(str(out / "logs")),
        "out": shlex.quote(str(out)),
        "more": "".join(f"#SBATCH {option}\n" for option in sbatch),
        "line": shlex.join([*espalier, *line]),
        "merge": shlex.join([*espalier, "merge"]),
        "shards": shards,
        "submits": "\n".join(f"submit {n} {min(most, shards - n)}" for n in range(0, shards, most)),
    }
    for name, text in (("shards.sbatch", SHARDS), ("merge.sbatch", MERGE), ("submit.sh", SUBMIT)):
        write_text(out / name, text.format(**words))
    (out / "submit.sh").chmod(0o755)
    return out / "submit.sh"
