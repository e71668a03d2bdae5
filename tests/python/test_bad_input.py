"""Bad input data: a clear error that names file, line and field, or a recorded failure; nothing half written."""

from __future__ import annotations

import json
import os
from pathlib import Path

import espalier as esp
import pytest
from conftest import espalier, inputs, refused

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
