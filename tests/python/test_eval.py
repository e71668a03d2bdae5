"""Methods side by side: plans, scores, tables, resuming, two runs, and the statistics against numbers by hand."""

import csv
import io
import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import espalier as esp
import numpy as np
import pytest
from conftest import ModelServer, completion, espalier, good, inputs, needs_journal, refused, rows, sensible
from espalier import _core
from espalier.eval import compare, evaluate, formats, metric_profiles, plots, score, statistics
from espalier.eval.budget import budget_report
from espalier.eval.plan import make_plan
from espalier.eval.results import replies
from espalier.eval.scores import cost_of, retrieval_scores
from espalier.eval.tables import p_value, replies_table, tables
from espalier.io import text

METHODS = "direct,decex,standard-rag"
FILES = ("eval.json", "scores.jsonl", "table.md", "table.csv", "table.tex", "hops.csv")


def settings(files: Path, out: Path, **more: Any) -> dict[str, Any]:
    journal = {} if "--no-journal" not in inputs(files) else {"journal": False}
    return {"questions": files / "questions.jsonl", "corpus": files / "corpus.jsonl", "out": out, **journal, **more}


def test_broken_grammars_and_thoughts_have_columns_of_their_own():
    plain = {"calls": 4, "readable": 3}
    costs = {"policy": {**plain, "grammar_broken": 1, "thinking_tokens": 1234}, "judge": plain}
    run = {"name": "m", "status": "done", "point": None, "replies": replies({"by_purpose": costs})}
    table = replies_table({"runs": [run]})
    assert table.header == ["method", "purpose", "calls", "readable", "grammar broken", "thinking tokens"]
    assert [row[-2:] for row in table.rows] == [["1", "1,234"], ["0", "0"], ["1", "1,234"]]


