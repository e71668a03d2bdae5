"""Options in files: what --config reads, and what a run writes beside its results. And what a dry
run says: the options, the questions, an estimate and what it rests on."""

import json
import sys
from pathlib import Path

import espalier as esp
import pytest
from conftest import JOURNAL, ModelServer, contents, espalier, good, inputs, refused, rows
from espalier import cli
from espalier.commands.shared.config import commands_of, given, with_config
from espalier.commands.shared.run_options import settings_of
from espalier.runs.estimate import Estimate, usd_of


def line(*words: object) -> list[str]:
    return with_config(cli.make_parser(), [str(word) for word in words])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "run.json"


def test_a_file_says_what_a_line_would_say(file: Path):
    given = {
        "command": "expand", "questions": "q.jsonl", "limit": 3, "timeout": 1.5, "no_journal": True,
        "overwrite": False, "server": None, "endpoint": ["http://a/v1*2", "http://b/v1"],
        "model-for": {"rollout": "http://c/v1,name"},
        "set": {"threshold": 0.5, "always_expand_both": True, "search": "pruned"}, "extra-body": {"top_k": 5},
    }  # fmt: skip
    file.write_text(json.dumps(given))
    words = line("expand", "--config", file, "--out", "o")
    assert words == [
        "expand",
        *("--questions=q.jsonl", "--limit=3", "--timeout=1.5", "--no-journal"),
        *("--endpoint=http://a/v1*2", "--endpoint=http://b/v1", "--model-for=rollout=http://c/v1,name"),
        *("--set=threshold=0.5", "--set=always_expand_both=true", "--set=search=pruned", '--extra-body={"top_k": 5}'),
        *("--config", str(file), "--out", "o"),
    ]
    read = cli.make_parser().parse_args(words)
    assert (read.limit, read.timeout, read.journal, read.overwrite, read.out) == (3, 1.5, False, None, "o")


def test_options_on_the_line_win(file: Path):
    file.write_text(json.dumps({"limit": 3, "set": {"k": 2, "n": 5}, "endpoint": "http://a/v1", "questions": "q"}))
    words = line("expand", f"--config={file}", "--limit", 4, "--set", "k=7", "--endpoint=http://b/v1", "--out", "o")
    read = cli.make_parser().parse_args(words)
    settings = settings_of(read)
    assert settings["limit"] == 4 and settings["set"] == {"k": "7", "n": "5"}
    assert settings["endpoints"] == ["http://b/v1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"modle": "x"}', "unknown key 'modle', did you mean 'model'?"),
        ('{"zzzzz": 1}', "unknown key 'zzzzz'"),
        ('{"config": "other.json"}', "unknown key 'config'"),
        ('{"limit": "many"}', "key 'limit': 'many' is not allowed"),
        ('{"limit": [1]}', "key 'limit': must be text or a number, not [1]"),
        ('{"preset": "papper"}', "key 'preset': 'papper' is not allowed, allowed: paper, code"),
        ('{"set": ["k=1"]}', "key 'set': must be a mapping"),
        ('{"set": {"k": {"a": 1}}}', "key 'set': k: must be text or a number"),
        ('{"no-journal": "yes"}', "key 'no-journal': must be true or false"),
        ('{"limit": 1, "limit": 2}', "key 'limit' is there twice"),
        ("[1]", "must be a mapping"),
        ("{", "Expecting property name"),
    ],
)
def test_a_bad_file_is_named_with_its_key(file: Path, capsys, text: str, message: str):
    file.write_text(text)
    assert cli.main(["expand", "--config", str(file)]) == 3
    err = capsys.readouterr().err
    assert f"{file}: " in err and message in err and len(err.splitlines()) == 1


def test_a_file_that_is_absent_or_no_text_is_named(tmp_path: Path, capsys):
    (tmp_path / "bytes.json").write_bytes(b"\xff\xfe")
    for name in ("none.yaml", "bytes.json"):
        assert cli.main(["answer", "--config", str(tmp_path / name)]) == 3
        assert name in capsys.readouterr().err


def test_yaml_reads_as_json_does(tmp_path: Path, capsys):
    pytest.importorskip("yaml")
    file = tmp_path / "run.yaml"
    file.write_text("questions: q.jsonl\nset:\n  threshold: 0.5\n  thinking: on\nno-journal: true\n")
    words = line("expand", "--config", file)
    assert words[1:5] == ["--questions=q.jsonl", "--set=threshold=0.5", "--set=thinking=on", "--no-journal"]
    wrong = {"limit: 1\nlimit: 2\n": "key 'limit' is there twice", "a: [": "while parsing"}
    wrong["a: !!python/object/apply:os.getcwd []"] = "could not determine a constructor"
    for bad, message in wrong.items():
        file.write_text(bad)
        assert cli.main(["expand", "--config", str(file)]) == 3
        assert message in capsys.readouterr().err


def test_yaml_without_its_library_names_the_extra(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "yaml", None)
    (tmp_path / "run.yaml").write_text("limit: 1\n")
    assert cli.main(["expand", "--config", str(tmp_path / "run.yaml")]) == 2
    assert "pip install pyyaml" in capsys.readouterr().err


