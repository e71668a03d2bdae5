"""Texts that would move the cursor, hide words, reorder them or begin a line: every form, on every way out."""

import json
from html import unescape
from pathlib import Path
from typing import Any
from unicodedata import category

import espalier as esp
import pytest
from conftest import ModelServer, completion, espalier, needs_http, needs_journal
from espalier.errors import one_line
from espalier.eval.formats import to_csv
from espalier.io import terminal, text
from espalier.report.page import json_in_html
from espalier.report.summary import escaped

HOSTILE = (
    *("\x1b[2J\x1b[H", "\x1b]0;owned\x07", "\x1b]8;;http://x\x1b\\y", "\x1bc", "\x9b31m", "\x9d0;x\x9c", "\x90q\x9c"),
    *("\a", "x\b\b", "x\ry", "x\nq9\twhy", "x\r\ny", "x\ty", "x\vy\f", "x\x1cy\x1dz\x1e", "x\x85y", "x\u2028y\u2029"),
    *("\u202egnp.exe\u202c", "\u2067x\u2069", "x\u200fy\u061cz\u200e", "\0x", "x\x7f", "x\u200by\u2060z", "\ufeffx"),
    *("\ufff9x\ufffb", "x\U000e0041\U000e007f", "x\xady", "\u206ax"),
)
SEEN = "Zürich 東京 नमस्ते \\ \"q\" 'q' 😀"  # every way out leaves it as it is


def acting(shown: str) -> str:
    """What acts in a text beside ends of lines."""
    return "".join(c for c in shown if c != "\n" and category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp"))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_a_hostile_text_is_one_visible_line_on_every_way_out(hostile: str, tmp_path: Path, capsys: Any, caplog: Any):
    said = SEEN + hostile + "end"
    for show in (terminal.say, terminal.say_error, terminal.say_cells, terminal.say_json):
        show(said)
    ways = "".join(capsys.readouterr()).splitlines(keepends=True)
    ways += [json_in_html(json.dumps(said, ensure_ascii=False).encode()).decode(), escaped(said), to_csv([said], [])]
    assert json.loads(ways[2]) == json.loads(ways[4]) == said and SEEN in ways[0] == f"{one_line(said)}\n" == ways[1]
    ways += [text.markdown(said), text.latex(said), espalier("expand", "--no-such-option", said).stderr]
    questions = [esp.Question(said, said + name, [said]) for name in "ab"]
    trees = esp.run(esp.Method("direct"), questions, model=lambda asked: [f"{hostile}<answer>{hostile}"] * len(asked))
    made = (esp.Passage(said, said, said), esp.Query(said), esp.Completion(said), esp.Prompt(said))
    ways += map(repr, (*questions, *trees, *trees[0].nodes, *made))
    esp.write_jsonl(tmp_path / "a.jsonl", trees)
    assert [json.loads(line)["question"] for line in (tmp_path / "a.jsonl").read_text().splitlines()] == [said, said]
    failed = esp.errors.BackendError(said, permanent=True)
    with pytest.raises(esp.errors.BackendError) as told:
        esp.run(esp.Method("direct"), questions, model=lambda asked: [failed] * len(asked))
    ways += [str(told.value), *caplog.messages]
    assert caplog.messages and not [way for way in ways if acting(way) or "\n" in way.removesuffix("\n")]
    assert not acting(str(trees[0])) and unescape(ways[5]) == one_line(said)


@needs_http
@needs_journal
def test_no_command_and_no_file_for_people_shows_a_hostile_text_raw(tmp_path: Path, capfd: Any):
    every, c, q, out = "".join(HOSTILE), tmp_path / "c.jsonl", tmp_path / "q.jsonl", tmp_path / "out"
    asked = {f"{n}{every}": f"Who is {n} {every}?" for n in "abc"}
    esp.write_jsonl(q, [{"id": id, "question": text, "golden_answers": [every]} for id, text in asked.items()])
    esp.write_jsonl(c, [{"id": every, "title": every, "contents": f"{every}\nWho is {every}."}])

    def reply(request: dict[str, Any]) -> tuple[int, bytes]:
        if "Who is a " in str(request["messages"]):
            return 400, json.dumps({"error": {"message": every}}).encode()
        return completion(f"{every}<answer>x{every}</answer>" if "Who is b" in str(request["messages"]) else every)

    with ModelServer(reply) as server:
        run = f"--questions {q} --corpus {c} --model {server.url} --model-name m{HOSTILE[1]} --out {out}/"
        for line in (
            "expand ~e", "expand --json ~e", f"expand --dry-run {run}d", "answer ~a", "answer --json ~a",
            f"eval --methods direct,cot {run}v", f"eval --methods cot --json {run}w",
            "journal @/e", "journal @/e --json", "report @/e", "report @/e @/a",
            "rescore @/e --out @/r", "expand --shard 0/1 ~s", "merge @/s --out @/m",
            f"doctor {run.partition(' --out')[0]}", f"index build --corpus {c} --out @/i", "index info @/i",
            "index search --index @/i who --json", f"questions {q} --out @/q.jsonl", f"prompts check @/{HOSTILE[0]}",
        ):  # fmt: skip
            words = line.replace("~", f"--method direct {run}").replace("@", str(out)).split(" ")
            done = espalier(*words)
            shown = done.stdout + done.stderr + "".join(capfd.readouterr())
            assert shown and not acting(shown.replace("\t", "") if line == "answer ~a" else shown), line
            assert "Traceback" not in shown and "\nq9" not in shown, shown  # a row of its own
            assert line != "answer ~a" or done.stdout.count("\n") * 2 == done.stdout.count("\t") == 6
    for file in (file for file in out.rglob("*") if file.suffix in (".html", ".md", ".tex", ".csv", ".jsonl")):
        content = file.read_text(encoding="utf-8")
        assert len(content.splitlines()) == content.count("\n"), file
        assert file.suffix == ".jsonl" or not acting(content), file