@pytest.fixture(scope="module")
def finished(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("eval") / "out"
    swept = ["--sweep", "decex.documents=1,3", "--budget", "calls=30", "--price", "in=1,out=2"]
    done = good("eval", "--methods", METHODS, *inputs(files), "--out", out, *swept)
    assert "### Methods" in done.stdout and "decex@documents=1 (4 of 5)" in done.stderr
    assert done.stdout.endswith(f"\n\nTables: {out}\n")
    return out


@pytest.fixture(scope="module")
def result(finished: Path) -> dict[str, Any]:
    return json.loads((finished / "eval.json").read_text(encoding="utf-8"))


# ---- what an evaluation finds


def test_scores_and_costs_are_those_of_the_runs(finished: Path, files: Path, result: dict[str, Any]):
    gold = {row["id"]: row["golden_answers"] for row in rows(files / "questions.jsonl")}
    for run in result["runs"]:
        answers = rows(finished / "runs" / run["name"] / "answers.jsonl")
        f1 = [score("common", row["answer"], gold[row["id"]])["f1"] for row in answers]
        assert run["f1"] == pytest.approx(sum(f1) / 12) and run["questions"] == 12
        assert run["calls"] == pytest.approx(sum(row["completions"] for row in answers) / 12)
        inputs_, outputs = (sum(row[f"{side}_tokens"] for row in answers) for side in ("prompt", "completion"))
        assert run["tokens"] == pytest.approx((inputs_ + outputs) / 12)
        assert run["usd"] == pytest.approx((inputs_ + 2 * outputs) / 1e6 / 12)
        assert run["retrievals"] == pytest.approx(sum(row["retrievals"] for row in answers) / 12)
        assert run["intervals"]["f1"][0] <= run["f1"] <= run["intervals"]["f1"][1]
        assert sum(group["questions"] for group in run["by_hops"]) == 12
        weighted = sum(group["questions"] * group["em"] for group in run["by_hops"])
        assert weighted == pytest.approx(12 * run["em"])
    names = [run["name"] for run in result["runs"]]
    assert names == ["direct", "decex", "standard-rag", "decex@documents=1", "decex@documents=3"]


def test_every_profile_scores_every_method(result: dict[str, Any]):
    decex, direct = result["runs"][1], result["runs"][0]
    assert set(decex["profiles"]) == {"common", *metric_profiles()}
    assert decex["profiles"]["common"] == {metric: decex[metric] for metric in ("em", "f1", "acc")}
    assert (direct["own_profile"], decex["own_profile"]) == ("flashrag", "common")


def test_what_was_retrieved_is_scored(result: dict[str, Any]):
    direct, _, standard = result["runs"][:3]
    assert direct["title_recall"] == direct["answer_recall"] == direct["retrievals"] == 0
    assert 0 < standard["title_recall"] <= 1 and 0 < standard["answer_recall"] <= 1 and standard["retrievals"] == 1


def test_no_p_is_shown_as_none():
    assert [p_value(p) for p in (1, 0.0499, 0.0001, 0.00003)] == ["1.0000", "0.0499", "0.0001", "3e-05"]


def test_the_best_method_is_the_baseline_unless_one_is_named(finished, files, tmp_path, result):
    best = max(result["runs"][:3], key=lambda run: run["f1"])
    assert result["baseline"] == best["name"] and best["against_baseline"] is None
    direct = result["runs"][0]["against_baseline"]["f1"]
    assert direct["difference"] == pytest.approx(result["runs"][0]["f1"] - best["f1"])
    assert direct["p"] <= direct["p_holm"] <= 1
    assert result["runs"][3]["against_baseline"] is None  # a point of a sweep is no method of its own
    shutil.copytree(finished, tmp_path / "copy")
    same = settings(files, tmp_path / "copy", set={"price_in": 1, "price_out": 2})
    named = evaluate(METHODS.split(","), **same, budget="calls=30", baseline="direct")
    assert named["baseline"] == "direct" and set(named["runs"][1]["against_baseline"]) == {"em", "f1", "acc"}


def test_titles_and_answers_are_looked_for_in_what_was_found(tmp_path: Path):
    file = tmp_path / "questions.jsonl"
    row = {"id": "a", "question": "?", "golden_answers": ["Paris", "Lutetia"]}
    file.write_text(json.dumps({**row, "metadata": {"supporting_titles": ["The Old Mill", "River Dane"]}}))
    question = esp.read_questions(file)[0]
    assert question.supporting_titles == ["The Old Mill", "River Dane"]
    found = retrieval_scores(question, [("old mill", "It stands in PARIS."), ("Dane", "A river."), ("old mill", "")])
    assert found == {"title_recall": 1 / 2, "title_f1": 2 * 1 / (2 + 2), "answer_recall": 1.0}
    assert retrieval_scores(question, []) == {"title_recall": 0.0, "title_f1": 0.0, "answer_recall": 0.0}
    bare = esp.Question("?", gold=["Paris"])
    assert retrieval_scores(bare, [("x", "Rome")]) == {"title_recall": None, "title_f1": None, "answer_recall": 0.0}


def test_profiles_differ_where_their_papers_do():
    assert score("common", "Vitamin A", ["Vitamin"])["em"] == 1
    assert score("prorag", "Vitamin A", ["Vitamin"])["f1"] == pytest.approx(2 / 3)
    assert score("musique", "", [""])["f1"] == 1 and score("hotpot", "", ["The"])["f1"] == 0
    assert set(score("common", None, ["x"]).values()) == {0.0}
    with pytest.raises(ValueError, match="did you mean 'hotpot'"):
        score("hotpto", "x", ["x"])


def test_a_question_costs_what_the_price_says():
    answer = {"completions": 3, "prompt_tokens": 2000, "completion_tokens": 500, "retrievals": 1}
    assert cost_of(answer, 0.5, (3.0, 4.0))["usd"] == pytest.approx(0.008)
    assert cost_of(answer, 0.5, None)["usd"] is None
    still_open = dict.fromkeys(answer)
    assert cost_of(still_open, 0.5, (3.0, 4.0)) == dict.fromkeys(
        ["calls", "prompt_tokens", "completion_tokens", "tokens", "retrievals", "usd"]
    ) | {"seconds": 0.5}


# ---- files


def test_all_files_are_there_and_say_that_the_model_is_simulated(finished: Path, result: dict[str, Any]):
    assert set(FILES) <= {path.name for path in finished.iterdir()}
    assert not list(finished.rglob("*.part"))
    for table in (finished / "table.md").read_text().split("### ")[1:]:
        assert "simulated model" in table
    for table in (finished / "table.tex").read_text().split(r"\begin{table}")[1:]:
        assert "simulated model" in table and table.count(r"\\") >= 2
    for name in ("table.csv", "hops.csv"):
        assert {row["model"] for row in csv.DictReader(io.StringIO((finished / name).read_text()))} == {
            "simulated model"
        }
    for picture in (finished / "plots").glob("*.svg"):
        assert "simulated model" in picture.read_text()
    assert len(rows(finished / "scores.jsonl")) == 12 * len(result["runs"])


def test_the_csv_holds_the_unrounded_figures(finished: Path, result: dict[str, Any]):
    read = list(csv.DictReader(io.StringIO((finished / "table.csv").read_text())))
    assert [row["run"] for row in read] == [run["name"] for run in result["runs"]]
    assert [float(row["f1"]) for row in read] == [run["f1"] for run in result["runs"]]
    assert read[3]["option"] == "documents" and read[3]["value"] == "1"


def test_plots_need_matplotlib_and_say_so(files: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(plots, "available", lambda: False)
    done = good("eval", "--methods", "direct", *inputs(files), "--out", tmp_path / "out", "--limit", 2)
    assert "pip install matplotlib" in done.stderr
    assert not (tmp_path / "out" / "plots").exists() and (tmp_path / "out" / "table.md").exists()


def test_plots_are_the_same_bytes_for_the_same_results(result: dict[str, Any], tmp_path: Path):
    pytest.importorskip("matplotlib")
    once, again = (plots.write_plots(result, tmp_path / name) for name in "ab")
    names = {path.name for path in once}
    assert {"f1_calls.svg", "f1_tokens.png", "f1_hops.svg", "sweep_decex_documents.svg"} <= names
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]


# ---- going on


def test_a_second_run_does_nothing_and_writes_the_same_bytes(finished: Path, files: Path):
    before = {name: (finished / name).read_bytes() for name in FILES}
    stamps = {path: path.stat().st_mtime_ns for path in (finished / "runs").rglob("*.jsonl")}
    again = ["--sweep", "decex.documents=1,3", "--budget", "calls=30", "--price", "in=1,out=2", "--in-flight", 3]
    good("eval", "--methods", METHODS, *inputs(files), "--out", finished, *again)
    assert {path: path.stat().st_mtime_ns for path in (finished / "runs").rglob("*.jsonl")} == stamps
    assert {name: (finished / name).read_bytes() for name in FILES} == before


def test_a_method_that_fails_does_not_lose_the_others(files: Path, tmp_path: Path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "decex").write_text("in the way")
    command = ["eval", "--methods", f"{METHODS},cot", *inputs(files), "--out", tmp_path, "--limit", 3]
    done = espalier(*command)
    assert done.returncode == 1 and "not finished: decex" in done.stderr
    read = {run["name"]: run for run in json.loads((tmp_path / "eval.json").read_text())["runs"]}
    assert read["direct"]["status"] == read["standard-rag"]["status"] == "done"
    assert read["decex"]["status"] == "failed" and "decex" in read["decex"]["error"]
    assert "decex failed" in done.stdout
    damaged = tmp_path / "runs" / "direct" / "answers.jsonl"
    whole = damaged.read_text()
    damaged.write_text(whole[:-9])
    done = espalier(*command, "--baseline", "decex")
    assert done.returncode == 1 and "not finished: decex" in done.stderr
    assert "made again from its journal: answers.jsonl" in done.stderr and damaged.read_text() == whole
    assert "decex, the baseline that was asked for, failed" in (tmp_path / "table.md").read_text()
    (tmp_path / "runs" / "decex").unlink()
    good(*command)


def test_an_error_of_every_method_is_the_error(files: Path, tmp_path: Path):
    given = ["--questions", files / "questions.jsonl", "--corpus", "none", "--out", tmp_path]
    done = espalier("eval", "--methods", "direct,cot", *given)
    assert done.returncode == 3 and "none" in done.stderr.splitlines()[-1]


@needs_journal
def test_methods_share_a_journal_and_questions_left_open_are_gone_on_with(files: Path, tmp_path: Path):
    def until(limit: int) -> Callable[[dict[str, Any]], tuple[int, bytes]]:
        return lambda request: completion(sensible(request)) if len(server.requests) <= limit else (404, b"gone")

    command = ["eval", "--methods", "direct,decex", *inputs(files), "--limit", 4, "--out", tmp_path / "out"]
    with ModelServer(lambda request: server.answer(request)) as server:
        server.answer = until(6)
        model = ["--model", server.url, "--model-name", "m"]
        stopped = espalier(*command, *model)
        assert stopped.returncode == 1 and "decex" in stopped.stderr.splitlines()[-1]
        first = json.loads((tmp_path / "out" / "eval.json").read_text())
        assert first["simulated"] is False and first["runs"][1]["open"] > 0
        assert first["runs"][1]["questions"] == 4  # the denominator stays
        server.answer = until(10**9)
        server.requests.clear()
        good(*command, *model)
        assert len(server.requests) > 0
        server.requests.clear()
        shutil.rmtree(tmp_path / "out" / "runs")  # everything is in the one journal
        good(*command, *model)
        assert server.requests == []
    assert not list((tmp_path / "out" / "runs").rglob("journal.sqlite"))


# ---- budgets


def test_a_budget_is_every_method_s_own_and_reported_as_spent(files: Path, tmp_path: Path):
    result = evaluate("direct,ircot", **settings(files, tmp_path), budget="calls=2,tokens=100000")
    assert all(run["budget"]["calls"]["limit"] == 2 for run in result["runs"])
    assert result["runs"][0]["budget"]["calls"]["most"] == 1
    assert result["runs"][1]["stopped_by_budget"] > 0
    for run in result["runs"]:
        options = json.loads((tmp_path / "runs" / run["name"] / "run.json").read_text())["options"]
        assert options["max_calls"] == 2 and options["max_tokens_total"] == 100000
    shown = {table.name: table for table in tables(result)}
    assert any("less than half" in note for note in shown["budget"].notes)
    assert [row[0] for row in shown["main"].rows] == ["direct", "ircot*"]
    cut = f"* its budget cut searches short, on so many of {result['questions']} questions: ircot ("
    assert any(note.startswith(cut) for note in shown["main"].notes)


def test_all_methods_may_read_equally_much(files: Path, tmp_path: Path):
    chosen = settings(files, tmp_path) | {"set": {"match_budget": "true"}}
    for run in evaluate("direct,decex,airrag", **chosen, budget="input_tokens=4000")["runs"]:
        spent = run["budget"]["input_tokens"]  # AirRAG's L_max
        assert spent["limit"] == 4000 and 2000 < spent["mean"] < 4400, run["name"]


def test_overshooting_a_budget_is_counted():
    spent = [{"calls": 3, "usd": None}, {"calls": 5, "usd": 0.5}, {"calls": 7, "usd": 0.1}]
    report = budget_report({"calls": 5, "usd": 0.2}, spent)
    assert report["calls"] == {"limit": 5, "mean": 5.0, "most": 7, "over": 1}
    assert report["usd"] == {"limit": 0.2, "mean": 0.3, "most": 0.5, "over": 1}


def test_methods_that_go_over_or_stay_below_are_named(result: dict[str, Any]):
    changed = json.loads(json.dumps(result))
    changed["runs"][0]["budget"] = {"calls": {"limit": 2.0, "mean": 2.5, "most": 4, "over": 3}}
    made = {table.name: table for table in tables(changed)}["budget"]
    assert made.rows[0] == ["direct", "2 calls", "2.5", "4", 3, 0]
    assert made.notes[0] == "2 calls was overshot, on so many questions, by direct (3)"
    assert made.notes[1] == "less than half of 30 calls was spent by decex, standard-rag"


def test_money_is_limited_at_its_price(files: Path, tmp_path: Path):
    chosen = settings(files, tmp_path, set={"price_in": "2.5", "price_out": "10"})
    plan = make_plan("direct,decex", chosen, budget="usd=0.01")
    assert plan.price == (2.5, 10.0)
    assert all(run.settings["set"]["max_usd"] == "0.01" for run in plan.runs)


# ---- plans


def test_options_of_one_method_go_to_it_alone(files: Path, tmp_path: Path):
    plan = make_plan("direct,decex", settings(files, tmp_path, set={"decex.k": 2, "documents": 5}))
    direct, decex = (run.settings for run in plan.runs)
    assert direct["set"] == {"documents": 5} and decex["set"] == {"k": 2, "documents": 5}
    assert direct["journal_file"] == decex["journal_file"] == str(tmp_path / "journal.sqlite")
    assert direct["out"] == str(tmp_path / "runs" / "direct")


def test_presets_prompts_and_models_go_to_the_methods_that_know_them(files: Path, tmp_path: Path):
    (tmp_path / "prompts" / "decex").mkdir(parents=True)
    plan = make_plan(
        "direct,decex",
        settings(files, tmp_path, prompts=str(tmp_path / "prompts"), models={"rollout": ("simulated", "")}),
    )
    direct, decex = (run.settings for run in plan.runs)
    assert "prompts" not in direct and decex["prompts"].endswith("decex")
    assert direct["models"] == {} and list(decex["models"]) == ["rollout"]


def test_all_means_every_registered_method(files: Path, tmp_path: Path):
    plan = make_plan("all", settings(files, tmp_path))
    assert sorted([run.name for run in plan.runs] + list(plan.refused)) == _core.method_names()


def test_a_dry_run_shows_the_plan_and_runs_nothing(files: Path, tmp_path: Path):
    command = ["eval", "--methods", "direct,decex", *inputs(files), "--out", tmp_path / "out", "--dry-run"]
    shown = good(*command, "--set", "decex.k=2", "--budget", "calls=9")
    assert "12 questions, 300 passages, 2 runs" in shown.stdout
    assert "decex  k=2  max_calls=9" in shown.stdout and not (tmp_path / "out").exists()


def test_json_prints_eval_json(files: Path, tmp_path: Path):
    done = espalier("eval", "--methods", "direct", *inputs(files), "--out", tmp_path, "--limit", 2, "--json")
    assert json.loads(done.stdout) == json.loads((tmp_path / "eval.json").read_text())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "direkt"], "did you mean 'direct'?"),
        (["--methods", "direct,"], "unknown method '', `espalier methods` lists them"),
        (["--methods", "dcx"], "did you mean 'decex'?"),
        (["--methods", "direct,decex", "--set", "k=2"], "direct: unknown option 'k'"),
        (["--methods", "all", "--set", "k=2"], "METHOD.OPTION"),
        (["--methods", "decex", "--set", "decex.k=0"], "'k' is 0"),
        (["--methods", "direct", "--set", "decex.k=2"], "decex is not among the methods"),
        (["--methods", "direct", "--budget", "calls=0"], "calls is 0"),
        (["--methods", "direct", "--budget", "calls=1.5"], "calls is 1.5"),
        (["--methods", "direct", "--budget", "calls=nan"], "calls is nan"),
        (["--methods", "direct", "--budget", "tokens=many"], "tokens is many"),
        (["--methods", "direct", "--budget", "calls=1,calls=2"], "calls twice"),
        (["--methods", "direct", "--budget", "euros=1"], "not 'euros=1'"),
        (["--methods", "direct", "--budget", "usd=1"], "needs --price"),
        (["--methods", "direct", "--budget", "usd=1", "--price", "in=0,out=0"], "usd"),
        (["--methods", "direct,decex", "--budget", "calls=5", "--set", "decex.max_calls=9"], "unequal"),
        (["--methods", "direct", "--match-budget"], "match_budget"),
        (["--methods", "direct", "--baseline", "decex"], "not among the methods"),
        (["--methods", "direct", "--baseline", "decexx"], "did you mean 'decex'?"),
        (["--methods", "direct", "--sweep", "documents=1,2"], "unknown method 'documents'"),
        (["--methods", "direct", "--sweep", "decex.k"], "--sweep takes"),
        (["--methods", "direct", "--sweep", "decex.k=0,1"], "'k' is 0"),
        (["--methods", "direct", "--model-for", "nothing=simulated"], "none of the methods has a purpose 'nothing'"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_exit_code_2(files, tmp_path, arguments, message):
    assert message in refused(2, "eval", *arguments, *inputs(files), "--out", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_questions_without_gold_cannot_be_evaluated(files: Path, tmp_path: Path):
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"id": "a", "question": "Who?"}\n')
    said = refused(3, "eval", "--methods", "direct", "--questions", bare, "--out", tmp_path / "out")
    assert "bare.jsonl:1" in said and "golden_answers" in said


# ---- hostile text

HOSTILE = (
    'a|b <img src=x onerror=1> `code` [x](http://y) www.z.org \\input{x} $1^2_3~% & # {}\x1b[31m\u202e\nrow\\\\ "q"'
)


def test_no_cell_can_break_out_of_its_table():
    shown = text.markdown(HOSTILE)
    assert "\n" not in shown and "\x1b" not in shown and "\u202e" not in shown
    assert "<" not in shown and "http://" not in shown and "www." not in shown
    unescaped = shown.replace("\\\\", "").replace("\\|", "").replace("\\[", "").replace("\\`", "")
    assert not set("|[`") & set(unescaped)
    tex = text.latex(HOSTILE)
    for command in (r"\input", "\n", "\x1b"):
        assert command not in tex
    assert r"\textbackslash{}input\{x\}" in tex and r"\$1\textasciicircum{}2\_3" in tex and r"\%" in tex
    assert [text.csv_cell(cell)[0] for cell in ("=1+1", "+1", "-1", "@x", "x")] == ["'", "'", "'", "'", "x"]


def test_hostile_names_and_errors_stay_in_their_cells(result: dict[str, Any]):
    hostile = json.loads(json.dumps(result))
    hostile["model"], hostile["simulated"] = HOSTILE, False
    hostile["runs"].append({"name": HOSTILE, "status": "failed", "error": HOSTILE, "point": None})
    hostile["runs"][3]["point"] = ["documents", "=cmd|x"]
    files = formats.written(hostile, tables(hostile))
    honest = formats.written(result, tables(result))
    pipes = {
        line.replace("\\|", "").count("|")
        for line in files["table.md"].split("### ")[1].splitlines()
        if line[:1] == "|"
    }
    assert len(pipes) == 1
    assert files["table.tex"].count(r"\begin{table}") == honest["table.tex"].count(r"\begin{table}")
    assert r"\input" not in files["table.tex"]
    read = list(csv.reader(io.StringIO(files["table.csv"])))
    assert len({len(row) for row in read}) == 1 and read[4][4] == "'=cmd|x"
    assert "simulated model" not in files["table.md"]


# ---- two runs


def test_compare_shows_where_two_runs_differ_first(finished: Path):
    runs = [finished / "runs" / name for name in ("direct", "standard-rag")]
    found = compare(*runs)
    differ = [row["differ"] for row in found["rows"]]
    assert differ == sorted(differ, reverse=True) and sum(differ) == found["differ"] > 0
    scored = [row["a"]["f1"] != row["b"]["f1"] or row["a"]["em"] != row["b"]["em"] for row in found["rows"]]
    assert scored == sorted(scored, reverse=True)
    answers = {row["id"]: row for row in rows(runs[0] / "answers.jsonl")}
    for row in found["rows"]:
        assert row["a"]["answer"] == answers[row["id"]]["answer"] and row["gold"]
        assert row["a"]["calls"] == answers[row["id"]]["completions"]
    f1 = found["summary"]["f1"]
    assert f1["difference"] == pytest.approx(f1["b"]["mean"] - f1["a"]["mean"])
    assert f1["interval"][0] <= f1["difference"] <= f1["interval"][1]
    back = compare(*reversed(runs))["summary"]["f1"]
    assert back["difference"] == pytest.approx(-f1["difference"]) and back["p"] == f1["p"]
    assert back["interval"] == pytest.approx((-f1["interval"][1], -f1["interval"][0]))
    shown = espalier("report", *runs, "--rows", 2)
    assert shown.returncode == 0 and "simulated model" in shown.stdout and "2 are shown" in shown.stdout
    page = {"report": str(runs[0] / "compared.html")}
    assert json.loads(espalier("report", *runs, "--json").stdout) == page | json.loads(json.dumps(found))


def test_a_run_differs_from_itself_nowhere(finished: Path):
    found = compare(finished / "runs" / "decex", finished / "runs" / "decex")
    assert found["differ"] == 0
    assert found["summary"]["em"]["interval"] == (0.0, 0.0) and found["summary"]["em"]["p"] == 1.0


def test_trees_that_gold_steered_are_labelled_and_other_options_named(files: Path, tmp_path: Path):
    for k in (2, 3):
        good("expand", *inputs(files), "--out", tmp_path / str(k), "--set", f"k={k}")
    shown = espalier("report", tmp_path / "2", tmp_path / "3").stdout
    assert shown.count("oracle") == 2 and "k: A 2, B 3" in shown


def test_runs_over_different_questions_have_a_page_and_no_table(finished: Path, files: Path, tmp_path: Path):
    command = ["answer", "--method", "direct", *inputs(files)]
    good(*command, "--limit", 10, "--out", tmp_path / "ten")
    done = good("report", finished / "runs" / "direct", tmp_path / "ten")
    assert "wq-0000010, wq-0000011 (2 in all)" in done.stderr
    other = tmp_path / "other.jsonl"
    lines = rows(files / "questions.jsonl")
    lines[4]["question"] = "Who else?"
    esp.write_jsonl(other, lines)
    command[4] = str(other)
    good(*command, "--out", tmp_path / "else")
    done = good("report", finished / "runs" / "direct", tmp_path / "else")
    assert "Who else?" in done.stderr and len(done.stderr.splitlines()) == 1


def test_folders_that_cannot_be_compared_are_named(finished: Path, files: Path, tmp_path: Path):
    assert "runs/decex" in refused(3, "report", finished, finished)
    assert "none: is not there; name" in refused(3, "report", tmp_path / "none", finished / "runs" / "decex")
    gone = tmp_path / "gone.jsonl"
    shutil.copy(files / "questions.jsonl", gone)
    run = tmp_path / "run"
    good("answer", "--method", "direct", "--questions", gone, *inputs(files)[2:], "--out", run)
    gone.unlink()
    done = good("report", run, run)
    assert "gone.jsonl" in done.stderr and "--questions" in done.stderr
    good("report", run, run, "--questions", files / "questions.jsonl")


def test_draws_are_those_of_splitmix64():
    # The published test vector of the generator, seed 1234567.
    assert statistics.bits(1234567, 0, 3).tolist() == [6457827717110365317, 3203168211198807973, 9817491932198370423]
    assert statistics.bits(1234567, 2, 1).tolist() == [9817491932198370423]


def test_bootstrap_means_are_distributed_as_an_enumeration_says():
    values = [0.0, 0.25, 1.0]
    exact = sorted(sum(drawn) / 3 for drawn in itertools.product(values, repeat=3))
    means = statistics.bootstrap_means(np.array([values]))[:, 0]
    assert len(means) == statistics.RESAMPLES
    for mean in sorted(set(exact)):  # 27 equally likely samples
        assert np.mean(np.isclose(means, mean)) == pytest.approx(np.mean(np.isclose(exact, mean)), abs=0.015)
    assert statistics.interval(means) == pytest.approx((0.0, 1.0))


def test_the_interval_is_the_middle_95_percent():
    assert statistics.interval(np.arange(1001.0)) == (25.0, 975.0)


def test_bootstrap_means_of_two_runs_are_paired():
    rng = np.random.default_rng(3)
    run = rng.random(40)
    means = statistics.bootstrap_means(np.array([run, run + 0.25, run]))
    assert np.array_equal(means[:, 0], means[:, 2])
    assert means[:, 1] - means[:, 0] == pytest.approx(0.25)


def test_the_blocks_in_which_draws_are_made_change_nothing():
    wide = np.vstack([np.arange(3000.0), np.ones(3000)])
    means = statistics.bootstrap_means(wide, resamples=1500)  # more than one block
    alone = [
        np.mean(((statistics.bits(1, r * 3000, 3000) >> np.uint64(11)).astype(float) * 2.0**-53 * 3000).astype(int))
        for r in (0, 700, 1499)
    ]
    assert means[[0, 700, 1499], 0] == pytest.approx(alone)
    assert means[:, 1] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([1.0, 1.0, 1.0], 2 / 8),  # only all plus and all minus are as extreme
        ([1.0, 1.0, -1.0], 1.0),
        ([3.0, 1.0, 1.0, 0.0], 2 / 8),  # a 0 has no sign
        ([3.0, -1.0, 1.0], 6 / 8),  # sums 3 5 1 3 and their negatives: 6 of 8 reach 3
        ([0.1, 0.2, -0.3], 1.0),  # their sum is 0 in any order of adding
        ([0.0, 0.0], 1.0),
        ([], 1.0),
    ],
)
def test_sign_flips_are_enumerated_for_few_differences(differences: list[float], p: float):
    assert statistics.sign_flip_p(differences) == pytest.approx(p)


