"""Bad input data: a clear error that names file, line and field, or a recorded failure; nothing half written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import espalier as esp
import pytest
from conftest import ModelServer, completion, espalier, inputs, refused, rows

QUESTION = {"id": "q1", "question": "Who?", "golden_answers": ["A"]}
PASSAGE = {"id": "p1", "title": "T", "contents": "T\ntext"}


def lines(*objects: object) -> bytes:
    return b"".join((o if isinstance(o, bytes) else json.dumps(o).encode()) + b"\n" for o in objects)


@pytest.mark.parametrize(
    ("name", "content", "where"),
    [
        ("questions", None, ": cannot be read"),
        ("questions", lines(QUESTION, b"{oops"), ":2: is not JSON"),
        ("questions", lines(QUESTION, {**QUESTION, "id": "q2", "question": 5}), ":2: field 'question': is not a text"),
        ("corpus", None, ": cannot be read"),
        ("corpus", lines(PASSAGE, PASSAGE), ":2: field 'id': 'p1'"),
    ],
)
def test_bad_files_are_named_by_line_and_field(tmp_path: Path, name: str, content: bytes | None, where: str):
    for file, good in (("questions", lines(QUESTION)), ("corpus", lines(PASSAGE))):
        if file != name or content is not None:
            (tmp_path / f"{file}.jsonl").write_bytes(content if file == name and content else good)
    done = espalier("expand", *inputs(tmp_path), "--out", tmp_path / "out")
    assert done.returncode == 3 and f"{name}.jsonl{where}" in done.stderr, done.stderr
    assert len(done.stderr.splitlines()) == 1 and done.stdout == ""
    assert not (tmp_path / "out" / "trees.jsonl").exists()
    if name == "questions":
        with pytest.raises(esp.errors.InputError):
            esp.read_questions(tmp_path / "questions.jsonl", require_gold=True)


@pytest.mark.skipif(os.geteuid() == 0 and not Path("/proc").is_dir(), reason="needs a place where nobody can write")
def test_an_output_that_cannot_be_written_is_named(files: Path, tmp_path: Path):
    (tmp_path / "file").write_text("in the way")
    for out in (tmp_path / "file", tmp_path / "file" / "below", Path("/proc/espalier")):
        assert str(out) in refused(3, "expand", *inputs(files), "--out", out)
        assert str(out) in refused(3, "world", "--out", out, "--passages", 50, "--questions", 1)
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize("text", ["<step>another method</step><conclude>42</conclude>", ""])
def test_a_completion_without_its_tags_is_a_recorded_failure(files: Path, tmp_path: Path, text: str):
    with ModelServer(lambda request: completion(text)) as server:
        done = espalier(
            "expand", *inputs(files), "--limit", 2, "--model", server.url, "--model-name", "m", "--out", tmp_path
        )
    assert done.returncode == 4 and "could not be read" in done.stderr.splitlines()[-1], done.stderr
    answers = rows(tmp_path / "answers.jsonl")
    assert [(row["status"], row["answer"], row["em"]) for row in answers] == [("failed", None, 0)] * 2
    assert answers[0]["completions"] == 9  # k = 3 samples, each drawn again twice
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["null_predictions"] == 2 and summary["pruned"]["malformed"] > 0
    for tree in rows(tmp_path / "trees.jsonl"):
        assert {node["text"] for node in tree["nodes"][1:]} == {text}
