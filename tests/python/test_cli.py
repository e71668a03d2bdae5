"""The command line: files, summaries, exit codes."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import espalier as esp
import pytest
from conftest import FILES, JOURNAL, contents, espalier, good, in_own_process, inputs, needs_journal, refused, rows
from espalier import _core, cli


@pytest.fixture(scope="module")
def finished(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "out"
    done = in_own_process("expand", *inputs(files), "--out", out)
    assert done.returncode == 0, done.stderr
    assert "simulated" in done.stdout and "oracle" in done.stdout and str(out / "report.html") in done.stdout
    return out


def test_a_run_writes_all_its_files(finished: Path, world: esp.World):
    written = {path.name for path in finished.iterdir()}
    assert {*FILES, "costs.jsonl", "summary.json", "report.html", "run.json"} <= written
    assert ("journal.sqlite" in written) == JOURNAL
    assert not [name for name in written if name.endswith(".part")]
    ids = [question.id for question in world.questions]
    for name in ("trees.jsonl", "answers.jsonl", "costs.jsonl"):
        assert [row["id"] for row in rows(finished / name)] == ids
    answers = rows(finished / "answers.jsonl")
    assert list(answers[0]) == [
        *("id", "question", "answer", "status", "error", "em", "f1", "acc"),
        *("completions", "prompt_tokens", "completion_tokens", "retrievals"),
    ]
    summary = json.loads((finished / "summary.json").read_text())
    assert summary["simulated"] is True and summary["oracle"] is True and summary["open"] == 0
    assert summary["f1"] == pytest.approx(sum(row["f1"] for row in answers) / len(answers))
    assert summary["calls"] == sum(row["completions"] for row in answers)
    assert rows(finished / "sft.jsonl") and rows(finished / "dpo.jsonl")


def test_the_trees_can_be_read_and_give_the_same_rows(finished: Path):
    trees = esp.read_trees(finished / "trees.jsonl")
    assert [tree.to_row() for tree in trees] == rows(finished / "answers.jsonl")
    assert esp.sft_rows(trees) == rows(finished / "sft.jsonl")
    assert esp.dpo_pairs(trees) == rows(finished / "dpo.jsonl")


def test_python_and_the_command_line_write_the_same_bytes(finished: Path, data: dict[str, Path], tmp_path: Path):
    told = []
    result = esp.expand(**data, out=tmp_path, in_flight=7, progress=told.append)
    assert contents(tmp_path) == contents(finished)
    assert result.open == 0 and not result.recognised and result.out == tmp_path
    assert told[-1].questions_done == told[-1].questions == 12 and told[-1].calls == result.summary["calls"]


@pytest.mark.parametrize("journal", [JOURNAL, False])
@pytest.mark.parametrize(("in_flight", "open_questions"), [(1, 1), (7, 3), (1000, 1000)])
def test_execution_changes_no_byte(finished, files, tmp_path, in_flight, open_questions, journal):
    more = ["--in-flight", in_flight, "--open-questions", open_questions, *([] if journal else ["--no-journal"])]
    good("expand", *inputs(files), "--out", tmp_path, *more)
    assert (tmp_path / "journal.sqlite").exists() == journal
    assert contents(tmp_path) == contents(finished)
    summaries = [(out / "summary.json").read_bytes().partition(b'"seconds"')[0] for out in (tmp_path, finished)]
    assert summaries[0] == summaries[1]


def test_a_finished_run_is_recognised(finished: Path, files: Path):
    before = {path.name: path.stat().st_mtime_ns for path in finished.iterdir()}
    again = espalier("expand", *inputs(files), "--out", finished, "--in-flight", 3)
    assert again.returncode == 0 and "finished before" in again.stdout
    assert {path.name: path.stat().st_mtime_ns for path in finished.iterdir() if path.name in before} == before


CHANGES = {"--set k=2": "options.k", "--seed 2": "seed", "--limit 3": "limit", "--model-revision b": "revision"}


@pytest.mark.parametrize(("change", "name"), CHANGES.items())
def test_a_changed_search_option_is_refused_by_name(finished: Path, files: Path, change: str, name: str):
    said = refused(2, "expand", *inputs(files), "--out", finished, *change.split())
    assert name in said and "overwrite" in said


@needs_journal
def test_overwrite_starts_over_and_keeps_the_journal(files: Path, tmp_path: Path):
    good("expand", *inputs(files), "--out", tmp_path, "--limit", 3)
    good("expand", *inputs(files), "--out", tmp_path, "--limit", 4, "--overwrite")
    assert len(rows(tmp_path / "answers.jsonl")) == 4
    assert sum(row["cached"] for row in rows(tmp_path / "costs.jsonl")) > 0


@pytest.mark.parametrize("inference", ["policy", "expansion"])
def test_answer_prints_a_line_a_question_and_sees_no_gold(files: Path, tmp_path: Path, inference: str):
    bare = tmp_path / "bare.jsonl"
    esp.write_jsonl(bare, [{"id": r["id"], "question": r["question"]} for r in rows(files / "questions.jsonl")])
    given = ["--questions", bare, "--corpus", files / "corpus.jsonl", "--set", f"inference={inference}"]
    done = in_own_process("answer", *given, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    answers = rows(tmp_path / "out" / "answers.jsonl")
    assert lines == [[row["id"], row["question"], row["answer"] or ""] for row in answers]
    assert all(row["em"] is None and row["status"] == "done" for row in answers)
    assert "simulated" in done.stderr and "oracle" not in done.stderr
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["oracle"] is False
    assert not {path.name for path in (tmp_path / "out").iterdir()} & {"sft.jsonl", "dpo.jsonl"}
    assert "EM" not in done.stderr


def test_answer_scores_in_percent_where_the_file_holds_gold(files: Path, tmp_path: Path):
    done = good("answer", *inputs(files), "--out", tmp_path / "a")
    answers, summary = rows(tmp_path / "a/answers.jsonl"), json.loads((tmp_path / "a/summary.json").read_text())
    mean = sum(row["f1"] for row in answers) / len(answers)
    assert 0 < mean < 1 and summary["f1"] == pytest.approx(mean) and not summary["oracle"]
    assert f"F1 {100 * mean:.1f} %" in done.stderr and "EM " in done.stderr
    assert done.stderr.endswith(f"\nReport: {tmp_path}/a/report.html\n")
    some = rows(files / "questions.jsonl")
    some[3]["golden_answers"] = []
    esp.write_jsonl(tmp_path / "some.jsonl", some)
    good("answer", "--questions", tmp_path / "some.jsonl", *inputs(files)[2:], "--out", tmp_path / "b")
    again = rows(tmp_path / "b/answers.jsonl")  # a score of some questions would be no score of the file
    assert json.loads((tmp_path / "b/summary.json").read_text())["f1"] is None and again[3]["f1"] is None
    assert [row["answer"] for row in again] == [row["answer"] for row in answers] and again[4] == answers[4]


def test_methods_are_listed_with_what_they_ask_and_make():
    listed = {row["method"]: row for row in json.loads(good("methods", "--json").stdout)}
    assert list(listed) == _core.method_names() and all(row["about"] and row["asks"] for row in listed.values())
    assert listed["reasonrag"]["makes"] == ["dpo.jsonl"] and listed["cot"]["makes"] == []
    table = good("methods").stdout
    assert len(table.splitlines()) == len(listed) + 2 and max(map(len, table.splitlines())) < 240


def test_answer_sees_no_gold_that_is_in_the_file(files: Path, tmp_path: Path):
    own = good("answer", *inputs(files), "--out", tmp_path / "a", "--set", "sim.recall=0", "--json")
    assert json.loads(own.stdout.splitlines()[0])["id"] == "wq-0000000"
    for line in (tmp_path / "a/trees.jsonl").read_text(encoding="utf-8").splitlines():
        assert json.loads(line)["golden_answers"] == [] and not json.loads(line)["oracle"]


def test_a_method_that_has_nothing_to_search_is_refused_at_once_unless_it_never_searches(files: Path, tmp_path: Path):
    given = [*inputs(files)[:2], *inputs(files)[4:], "--limit", 2]
    for more in ([], ["--dry-run"]):
        said = refused(2, "answer", "--method", "standard-rag", *given, "--out", tmp_path / "rag", *more)
        assert "name a --corpus, an --index or the URL of a --retriever" in said
        assert not (tmp_path / "rag").exists()
    good("answer", "--method", "direct", *given, "--out", tmp_path / "direct")


def test_json_prints_the_summary(files: Path, tmp_path: Path):
    done = in_own_process("expand", *inputs(files), "--out", tmp_path, "--limit", 2, "--json")
    assert json.loads(done.stdout) == json.loads((tmp_path / "summary.json").read_text())
    assert done.stderr == ""


def test_a_world_is_that_of_its_seed(tmp_path: Path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        made = espalier("world", "--out", tmp_path / name, "--passages", 120, "--questions", 5, "--seed", seed)
        assert made.returncode == 0 and "120 passages" in made.stdout
    read = {name: (tmp_path / name / "questions.jsonl").read_bytes() for name in "abc"}
    assert read["a"] == read["b"] != read["c"] and len(rows(tmp_path / "a" / "corpus.jsonl")) == 120


def test_version_names_the_parts_that_are_there_and_those_left_out(capsys, monkeypatch):
    assert cli.main(["--version"]) == 0
    out = capsys.readouterr().out
    assert f"espalier {esp.__version__}" in out and "espalier-rag" in out
    info = {**esp.doctor.build_info(), "parts": {"http": "libcurl4-openssl-dev was not found", "journal": None}}
    monkeypatch.setattr(cli._core, "build_info", lambda: info)
    cli.main(["--version"])
    out = capsys.readouterr().out
    assert "parts: journal" in out and "left out: http (libcurl4-openssl-dev was not found)" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "which command?"),
        (["help"], "espalier: unknown command 'help': `espalier --help` lists them"),
        (["options", "--method", "decex-rag"], "espalier: unknown method 'decex-rag', did you mean 'decex'?"),
        (["options", "--method", "dcx"], "espalier: unknown method 'dcx', did you mean 'decex'?"),
        (["prompts", "show", "--method", "nope"], "unknown method 'nope', `espalier methods` lists them"),
        (["expand"], "--questions, --out"),
        (["expand", "--questions", "q", "--out", "o", "--limit", "many"], "--limit"),
        (["expand", "--questions", "q", "--out", "o", "--set", "k"], "--set takes OPTION=VALUE, not 'k'"),
        (["expand", "--questions", "q", "--out", "o", "--method", "decexx"], "did you mean 'decex'?"),
        (["expand", "--questions", "q", "--out", "o", "--in-flight", "0"], "in-flight"),
        (["expand", "--questions", "q", "--out", "o", "--limit", "-1"], "'limit' cannot be -1"),
        (["expand", "--questions", "q", "--out", "o", "--set", "thresold=0.5"], "did you mean 'threshold'?"),
        (["expand", "--questions", "q", "--out", "o", "--set", "threshold=7"], "'threshold' is 7"),
        (["expand", "--questions", "q", "--out", "o", "--set", "k=0"], "'k' is 0, allowed: 1 or more"),
        (["expand", "--questions", "q", "--out", "o", "--set", "k=three"], "'k' is three"),
        (["expand", "--questions", "q", "--out", "o", "--method", "airrag", "--prune", "keep:top_k:1"], "no moment"),
        (["world", "--out", "w", "--passages", "1"], "'passages' is 1"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert message in refused(2, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_debug_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("ESPALIER_DEBUG", "1")
    with pytest.raises(ValueError):
        cli.main(["expand", "--questions", "q", "--out", "o", "--set", "k=0"])


def test_a_terminal_shows_a_bar(files: Path, tmp_path: Path):
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "espalier.cli", "expand", *inputs(files), "--out", str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=slave)
    os.close(slave)
    shown = b""
    while True:
        try:
            chunk = os.read(master, 65536)
        except OSError:  # the other side is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(master)
    assert process.wait(timeout=60) == 0
    assert b"questions" in shown and b"calls" in shown


def test_progress_lines_come_every_ten_seconds():
    import io

    from espalier.runs.progress import Bar, Lines, describe, eta

    class Told:
        questions_done, questions, calls, tokens, best_reward, seconds = 3, 12, 1234, 5678, 0.5, 0.0
        trouble, probes = "", None

    told, stream = Told(), io.StringIO()
    lines, bar = Lines(stream), Bar(io.StringIO())
    for second in range(0, 35):
        told.seconds = float(second)
        lines(told)
        bar(told)
    assert len(stream.getvalue().splitlines()) == 3
    told.seconds = 10.0
    assert eta(3, 12, 10.0) == "0:30" and eta(1, 361, 20.0) == "2:00:00" and eta(0, 12, 10.0) == "?"
    assert describe(told) == "3/12 questions, 1,234 calls, 5,678 tokens, 123 calls/s, best reward 0.500, ETA 0:30"
    told.tokens = 0
    assert describe(told) == "3/12 questions, 1,234 calls, 123 calls/s, best reward 0.500, ETA 0:30"
    told.probes = 6
    assert describe(told) == "probing which prompts need a grammar, 6 probes answered"
