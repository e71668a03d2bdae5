"""What a run by tasks of Ray decides without Ray."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import espalier, expanded, inputs
from espalier.cli import main
from espalier.runs.ray_run import is_finished, keep


@pytest.mark.parametrize(
    ("task", "chosen", "said"),
    [
        ("annotate", {}, "'annotate' cannot be spread by Ray, allowed: expand, answer"),
        ("expand", {"shard": "1/2"}, "option 'shard' is not allowed with Ray: each shard has its own"),
        ("expand", {"overwrite": True}, "option 'overwrite' is not allowed with Ray"),
        ("answer", {"journal_file": "j"}, "option 'journal_file' is not allowed with Ray"),
        ("expand", {"shards": -1}, "option 'shards' is -1, allowed: 1 or more"),
        ("expand", {"method": "dec"}, "method"),
    ],
)
def test_what_cannot_be_spread_is_refused(data: Any, tmp_path: Path, task: str, chosen: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=said):
        esp.ray_run(task, **data, constrain="off", out=tmp_path / "out", **chosen)
    assert not (tmp_path / "out").exists()


def test_ray_that_is_not_there_is_named(
    files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setitem(sys.modules, "ray", None)
    line = ["expand", *inputs(files)[:4], "--constrain", "off", "--out", str(tmp_path / "out"), "--ray", "local"]
    assert main(line) == 2
    assert capsys.readouterr().err.startswith("espalier: --ray needs Ray (pip install ray fsspec): ")
    assert list((tmp_path / "out").iterdir()) == []


def test_options_of_ray_need_ray_and_a_dry_run_does_not(files: Path, tmp_path: Path):
    line = ["expand", *inputs(files), "--out", tmp_path / "out"]
    for option in ("--shards", "--gpus", "--shards-to"):
        done = espalier(*line, option, 2)
        assert done.returncode == 2 and done.stderr == f"espalier: option '{option}' needs --ray\n"
    done = espalier(*line, "--ray", "nowhere:1", "--dry-run")
    assert done.returncode == 0 and "12 questions" in done.stdout, done.stderr


@pytest.mark.parametrize("task", [["expand"], ["eval", "--methods", "decex"]])
def test_tasks_have_journals_of_their_own(task: list[str], files: Path, capsys: pytest.CaptureFixture[str]):
    assert main([*task, "--out", "out", *inputs(files), "--ray", "local", "--journal", "j"]) == 2
    assert "option 'journal_file' is not allowed with Ray: each shard has its own" in capsys.readouterr().err


def test_a_finished_shard_is_fetched_from_a_whole_copy_alone(files: Path, tmp_path: Path):
    pytest.importorskip("fsspec")
    done = tmp_path / "node" / "shard-1"
    expanded(files, done, limit=4, set={"n": 1}, shard="1/2")
    address, here = (tmp_path / "kept").as_uri(), tmp_path / "driver" / "shard-1"
    here.parent.mkdir()
    assert not is_finished(here, address)
    keep(done, address)
    keep(done, address)
    [first, second] = sorted((tmp_path / "kept").glob("shard-1-*.whole"))
    first.unlink()
    (first.with_suffix("") / "trees.jsonl").unlink()
    assert is_finished(here, address) and not is_finished(here.with_name("shard-2"), address)
    assert {file.name: file.read_bytes() for file in here.iterdir()} == {
        file.name: file.read_bytes() for file in done.iterdir()
    }
    (second.with_suffix("") / "answers.jsonl").write_text("")
    again = here.with_name("again") / "shard-1"
    again.parent.mkdir()
    assert not is_finished(again, address), "it is not as the run left it"
