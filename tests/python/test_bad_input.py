"""Bad input data: a clear error that names file, line and field, or a recorded failure; nothing half written."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import espalier as esp
import pytest
from conftest import espalier, inputs, refused

QUESTION = {"id": "q1", "question": "Who?", "golden_answers": ["A"]}
PASSAGE = {"id": "p1", "title": "T", "contents": "T\ntext"}
BLANK = "espalier: /dev/fd/63: holds 1,000,000 blank lines in a row\n"
FULL = "espalier: standard output: No space left on device\n"


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


def test_what_is_no_file_is_refused_and_nobody_waits_for_it(files: Path, tmp_path: Path):
    words = ["expand", *inputs(files), "--model", "http://127.0.0.1:9/v1", "--model-name", "m", "--out", tmp_path / "o"]
    makers = (os.mkfifo, Path.mkdir, lambda path: path.symlink_to(path), lambda path: path.symlink_to("/dev/zero"))
    places = ["questions/q.jsonl", "questions/q.json", "corpus/c", "config/run.yaml"]
    places += ["api-key-file/k", "prompts/rollout.txt"]
    for number, make in enumerate(makers):
        for place in places if number else places[::5]:  # a pipe without a writer takes five seconds
            path = tmp_path / str(number) / place
            path.parent.mkdir(parents=True, exist_ok=True)
            make(path)
            value = path.parent if "prompts" in place else path
            assert path.name in refused(3, *words, f"--{path.parent.name}", value)


@pytest.mark.parametrize("place", ["none", "file", "empty", "begun", "eval"])
def test_what_is_no_folder_of_a_finished_run_is_called_so(tmp_path: Path, place: str):
    for folder, file in (("begun", "run.json"), ("eval", "eval.json"), ("eval/runs/decex", "a"), ("empty", "")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / (file or "../file")).write_text('{"identity": "i", "method": "decex"}')
    run, out = tmp_path / place, ["--out", tmp_path / "out"]
    with pytest.raises(esp.errors.InputError) as told:
        esp.read_run(run)
    called = {
        "none": "is not there; name",
        "file": "is no folder; name",
        "empty": "holds no finished run (no summary.json); name",
    }
    called |= {"begun": "is not finished; run", "eval": "holds an evaluation; name one of its runs: runs/decex"}
    assert str(told.value).startswith(str(run)) and called[place] in str(told.value)
    said = str(told.value).replace("summary.json", "run.json")
    words = [["rescore", run, "--set", "k=2", *out], ["annotate", run, "--with", "judge"], ["merge", run, *out]]
    words = [["report", run], ["export", run, "--format", "sft.messages", *out], *(words if place != "begun" else [])]
    for command in words:
        assert said in refused(3, *command).replace("summary.json", "run.json")


def test_only_a_file_is_replaced_or_read_more_than_once(files: Path, tmp_path: Path):
    (null, pipe, named), file = (tmp_path / name for name in ("null", "pipe", "named")), tmp_path / "file.jsonl"
    null.symlink_to("/dev/null")
    os.mkfifo(pipe)
    named.symlink_to(file)
    for out in (null, pipe, tmp_path):
        said = refused(3, "questions", files / "questions.jsonl", "--out", out)
        assert f"{out}: cannot be written: it is no file" in said
    assert espalier("questions", files / "questions.jsonl", "--out", named).returncode == 0
    for more in ((), ("--dry-run",)):
        line = ["answer", *inputs(files), "--questions", pipe, "--out", tmp_path / "out", *more]
        assert f"{pipe}: is read more than once, and a named pipe gives its text once" in refused(3, *line)
    assert null.is_char_device() and pipe.is_fifo() and named.is_symlink() and len(list(tmp_path.iterdir())) == 4
    with pytest.raises(OSError, match="pipe"):
        esp.tracking.jsonl(pipe)({}, 0)


def test_a_file_that_was_never_written_is_refused_at_once(files: Path, tmp_path: Path):
    sparse = tmp_path / "sparse.jsonl"
    shutil.copyfile(files / "corpus.jsonl", sparse)
    os.truncate(sparse, 1 << 40)
    for command in (["expand", *inputs(files)[:2]], ["index", "build"], ["expand", "--questions", sparse]):
        said = refused(3, *command, "--corpus", sparse, "--out", tmp_path / "out")
        assert f"{sparse}: cannot be read: more than 1 GiB of it was never written" in said


def test_a_pipe_with_an_end_is_read(files: Path, tmp_path: Path):
    def done(option: str, number: int, *words: object) -> int:
        end, begin = os.pipe()
        os.write(begin, b"".join((files / f"{option}.jsonl").read_bytes().splitlines(keepends=True)[:number]))
        os.close(begin)
        with os.fdopen(end):
            return espalier(*words, f"--{option}", f"/dev/fd/{end}", "--out", tmp_path / str(words[0])).returncode

    run = ["expand", *inputs(files), "--limit", 2]
    assert done("corpus", 12, "index", "build") == 0 == done("corpus", 12, "answer", *run[1:])
    assert done("questions", 3, *run, "--dry-run") == 0 == done("questions", 3, *run)
    assert done("questions", 4, *run) == 2  # another file is another run


def test_deep_configs_and_large_prompts_are_refused(files: Path, tmp_path: Path):
    for name, text in (("deep.json", "[" * 100_000), ("deep.yaml", "a: " + "[" * 100_000)):
        (tmp_path / name).write_text(text)
        assert f"{name}: is nested too deep" in refused(3, "expand", "--config", tmp_path / name)
    (tmp_path / "rollout.txt").write_text("x" * 50_000_000)
    words = ["expand", *inputs(files), "--prompts", tmp_path, "--out", tmp_path / "out"]
    assert "rollout.txt: has more than the 1024 KiB" in refused(3, *words)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of another kind")
@pytest.mark.parametrize("kind", "vd")
def test_too_little_memory_is_said_in_one_line_and_nothing_waits(kind: str):
    begin = ["bash", "-c", f"ulimit -{kind} $0; OPENBLAS_NUM_THREADS=8 {sys.executable} -m espalier.cli --version"]
    for kib in (30_000, 140_000, 240_000, 350_000, 500_000):  # until libraries load, and until they find their room
        done = subprocess.run([*begin, str(kib)], capture_output=True, text=True, timeout=60)
        assert (done.returncode, done.stderr) == [(0, ""), (1, "espalier: too little memory to begin\n")][kib < 300_000]
    assert subprocess.run([*begin, "30000"], stderr=os.open("/dev/full", os.O_WRONLY)).returncode == 1


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        *((line, 0, "") for line in ("options | head -1", "options >&-", "--help | head -1", "index build --help >&-")),
        ("journal /none 2>/dev/full", 3, ""),
        *((f"{line} >/dev/full", 3, FULL) for line in ("options", "--version", "--help", "index build -h")),
        *((f"{line} <(yes '')", 3, BLANK) for line in ("questions --out q", "index build --out i --corpus")),
        ("answer --out o --dry-run --questions <(yes '')", 3, "espalier: /dev/fd/63: holds a mebibyte of blanks\n"),
    ],
)
def test_odd_ends_of_a_line_leave_no_traceback_and_do_not_hang(line: str, code: int, said: str, tmp_path: Path):
    shell = ["bash", "-c", f"set -o pipefail; {sys.executable} -m espalier.cli {line}"]
    done = subprocess.run(shell, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (code, said)
