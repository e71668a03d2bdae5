"""`espalier report`, and the page's sources."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import expanded
from espalier import cli

ROOT = Path(__file__).resolve().parent.parent.parent


def test_style_and_script_in_the_header_are_those_of_tools():
    checked = subprocess.run(
        [sys.executable, ROOT / "tools" / "make_report.py", "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def write_run(folder: Path, answer: str) -> Path:
    folder.mkdir()
    (folder / "answers.jsonl").write_text(json.dumps({"id": "a", "question": "Q?", "answer": answer, "status": "done"}))
    (folder / "trees.jsonl").write_text("")
    (folder / "summary.json").write_text(json.dumps({"method": "decex", "questions": 1}))
    return folder


def test_the_page_of_one_run_or_two_is_written_where_it_is_said(tmp_path, capsys):
    a, b = write_run(tmp_path / "a", "answer one"), write_run(tmp_path / "b", "answer two")
    assert cli.main(["report", str(a)]) == 0
    alone = (a / "report.html").read_text(encoding="utf-8")
    assert "answer one" in alone and "answer two" not in alone
    assert cli.main(["report", str(a), str(b), "--json"]) == 0
    both = Path(json.loads(capsys.readouterr().out.splitlines()[-1])["report"])
    assert both == a / "compared.html" and "answer two" in both.read_text(encoding="utf-8")
    assert cli.main(["report", str(a), str(b), "--out", str(tmp_path / "c.html")]) == 0
    assert (tmp_path / "c.html").read_text(encoding="utf-8") == both.read_text(encoding="utf-8")


def test_runs_of_equal_trees_have_equal_pages(files, tmp_path):
    for name, in_flight in (("slow", 1), ("fast", 64)):
        run = expanded(files, tmp_path / name, limit=4, in_flight=in_flight)
        assert run.summary["seconds"] > 0
    assert (tmp_path / "slow" / "report.html").read_bytes() == (tmp_path / "fast" / "report.html").read_bytes()


@pytest.mark.parametrize("missing", ["answers.jsonl", "trees.jsonl", "summary.json"])
def test_a_folder_without_a_run_is_refused_by_file(tmp_path, capsys, missing):
    run = write_run(tmp_path / "a", "answer one")
    (run / missing).unlink()
    assert cli.main(["report", str(run)]) == 3
    assert missing in capsys.readouterr().err
    assert not (run / "report.html").exists()
