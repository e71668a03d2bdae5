"""llama.cpp in this process: what it answers, and how it fails."""

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from espalier.errors import InputError, UnreadableWarning
from espalier.runs.given import checked

NAME = b"general.architecture\x08\x00\x00\x00\x05\x00\x00\x00\x00\x00\x00\x00llama"


def test_it_answers_side_by_side_under_seeds_and_stops(weights: Path):
    asked = [esp.Prompt("Count from one to ten.", temperature=1.0, max_tokens=12, seed=5, sample=i) for i in range(4)]
    stop = esp.Prompt("What is the capital of France?", max_tokens=40, stop=["Paris"])
    with esp.LlamaCpp(weights, slots=4, context=512) as model:
        replies = model([*asked, stop])
        assert len({reply.text for reply in replies[:4]}) > 1
        assert all(reply.prompt_tokens > 0 and 0 < reply.completion_tokens <= 12 for reply in replies[:4])
        assert replies[4].finish == "length" or replies[4].text.endswith("Paris")
        world = esp.World(passages=50, questions=1)
        with pytest.warns(UnreadableWarning, match="1 of them cut by max_tokens"):
            [tree] = esp.run(esp.Method("direct", set={"max_tokens": 8}, answer=True), world.questions, model=model)
        assert tree.question.id == world.questions[0].id and tree.status == "failed"


def test_an_object_drives_a_run_with_a_folder(weights: Path, two_questions: Path, tmp_path: Path):
    asked: dict[str, Any] = {"method": "direct", "questions": two_questions, "set": {"max_tokens": 8}}
    with esp.LlamaCpp(weights, slots=2, context=512) as model:
        assert checked({"model": model})["open_questions"] == 2
        assert esp.answer(**asked, model=model, out=tmp_path / "out").open == 0
        record = json.loads((tmp_path / "out/run.json").read_text(encoding="utf-8"))["model"]
        assert (record["name"], record["revision"]) == (model.name, model.revision)
    with pytest.raises(ValueError, match=r"another model.revision"):  # a prompt may be too long for one alone
        esp.answer(**asked, model=f"gguf:{weights}", out=tmp_path / "out")
    again = esp.answer(**asked, model=f"gguf:{weights}?context=512", out=tmp_path / "out")
    assert again.recognised and esp.rescore(tmp_path / "out", {}, out=tmp_path / "again").open == 0


def test_a_model_that_was_closed_is_refused(weights: Path, two_questions: Path, tmp_path: Path):
    with esp.LlamaCpp(weights, slots=1, context=512) as model:
        pass
    with pytest.raises(ValueError, match=f"option 'model': {re.escape(model.name)} was closed"):
        esp.answer(method="direct", questions=two_questions, model=model, out=tmp_path / "out")


def test_strangers_are_refused(weights: Path):
    with esp.LlamaCpp(weights, slots=1, context=512) as model:
        address = model.engine.url
        assert address.startswith("http://127.0.0.1:")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(f"{address}/models", timeout=30)
    with pytest.raises(OSError):
        urllib.request.urlopen(f"{address}/models", timeout=5)


def test_bad_files_are_named(weights: Path, tmp_path: Path):
    data = weights.read_bytes()
    assert NAME in data
    unknown, cut = tmp_path / "unknown.gguf", tmp_path / "cut.gguf"
    unknown.write_bytes(data.replace(NAME, NAME.replace(b"llama", b"lambo"), 1))
    cut.write_bytes(data[: len(data) // 2])
    with pytest.raises(InputError, match=r"unknown\.gguf: llama\.cpp cannot load it: .*'lambo'"):
        esp.LlamaCpp(unknown)
    with pytest.raises(InputError, match=r"cut\.gguf: llama\.cpp cannot load it: .*incomplete"):
        esp.LlamaCpp(cut)


def test_the_console_stays_quiet(weights: Path):
    code = (
        "import espalier as esp, sys\n"
        "with esp.LlamaCpp(sys.argv[1], slots=1, context=512) as model:\n"
        "    model([esp.Prompt('Hello', max_tokens=2)])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(weights)],
        capture_output=True,
        text=True,
        env={**os.environ, "http_proxy": "http://127.0.0.1:9"},  # which nobody is to ask
        timeout=300,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_prompt_that_is_too_long_fails_its_question_for_good(weights: Path, two_questions: Path, tmp_path: Path):
    passages = [{"id": f"p{i}", "contents": f"novel\n{'who wrote the first novel ' * 60}"} for i in range(3)]
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text("".join(json.dumps(row) + "\n" for row in passages), encoding="utf-8")
    asked: dict[str, Any] = {
        "method": "standard-rag", "questions": two_questions, "corpus": corpus,
        "model": f"gguf:{weights}?slots=1&context=256&threads=1", "constrain": "off", "set": {"max_tokens": 8},
        "out": tmp_path / "out",
    }  # fmt: skip
    result = esp.answer(**asked)
    rows = [json.loads(line) for line in (tmp_path / "out/answers.jsonl").read_text(encoding="utf-8").splitlines()]
    assert result.open == 0 and [row["status"] for row in rows] == ["failed", "failed"]
    said = r"the prompt has \d+ tokens and the model's context 256: give gguf:FILE\?context=N"
    assert re.search(said, rows[0]["error"])
    assert esp.answer(**asked).recognised and esp.rescore(tmp_path / "out", {}, out=tmp_path / "again").open == 0
