"""`espalier report`, and the page that it writes."""

import json
import re
from pathlib import Path

import pytest
from conftest import expanded
from espalier import cli
from espalier.errors import InputError
from espalier.report import write_report
from espalier.report.page import FOLDER, SCRIPTS, STYLES, end, json_in_html, script, style
from espalier.report.summary import escaped

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>--><!--]]>"
    "\u2028\u2029\"'&amp;\\ \0\x1b\x7f\u202e end"
)
"""Everything that has ended a script, an attribute, a comment or a CDATA section, and ends of lines or strings."""


def test_the_page_of_one_run_or_two_is_written_where_it_is_said(tmp_path, capsys):
    a, b = (run_of(tmp_path / name, [answer("a", f"answer {name}")]) for name in ("one", "two"))
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
    run = run_of(tmp_path / "a", [answer("a")])
    (run / missing).unlink()
    assert cli.main(["report", str(run)]) == 3
    assert missing in capsys.readouterr().err
    assert not (run / "report.html").exists()


def tree(name, text=HOSTILE):
    """A record with the text in every name and value that a run may choose."""
    return {
        "id": name,
        "question": text,
        "golden_answers": [text],
        "method": text,
        "options": {text: text},
        "documents": {text: {"title": text, "text": text}},
        "nodes": [{"id": 0, "parent": None}, {"id": 1, "parent": 0, "kind": text, "text": text, "reason": text}],
        "rollouts": [{"node": 1, "answer": text}],
        "costs": {text: {}},
    }


def answer(name, text=HOSTILE):
    return {"id": name, "question": text, "answer": text, "status": "done", "error": text}


def pair(name, text=HOSTILE):
    rows = {"id": f"{name}#1>2", "prompt": text, "chosen": text, "rejected": text}
    return {**rows, "provenance": {"tree": name}}


HOSTILE_SUMMARY = {
    "method": HOSTILE, "model": HOSTILE, "oracle": True, HOSTILE: HOSTILE, "by_purpose": {HOSTILE: {HOSTILE: 3}},
    "pruned": {HOSTILE: 2},
}  # fmt: skip


def run_of(folder, answers=(), trees=(), summary=None, **files):
    """A run's folder of these rows."""
    folder.mkdir(exist_ok=True)
    (folder / "summary.json").write_text(json.dumps(summary or {}))
    for name, rows in {"answers": answers, "trees": trees, **files}.items():
        text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text)
    return folder


def page(folder, *rows, other=None, **files):
    write_report(run_of(folder, *rows, **files), folder / "report.html", other)
    return (folder / "report.html").read_text(encoding="utf-8")


def blocks(html, name):
    """The content of every data block of that name."""
    return re.findall(f'<script type="application/json" data-block="{name}">(.*?)</script>', html, re.DOTALL)


def test_text_and_json_lose_every_character_that_markup_could_see():
    assert escaped("a<b>&\"'\0é") == "a&lt;b&gt;&amp;&quot;&#39;\\x00é"
    clean = json_in_html('["</script>&\u2028\u2029\u202a"]'.encode()).decode()
    assert clean == '["\\u003c/script\\u003e\\u0026\\u2028\\u2029\\u202a"]'


def test_no_text_of_a_run_becomes_markup(tmp_path):
    rows = [answer("a"), answer("b")], [tree("a")]
    html = page(tmp_path / "hostile", *rows, summary=HOSTILE_SUMMARY, dpo=[pair("a")])
    clean = page(tmp_path / "clean", [answer("a", ""), answer("b", "")], [tree("a", "")], dpo=[pair("a", "")])
    for piece in ("<script", "</script", "<img", "<!--", "-->", "]]>"):
        assert html.count(piece) == clean.count(piece), piece
    for name in ("answer", "tree", "pairs"):
        assert not re.search("[<>&]", "".join(blocks(html, name)))
    assert "onerror=alert(2)&gt;--&gt;&lt;!--]]&gt;" in html and "&quot;&#39;&amp;amp;" in html and "\0" not in html
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in html  # the summary shows it as text


def test_the_records_in_a_page_read_back_as_they_were(tmp_path):
    html = page(tmp_path, [answer("a"), answer("b"), answer("c")], [tree("a"), tree("c")], dpo=[pair("a"), pair("a")])
    assert [json.loads(block) for block in blocks(html, "answer")] == [answer("a"), answer("b"), answer("c")]
    assert [json.loads(block or "null") for block in blocks(html, "tree")] == [tree("a"), None, tree("c")]
    assert [json.loads(block or "[]") for block in blocks(html, "pairs")] == [[pair("a"), pair("a")], [], []]
    assert html == page(tmp_path, [answer("a"), answer("b"), answer("c")], [tree("a"), tree("c")])


