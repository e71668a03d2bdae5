"""A training that was killed goes on to the model that it would have become, and no checkpoint is ever half there."""

import errno
import os
from pathlib import Path

import pytest
import test_prm
import test_value
from espalier.errors import Error
from espalier.train import folder as checkpoints
from espalier.train import prm, value
from training import SMALL, Killed, kill_at, same, train_dpo, train_sft, write_rows


@pytest.mark.parametrize("train", [train_sft, train_dpo])
@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_killed_training_ends_as_an_unbroken_one(run, tiny, tmp_path, monkeypatch, train, accumulate):
    more = {"max_steps": 0, "epochs": 2.0 * accumulate, "save_every": 2, "batch_tokens": 4096, "accumulate": accumulate}
    train(run, tiny, tmp_path / "unbroken", **more)
    for step in (3, 5):
        with monkeypatch.context() as killed:
            kill_at(killed, step)
            with pytest.raises(Killed):
                train(run, tiny, tmp_path / "killed", **more)
    train(run, tiny, tmp_path / "killed", **more)
    assert same(tmp_path / "unbroken", tmp_path / "killed")
    steps = [line.split(",")[0] for line in (tmp_path / "killed" / "metrics.jsonl").read_text().splitlines()]
    assert steps == [line.split(",")[0] for line in (tmp_path / "unbroken" / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(("train", "row"), [(value, test_value.row), (prm, test_prm.row)])
def test_a_killed_training_with_adapters_keeps_its_heads(tiny, tmp_path, monkeypatch, train, row):
    data = write_rows(tmp_path / "run", train.__name__, [row(i) for i in range(16)])
    more = {**SMALL, "lora": 2, "max_steps": 6, "save_every": 2, "data": data, "model": str(tiny)}
    train(out=tmp_path / "unbroken", **more)
    with monkeypatch.context() as killed:
        kill_at(killed, 3)
        with pytest.raises(Killed):
            train(out=tmp_path / "killed", **more)
    train(out=tmp_path / "killed", **more)
    assert same(tmp_path / "unbroken", tmp_path / "killed")


def test_a_kill_while_a_checkpoint_is_written_leaves_the_one_before(run, tiny, tmp_path, monkeypatch):
    train_sft(run, tiny, tmp_path / "unbroken", save_every=1)
    original, calls = checkpoints.synchronise, []

    def die(path: Path) -> None:
        calls.append(path)
        if path.name == "checkpoint-2":
            raise Killed
        original(path)

    with monkeypatch.context() as killed:
        killed.setattr(checkpoints, "synchronise", die)
        with pytest.raises(Killed):
            train_sft(run, tiny, tmp_path / "killed", save_every=1)
    folder = tmp_path / "killed" / "checkpoints"
    assert {one.name for one in folder.iterdir()} == {"checkpoint-1", checkpoints.PART}
    assert checkpoints.newest(folder) == folder / "checkpoint-1"
    train_sft(run, tiny, tmp_path / "killed", save_every=1)
    assert same(tmp_path / "unbroken", tmp_path / "killed")


def test_a_full_disk_is_named_and_leaves_the_checkpoint_before(run, tiny, tmp_path, monkeypatch):
    original = os.fsync

    def full(opened: int) -> None:
        if "checkpoint-2" in str(Path(f"/proc/self/fd/{opened}").readlink()):
            raise OSError(errno.ENOSPC, "No space left on device")
        original(opened)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Error, match=r"the checkpoint of step 2 cannot be written \(the disk is full\)"):
        train_sft(run, tiny, tmp_path / "out", save_every=1)
    folder = tmp_path / "out" / "checkpoints"
    assert [one.name for one in folder.iterdir()] == ["checkpoint-1"]
    assert not (tmp_path / "out" / "model.safetensors").exists()
