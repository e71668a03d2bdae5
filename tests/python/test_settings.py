"""The settings of a run: one table for command, Python and docs; and what a run by tasks of Ray decides without Ray."""

import argparse
import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import espalier, expanded, inputs, needs_journal
from espalier.cli import main
from espalier.commands.shared.config import options_of
from espalier.commands.shared.run_options import add_run_options
from espalier.parts import RunSettings
from espalier.runs.ray_run import is_finished, keep
from espalier.runs.settings_table import SETTINGS, addressed

ROOT = Path(__file__).parents[2]


def made() -> dict[Path, str]:
    """What tools/make_settings.py would write."""
    spec = importlib.util.spec_from_file_location("make_settings", ROOT / "tools/make_settings.py")
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool.files()


def test_the_keywords_and_the_page_are_those_of_the_table():
    pytest.importorskip("ruff")
    for file, text in made().items():
        assert file.read_text(encoding="utf-8") == text, "run tools/make_settings.py"


def test_every_option_of_a_run_is_a_setting_with_the_same_name():
    parser = argparse.ArgumentParser()
    add_run_options(parser)
    options = {action.dest: name for name, action in options_of(parser).items()}
    beside = {"help", "config", "price", "match_budget", "json", "dry_run", "allow_failed"}
    assert options.keys() - beside == {name for name, one in SETTINGS.items() if one.option and "?" not in one.option}
    assert all(options[name] == SETTINGS[name].option for name in options.keys() - beside)
    assert RunSettings.__annotations__.keys() == {name for name, one in SETTINGS.items() if one.option}


def test_options_say_their_types_choices_and_defaults():
    parser = argparse.ArgumentParser()
    add_run_options(parser)
    options = options_of(parser)
    assert options["timeout"].type is float and options["timeout"].help == "seconds per attempt (300)"
    assert options["in-flight"].type is int and options["in-flight"].metavar == "N"
    assert options["preset"].choices == ["paper", "code"]
    line = ["--questions", "q", "--out", "o", "--no-journal", "--stream", "--endpoint", "a", "--endpoint", "b"]
    read = parser.parse_args(line)
    assert (read.journal, read.stream, read.overwrite) == (False, True, None)
    assert (read.endpoints, read.models, read.set) == (["a", "b"], [], [])
    with pytest.raises(SystemExit):
        parser.parse_args(["--out", "o"])


def test_a_choice_that_is_none_is_refused_with_those_there_are(tmp_path: Path):
    for name, chosen, allowed in (("api", "soap", "chat, completions"), ("preset", "papper", "paper, code")):
        with pytest.raises(ValueError) as told:
            esp.expand(questions="q.jsonl", corpus="c.jsonl", out=tmp_path / "run", **{name: chosen})
        assert str(told.value) == f"option '{name}' is {chosen}, allowed: {allowed}"


@needs_journal
def test_the_record_names_the_settings_that_decide_trees(files: Path, tmp_path: Path):
    settings = {"questions": files / "questions.jsonl", "corpus": files / "corpus.jsonl", "out": tmp_path / "run"}
    esp.expand(**settings, limit=1, set={"n": 1})
    record = json.loads((tmp_path / "run" / "run.json").read_text(encoding="utf-8"))
    for one in SETTINGS.values():
        if one.record and one.name != "index":  # recorded where it is given
            part = record
            for step in one.record.split("."):
                assert step in part, one.record
                part = part[step]
    assert esp.expand(**settings, limit=1, set={"n": 1}, in_flight=2, timeout=9.0).recognised
    reranked = {"rerank_depth": 9, "reranker": "http://127.0.0.1:9/rerank"}
    for changed in ({"seed": 2}, reranked, {"api": "completions"}, {"set": {"n": 1, "thinking": "on"}}):
        with pytest.raises(ValueError, match="this folder holds a run with another"):
            esp.expand(**settings, **{"limit": 1, "set": {"n": 1}, **changed})


def test_an_address_names_settings_and_keeps_the_rest_of_its_query():
    given = {"reranker": "http://h/rerank?depth=7", "model": "gguf:m.gguf?slots=2"}
    given["encoder"] = "http://h/v1?key=1&name=a%26b&profile=e5"
    assert addressed(given) == {
        "encoder": "http://h/v1?key=1", "encoder_name": "a&b", "encoder_profile": "e5", "reranker": "http://h/rerank",
        "rerank_depth": 7, "model": "gguf:m.gguf?slots=2",
    }  # fmt: skip
    assert addressed(addressed(given)) == addressed(given)
    with pytest.raises(ValueError, match="option 'encoder_name' is given, and 'name' in the address of 'encoder' too"):
        addressed({"encoder": "http://h/v1?name=a", "encoder_name": "a"})
    with pytest.raises(ValueError, match="depth=many is not allowed"):
        addressed({"reranker": "http://h/rerank?depth=many"})


@pytest.mark.parametrize(
    ("task", "chosen", "said"),
    [
        ("annotate", {}, "'annotate' cannot be spread by Ray, allowed: expand, answer"),
        ("expand", {"shard": "1/2"}, "option 'shard' is not allowed with Ray: each shard has its own"),
        ("expand", {"overwrite": True}, "option 'overwrite' is not allowed with Ray"),
        ("answer", {"journal_file": "j"}, "option 'journal_file' is not allowed with Ray"),
        ("expand", {"shards": -1}, "option 'shards' is -1, allowed: 1 or more"),
        ("expand", {"address": "nowhere"}, "option 'ray' is 'nowhere', allowed: auto, local, HOST:PORT"),
        ("expand", {"method": "dec"}, "method"),
    ],
)
def test_what_cannot_be_spread_is_refused(data: Any, tmp_path: Path, task: str, chosen: dict[str, Any], said: str):
    with pytest.raises(ValueError, match=said):
        esp.ray_run(task, **data, constrain="off", out=tmp_path / "out", **chosen)
    assert not (tmp_path / "out").exists()


def test_ray_that_is_not_there_is_named(files, tmp_path, monkeypatch, capsys):
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
    for wrong in (["nowhere"], ["auto", "--shards", "0"], ["auto", "--gpus", "nan"], ["auto", "--gpus", "-1"]):
        assert espalier(*line, "--ray", *wrong, "--dry-run").returncode == 2
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
    fetched, kept = ({file.name: file.read_bytes() for file in folder.iterdir()} for folder in (here, done))
    assert fetched == kept
    (second.with_suffix("") / "answers.jsonl").write_text("")
    again = here.with_name("again") / "shard-1"
    again.parent.mkdir()
    assert not is_finished(again, address), "it is not as the run left it"