def test_a_run_can_be_repeated_from_its_config(files: Path, tmp_path: Path):
    good("expand", *inputs(files), "--out", tmp_path / "a", "--limit", 3, "--set", "k=2", "--seed", 4)
    config = json.loads((tmp_path / "a" / "config.json").read_text())
    assert config["command"] == "expand" and config["limit"] == 3 and config["seed"] == 4
    options = json.loads((tmp_path / "a" / "run.json").read_text())["options"]
    assert config["set"] == {name: value for name, value in options.items() if value is not None}
    good("expand", "--config", tmp_path / "a" / "config.json", "--out", tmp_path / "b")
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    here = espalier("expand", "--config", tmp_path / "a" / "config.json")
    assert "finished before" in here.stdout
    assert "options.k" in refused(2, "expand", "--config", tmp_path / "a" / "config.json", "--set", "k=3")
    assert json.loads((tmp_path / "a" / "config.json").read_text()) == config


def test_no_secret_of_an_address_is_kept():
    parser = cli.make_parser()
    words = ["expand", "--questions", "q", "--out", "o", "--model", "https://me:p@ss@host:1/v1?key=secret#x"]
    words += ["--endpoint", "http://u:secret@h/v1*2"]
    words += ["--model-for", "rollout=http://u:secret@h/v1?secret,name", "--encoder", "HTTP://secret@e/embed"]
    words += ["--reranker", "http://secret@r/rerank?key=secret&name=a/b&depth=9"]
    words += ["--retriever", "http://u:secret@r/retrieve", "--values", "http://secret@v/value?secret"]
    config = given(commands_of(parser)["expand"], parser.parse_args(words))
    assert "secret" not in json.dumps(config) and "p@ss" not in json.dumps(config)
    assert config["retriever"] == "http://r/retrieve" and config["values"] == "http://v/value"
    assert config["reranker"] == "http://r/rerank?name=a/b&depth=9"
    assert config["model"] == "https://host:1/v1" and config["endpoint"] == ["http://h/v1*2"]
    assert config["model-for"] == {"rollout": "http://h/v1,name"}


def test_what_is_no_address_is_kept_as_it_is():
    parser = cli.make_parser()
    body = '{"image": "https://host/picture?size=1"}'
    words = ["expand", "--questions", "a@b/c?d.jsonl", "--out", "o", "--extra-body", body, "--set", "x=ftp://h/a?b#c"]
    config = given(commands_of(parser)["expand"], parser.parse_args(words))
    assert config["extra-body"] == body and config["set"] == {"x": "ftp://h/a?b#c"}
    assert config["questions"] == "a@b/c?d.jsonl"


@pytest.mark.parametrize("body", ['{"headers": {"Authorization": "hunter2"}}', '["hunter2"]', '{"api_key": "hunter2"'])
@pytest.mark.parametrize("command", [["expand"], ["answer", "--dry-run"], ["eval", "--methods", "direct"]])
def test_a_key_in_extra_body_is_refused_and_neither_kept_nor_shown(files: Path, tmp_path: Path, capsys, command, body):
    settings = tmp_path / "run.json"
    settings.write_text(json.dumps({"extra-body": body}))
    out = tmp_path / "out"
    for line in (["--extra-body", body], ["--config", str(settings)]):
        assert cli.main([*command, *inputs(files), "--out", str(out), *line]) == 2
        said = capsys.readouterr()
        assert "'extra_body'" in said.err and "hunter2" not in said.out + said.err and not out.exists()


def test_an_extra_body_may_be_a_mapping(files: Path, tmp_path: Path, capsys):
    settings = tmp_path / "run.yaml"
    settings.write_text("extra-body: {password: hunter2}\n")
    assert cli.main(["expand", *inputs(files), "--out", str(tmp_path / "out"), "--config", str(settings)]) == 2
    assert "the field 'password'" in capsys.readouterr().err
    data = {"questions": files / "questions.jsonl", "corpus": files / "corpus.jsonl", "limit": 1, "journal": JOURNAL}
    with pytest.raises(ValueError, match="the field 'password'"):
        esp.answer(**data, out=tmp_path / "out", extra_body={"password": "hunter2"})
    esp.answer(**data, out=tmp_path / "out", extra_body={"top_k": 5})
    assert json.loads((tmp_path / "out" / "run.json").read_text())["model"]["extra_body"] == '{"top_k": 5}'


def test_an_evaluation_keeps_its_config(files: Path, tmp_path: Path):
    arguments = ["--methods", "direct,cot", "--out", tmp_path, "--limit", 2, "--set", "direct.temperature=0"]
    good("eval", *inputs(files), *arguments)
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["methods"] == "direct,cot" and config["set"] == {"direct.temperature": "0"}
    good("eval", "--config", tmp_path / "config.json", "--out", tmp_path / "again")
    for name in ("direct", "cot"):
        one, other = (folder / "runs" / name / "answers.jsonl" for folder in (tmp_path, tmp_path / "again"))
        assert rows(one) == rows(other)


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
    said = dry(capsys, *words, "--values", "http://127.0.0.1:9/values?name=v")
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