@pytest.mark.parametrize("size", [1, 2, 5, 9, 13, statistics.EXACT])
def test_exact_p_values_are_right_to_the_last_digit(size: int):
    # Thirds are no binary fractions. All assignments of signs are counted here in whole numbers.
    whole = [(-1) ** i * (1 + (i * i + 3 * size) % 7) for i in range(size)]
    observed = abs(sum(whole))
    reached = sum(
        abs(sum(s * w for s, w in zip(signs, whole, strict=True))) >= observed
        for signs in itertools.product((1, -1), repeat=size)
    )
    assert statistics.sign_flip_p([w / 3 for w in whole]) == pytest.approx(reached / 2**size, rel=0, abs=2e-16)


def test_random_sign_flips_agree_with_the_binomial_distribution():
    # 20 differences of one size, 14 of them positive: the sign test, P(at least 14 or at most 6 of 20).
    differences = [0.5] * 14 + [-0.5] * 6
    assert statistics.sign_flip_p(differences) == pytest.approx(2 * 60460 / 2**20, abs=0.01)
    assert statistics.sign_flip_p(differences) == statistics.sign_flip_p(differences)
    assert statistics.sign_flip_p([1.0] * 60) == 1 / (1 + statistics.RESAMPLES)  # never 0


def test_holm_adjusts_step_by_step():
    # sorted 0.01 0.02 0.03 0.04: times 4, 3, 2, 1 = 0.04 0.06 0.06 0.04, then never less than before
    assert statistics.holm([0.04, 0.01, 0.03, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert statistics.holm([0.5, 0.6]) == [1.0, 1.0]
    assert statistics.holm([]) == []


def test_a_paired_test_has_difference_interval_and_p():
    base, values = np.array([0.0, 0.0, 1.0]), np.array([1.0, 1.0, 1.0])
    means = statistics.bootstrap_means(np.array([values, base]))
    test = statistics.paired_test(values, base, means[:, 0] - means[:, 1])
    assert test["difference"] == pytest.approx(2 / 3)
    assert test["interval"] == pytest.approx((0.0, 1.0))
    assert test["p"] == pytest.approx(0.5)  # two differences: ++ and -- of four
