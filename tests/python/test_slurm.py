"""The scripts for SLURM, with commands in its place that do the jobs at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import espalier, inputs
from espalier.runs.slurm import write_scripts

SBATCH = """#!{python}
import os, subprocess, sys
words = sys.argv[1:]
with open({log!r}, "a") as log:
    print(*words, file=log)
options = dict(word.partition("=")[::2] for word in words[:-1])
environment = dict(os.environ)
for part in options.get("--export", "").split(",")[1:]:
    name, _, value = part.partition("=")
    environment[name] = value
first, _, last = options.get("--array", "1-1").partition("-")
for task in range(int(first), int(last) + 1):
    environment |= {{"SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": str(task)}}
    subprocess.run(["bash", words[-1]], env=environment, check=True, stdout=subprocess.DEVNULL)
print("7;cluster")
"""
SCONTROL = """#!/bin/bash
echo "$@" >> {log}
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the commands of SLURM write what they were told."""
    log = tmp_path / "told"
    for name, text in (("sbatch", SBATCH), ("scontrol", SCONTROL)):
        command = tmp_path / "bin" / name
        command.parent.mkdir(exist_ok=True)
        command.write_text(text.format(python=sys.executable, log=str(log)))
        command.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return log


def test_the_jobs_do_all_shards_and_merge_them(files: Path, tmp_path: Path, slurm: Path):
    line = ["expand", *inputs(files), "--limit", "8", "--set", "n=1"]
    assert espalier(*line, "--out", tmp_path / "whole").returncode == 0
    job = tmp_path / "a job"  # with a blank
    done = espalier(
        *("slurm", "write", "--shards", 3, "--max-array-size", 3, "--out", job, "--sbatch=--time=1:00:00"), *line
    )
    assert done.returncode == 0 and done.stdout == f"Next: {job / 'submit.sh'}\n", done.stderr
    subprocess.run([job / "submit.sh"], check=True, stdout=subprocess.DEVNULL)
    for name in ("trees.jsonl", "answers.jsonl", "sft.jsonl", "dpo.jsonl", "report.html"):
        assert (job / "whole" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    arrays = [f"--parsable --array=1-{n} --export=ALL,SHARDS_BEFORE={at}" for at, n in ((0, 2), (2, 1))]
    told = slurm.read_text().splitlines()
    assert told[:2] == [f"{array} {job / 'shards.sbatch'}" for array in arrays]
    assert told[2] == f"--dependency=afterok:7:7 {job / 'merge.sbatch'}"
    options = [row for row in (job / "shards.sbatch").read_text().splitlines() if row.startswith("#SBATCH ")]
    assert {"#SBATCH --requeue", "#SBATCH --signal=B:TERM@60", "#SBATCH --time=1:00:00"} <= set(options)


def test_a_job_whose_time_ends_goes_back_into_the_queue(tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch):
    python = tmp_path / "python"  # stands for a run that takes long
    python.write_text(f'#!/bin/bash\necho "$@" > {tmp_path}/new\nmv {tmp_path}/new {tmp_path}/asked\nexec sleep 600\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    write_scripts(tmp_path / "job", ["answer", "--questions", "my questions.jsonl"], shards=9)
    environment = {**os.environ, "SHARDS_BEFORE": "5", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "3"}
    with subprocess.Popen(["bash", tmp_path / "job/shards.sbatch"], env=environment) as process:
        while not (tmp_path / "asked").exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        assert process.wait(300) == 0
    assert slurm.read_text() == "requeue 7_3\n"
    line = f"-m espalier.cli answer --questions my questions.jsonl --shard 8/9 --out {tmp_path / 'job'}/shard-8"
    assert (tmp_path / "asked").read_text().strip() == line


def test_a_job_whose_time_ends_while_its_run_starts_ends_that_run(
    tmp_path: Path, slurm: Path, monkeypatch: pytest.MonkeyPatch
):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nkill -TERM $PPID\nexec sleep 600\n")
    python.chmod(0o755)
    slow = tmp_path / "slow"  # the signal comes before the script's next command
    slow.write_text("trap 'sleep 0.2' DEBUG\n")
    monkeypatch.setattr(sys, "executable", str(python))
    write_scripts(tmp_path / "job", ["answer"], shards=1)
    environment = {**os.environ, "SHARDS_BEFORE": "0", "SLURM_ARRAY_JOB_ID": "7", "SLURM_ARRAY_TASK_ID": "1"}
    environment["BASH_ENV"] = str(slow)
    subprocess.run(["bash", tmp_path / "job/shards.sbatch"], env=environment, check=True, timeout=300)
    assert slurm.read_text() == "requeue 7_1\n"


@pytest.mark.parametrize(("code", "ends"), [(0, 0), (1, 1), (3, 3), (4, 0)])
def test_a_shard_with_failed_questions_is_ready_and_one_with_open_questions_is_not(
    tmp_path: Path, code: int, ends: int, monkeypatch: pytest.MonkeyPatch
):
    python = tmp_path / "python"
    python.write_text(f"#!/bin/bash\nexit {code}\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    write_scripts(tmp_path / "job", ["answer"], shards=1)
    environment = {**os.environ, "SHARDS_BEFORE": "0", "SLURM_ARRAY_TASK_ID": "1"}
    assert subprocess.run(["bash", tmp_path / "job/shards.sbatch"], env=environment, check=False).returncode == ends


@pytest.mark.parametrize(
    ("line", "numbers", "said"),
    [
        ([], {}, "the command of the run begins with expand or answer, not ''"),
        (["eval"], {}, "the command of the run begins with expand or answer, not 'eval'"),
        (["expand", "--out=x"], {}, "the command of the run names --out, which each job sets itself"),
        (["expand", "--shard", "1/2"], {}, "the command of the run names --shard, which each job sets itself"),
        (["expand"], {"shards": 0}, "option 'shards' is 0, allowed: 1 or more"),
        (["expand"], {"max_array_size": 1}, "option 'max-array-size' is 1, allowed: 2 or more"),
    ],
)
def test_bad_lines_and_numbers_are_refused(tmp_path: Path, line: list[str], numbers: dict[str, int], said: str):
    with pytest.raises(ValueError) as error:
        write_scripts(tmp_path / "job", line, **{"shards": 3, **numbers})
    assert str(error.value) == said
    assert not (tmp_path / "job").exists()