def test_pairs_come_from_prm_where_there_is_no_dpo_and_rows_that_are_no_pairs_stay_out(tmp_path):
    html = page(tmp_path, [answer("a")], [tree("a")], prm=[{"id": "a#4", "provenance": {"tree": "a"}}, pair("a")])
    assert [json.loads(block) for block in blocks(html, "pairs")] == [[pair("a")]]


def test_the_head_says_oracle_and_simulated_model_once_and_so_does_the_title(tmp_path):
    scores = {"questions": 1200, "em": 0.4375, "f1": None, "calls": 1234567}
    counts = {"sub_query": {"calls": 12, "prompt_tokens": 3400, "repairs": 0}}
    summary = {"method": "decex", "simulated": True, "oracle": True, **scores, "seconds": 2.5, "by_purpose": counts}
    html = page(tmp_path, summary=summary | {"pruned": {"not_best": 8, "outvoted": 2}})
    assert "<title>decex on 1,200 questions: oracle, simulated model \u00b7" in html
    assert "<b>43.8 %</b>" in html and 'width="438"' in html and "<b>\u2013</b>" in html and "<b>1,234,567</b>" in html
    assert "<td>sub query</td><td>12</td><td>3,400</td></tr>" in html and "<td>not best</td><td>8</td>" in html
    assert '<rect class="bar" width="250"' in html  # outvoted beside not_best: 2 of 8
    assert html.count("<b>oracle</b>") == html.count("<b>simulated model</b>") == 1 and "span>simulated" not in html
    assert "2.5" not in html.split("<script>")[0][-9000:]
    own = page(tmp_path, summary={"method": "decex", "model": "qwen", "oracle": False, "em": 0.5})
    assert "questions \u00b7 Espalier</title>" in own and 'class="badge"' not in own
    run_of(tmp_path / "other", summary=summary | {"oracle": False})
    both = page(tmp_path, summary={"method": "decex", "model": "qwen", "em": 0.5}, other=tmp_path / "other")
    assert "questions: simulated model \u00b7 Espalier</title>" in both  # that of the second run
    (tmp_path / "summary.json").write_text("[1]")
    with pytest.raises(InputError, match="summary"):
        write_report(tmp_path, tmp_path / "report.html")


def test_the_page_lets_its_own_script_run_and_nothing_else(tmp_path):
    html = page(tmp_path).replace("http://www.w3.org/2000/svg", "")  # the name of a language, which nothing loads
    assert "default-src 'none'; script-src 'sha256-" in html and len(html) < 131_072
    for piece in ("unsafe-inline", "unsafe-eval", " src=", " href=", "url(", "@import", "innerHTML", "eval("):
        assert piece not in html
    assert not re.search(" style=|https?://", html)
    for text in (script(), style()):
        assert text.isascii() and b"</" not in text
    assert {file.stem for file in (FOLDER / "script").iterdir()} == set(SCRIPTS)
    assert {file.stem for file in (FOLDER / "style").iterdir()} == set(STYLES)


def test_a_heavy_page_says_so():
    assert b"It holds 23 MB" in end(23_400_000) and b"It holds" not in end(20_000_000)


def test_a_second_run_stands_beside_the_first_whatever_its_order(tmp_path):
    rows = [answer("a"), answer("b")], [tree("a"), tree("b")]
    other = run_of(tmp_path / "other", [answer("c"), answer("a")], [tree("a")], HOSTILE_SUMMARY)
    html = page(tmp_path / "run", *rows, other=other)
    assert [json.loads(block or "null") for block in blocks(html, "other_answer")] == [answer("a"), None]
    assert [json.loads(block or "null") for block in blocks(html, "other_tree")] == [tree("a"), None]
    (runs,) = blocks(html, "runs")
    assert not re.search("[<>&]", runs)
    assert json.loads(runs)[1] == {"name": "other", "questions": 2, "summary": HOSTILE_SUMMARY}


@pytest.mark.parametrize(
    ("answers", "trees", "file"),
    [
        ('{"id":"a"}\n', '{"id":"other"}\n', "trees.jsonl"),
        ('{"id":"a"}\n', '{"id":\n', "trees.jsonl"),
        ('{"id":"a"}\n', '{"id":"a","nodes":\n', "trees.jsonl"),
        ('{"id":"a"}\n{"id":\n', '{"id":"a"}\n', "answers.jsonl"),  # behind the last tree
    ],
)
def test_records_that_do_not_belong_together_are_refused_by_file(tmp_path, answers, trees, file):
    run_of(tmp_path)
    (tmp_path / "answers.jsonl").write_text(answers)
    (tmp_path / "trees.jsonl").write_text(trees)
    with pytest.raises(InputError, match=file):
        write_report(tmp_path, tmp_path / "report.html")
    assert not list(tmp_path.glob("report.html*"))
