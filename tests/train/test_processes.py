"""Several processes of one training."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from training import train_sft, weights_of


def launched(*words: object) -> subprocess.CompletedProcess[str]:
    """The command in two processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    launch = ("torch.distributed.run", "--nproc_per_node", 2, "--master_port", port, "-m", "espalier.cli")
    line = [sys.executable, "-m", *map(str, (*launch, *words))]
    return subprocess.run(line, capture_output=True, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"})


def test_two_processes_make_the_steps_of_two_batches(run: Path, tiny: Path, tmp_path: Path):
    """One folder, one voice, and the weights of one process that accumulates two batches for a step."""
    small = {"max_steps": 3, "batch_tokens": 1024, "lr": 1e-3, "eval_share": 0.4}
    train_sft(run, tiny, tmp_path / "one", accumulate=2, **small)
    words = [word for name, value in small.items() for word in (f"--{name.replace('_', '-')}", value)]
    paths = ("--data", run, "--model", tiny, "--out", tmp_path / "two")
    done = launched("train", "sft", *paths, *words, "--device", "cpu", "--threads", 1, "--log-every", 1, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["steps"] == 3
    one, two = weights_of(tmp_path / "one"), weights_of(tmp_path / "two")
    for name, values in one.items():
        torch.testing.assert_close(two[name], values, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stage", ["dpo", "grpo", "rft"])
def test_a_stage_of_one_process_says_so(
    stage: str, run: Path, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    import espalier.train as training

    monkeypatch.setenv("WORLD_SIZE", "2")
    files = {"questions": "q.jsonl", "corpus": "c.jsonl"} if stage != "dpo" else {"data": run}
    with pytest.raises(ValueError, match=f"`train {stage}` runs in one process, 2 were started"):
        getattr(training, stage)(model=str(tiny), out=tmp_path / "out", **files)
