"""What a dry run says: the options, the questions, an estimate and what it rests on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ModelServer, inputs
from espalier import cli
from espalier.runs.estimate import Estimate, usd_of


def dry(capsys, *words: object) -> dict:
    assert cli.main([words[0], "--dry-run", *map(str, words[1:]), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_estimate_is_scaled_by_hand():
    row = {"calls": 8, "prompt_tokens": 4000, "completion_tokens": 200, "retrievals": 0}
    found = Estimate("by hand", 4, {"a": row, "b": {**row, "calls": 2}})
    scaled = found.scaled(10)
    assert scaled["a"] == {"calls": 20, "prompt_tokens": 10_000, "completion_tokens": 500, "retrievals": 0}
    assert scaled["all"] == {"calls": 25, "prompt_tokens": 20_000, "completion_tokens": 1000, "retrievals": 0}
    assert usd_of(scaled["all"], {"price_in": "0.5", "price_out": 2}) == pytest.approx(0.01 + 0.002)
    assert usd_of(scaled["all"], {}) is None


def test_one_call_a_question_is_estimated_as_such(capsys, files: Path, tmp_path: Path):
    words = ["answer", "--method", "direct", *inputs(files), "--out", tmp_path / "out", "--limit", 5]
    said = dry(capsys, *words, "--price", "in=1,out=2")
    assert said["questions"] == 5 and said["passages"] == 300
    assert said["config"]["limit"] == 5 and said["config"]["set"]["temperature"] is not None
    everything = said["estimate"]["by_purpose"]["all"]
    assert everything["calls"] == 5 and everything["prompt_tokens"] > 0
    assert said["estimate"]["usd"] > 0 and "guess" in said["estimate"]["source"]
    assert not (tmp_path / "out").exists()


def test_options_are_checked_and_a_budget_bounds_the_estimate(capsys, files: Path, tmp_path: Path):
    assert cli.main(["expand", *inputs(files), "--out", str(tmp_path / "out"), "--dry-run", "--set", "k=0"]) == 2
    assert "'k' is 0" in capsys.readouterr().err
    said = dry(capsys, "expand", *inputs(files), "--out", tmp_path / "out", "--set", "max_calls=2")
    free = dry(capsys, "expand", *inputs(files), "--out", tmp_path / "out")
    calls = [row["estimate"]["by_purpose"]["all"]["calls"] for row in (said, free)]
    assert 0 < calls[0] < calls[1] / 5


def test_a_folder_that_holds_a_run_is_named(capsys, files: Path, tmp_path: Path):
    words = ["answer", "--method", "direct", *map(str, inputs(files)), "--out", str(tmp_path / "run"), "--limit", "2"]
    said = []
    for more in (["--dry-run"], [], ["--dry-run"], ["--dry-run", "--overwrite"]):
        assert cli.main([*words, *more]) == 0
        said.append("holds a run: the same options" in capsys.readouterr().out)
    assert said == [False, False, True, False]


def test_what_cannot_be_simulated_has_no_estimate(capsys, files: Path, tmp_path: Path):
    words = ["expand", "--method", "decouple", *inputs(files), "--out", tmp_path / "out"]
    said = dry(capsys, *words, "--value-server", "http://127.0.0.1:9/values?name=v")
    assert said["estimate"]["by_purpose"] is None and "cannot be simulated" in said["estimate"]["source"]


def test_no_connection_is_opened(capsys, server: ModelServer, files: Path, tmp_path: Path):
    words = ["--model", server.url, "--model-name", "m", "--encoder", f"{server.url}?name=e"]
    words += ["--retriever", server.url, "--out", str(tmp_path / "out"), "--dry-run"]
    for task in (["expand"], ["answer"], ["eval", "--methods", "direct,ircot"]):
        assert cli.main([*task, "--questions", str(files / "questions.jsonl"), *words]) == 0
        shown = capsys.readouterr().out
        assert server.url in shown or task[0] == "eval"
        assert "a guess" in shown and "a factor of two or more" in shown
    assert server.requests == [] and server.questions == [] and not (tmp_path / "out").exists()


def test_an_evaluation_estimates_every_run(capsys, files: Path, tmp_path: Path):
    said = dry(capsys, "eval", "--methods", "direct,decex", *inputs(files), "--out", tmp_path / "out")
    direct, decex = said["runs"]
    assert (direct["method"], decex["method"]) == ("direct", "decex")
    assert direct["estimate"]["by_purpose"]["all"]["calls"] == 12
    assert decex["estimate"]["by_purpose"]["all"]["calls"] > 12
    assert said["config"]["methods"] == "direct,decex"
