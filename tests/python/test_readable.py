"""Replies that cannot be read: counted, quoted and told, by every command that makes a run."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import ModelServer, completion, espalier, inputs, rows, sensible
from espalier.runs import summary as _summary

SAID = "I would say \x1b[31mRome</td><script>alert(1)</script>\nand no tag"
SHOWN = r"I would say \x1b[31mRome</td><script>alert(1)</script>\nand no tag"


def cut(text: str | None) -> tuple[int, bytes]:
    status, body = completion(text or "")
    reply = json.loads(body)
    reply["choices"][0]["finish_reason"] = "length"
    return status, json.dumps(reply).encode()


@pytest.fixture
def silent() -> Any:
    """A model that writes no tags."""
    with ModelServer(lambda request: completion(SAID)) as server:
        yield server


def model(server: ModelServer) -> list[str]:
    return ["--model", server.url, "--model-name", "m", "--no-journal"]


@pytest.mark.parametrize("command", ["expand", "answer"])
def test_a_run_whose_replies_have_no_tags_exits_with_4_and_says_why(command, silent, files, tmp_path):
    words = [command, "--method", "reasonrag", *inputs(files), *model(silent), "--limit", "5", "--out", tmp_path]
    done = espalier(*words)
    assert done.returncode == 4
    last = done.stderr.splitlines()[-1]
    assert "5 of 5 questions failed" in last and "running again would change nothing" in last
    assert "'begin_reasoning' could not be read" in last and SHOWN in last
    assert "\x1b" not in done.stdout + done.stderr  # what a model says moves no terminal
    shown = done.stdout if command == "expand" else done.stderr
    assert re.search(r"begin_reasoning .*\b0\.0 %", shown)
    assert "completions of begin_reasoning could not be read" in shown
    if command == "expand":
        assert re.search(r"^\s*all\b.*\b0\.0 %", shown, re.MULTILINE) and f'begins "{SHOWN}"' in shown
        assert "espalier doctor" in shown
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h3>first unread</h3>" in page and '<th scope="col">readable</th>' in page
    assert "<script>alert(1)" not in page and "&lt;script&gt;alert(1)" in page
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["failed"] == summary["null_predictions"] == 5 and summary["open"] == 0
    asked = summary["by_purpose"]["begin_reasoning"]
    assert asked["calls"] > 0 and asked["readable"] == 0 and asked["cut"] == 0
    first_id = rows(files / "questions.jsonl")[0]["id"]
    assert summary["first_unread"]["begin_reasoning"] == {"question": first_id, "text": SAID, "cut_at": None}
    for row in rows(tmp_path / "answers.jsonl"):
        assert row["status"] == "failed" and row["answer"] is None
        assert "'begin_reasoning' could not be read" in row["error"] and SAID in row["error"]
    for tree in esp.read_trees(tmp_path / "trees.jsonl"):
        cost = tree.costs["begin_reasoning"]
        assert cost["unread"] == cost["completions"] and cost["cut"] == 0
        assert tree.first_unread["begin_reasoning"] == (SAID, None)
    again = espalier(*words)  # it is recognised, and failed all the same
    assert again.returncode == 4 and SHOWN in again.stderr


@pytest.mark.parametrize("text", ["<step>another method</step><conclude>42</conclude>", ""])
def test_a_reply_without_its_tags_is_kept_in_a_malformed_node(files: Path, tmp_path: Path, text: str):
    with ModelServer(lambda request: completion(text)) as server:
        done = espalier("expand", *inputs(files), *model(server), "--limit", "2", "--out", tmp_path)
    assert done.returncode == 4 and "could not be read" in done.stderr.splitlines()[-1], done.stderr
    for row in rows(tmp_path / "answers.jsonl"):  # k = 3 samples, each drawn again twice
        assert (row["status"], row["answer"], row["em"], row["completions"]) == ("failed", None, 0, 9)
    assert json.loads((tmp_path / "summary.json").read_text())["pruned"]["malformed"] == 6
    for tree in rows(tmp_path / "trees.jsonl"):
        assert [(node["text"], node["reason"]) for node in tree["nodes"][1:]] == [(text, "malformed")] * 3


def test_replies_that_max_tokens_cut_are_counted_apart(files: Path, tmp_path: Path):
    with ModelServer(lambda request: cut("<think> so long")) as server:
        words = ["--method", "search-r1", *model(server), "--set", "sampling.step.max_tokens=17", "--limit", "3"]
        done = espalier("answer", *inputs(files), *words, "--out", tmp_path)
        assert done.returncode == 4
        last = done.stderr.splitlines()[-1]
        assert "cut by max_tokens" in last and "cut in its thought at max_tokens=17" in last
        assert {request["max_tokens"] for request in server.requests} >= {17}
    summary = json.loads((tmp_path / "summary.json").read_text())
    step = summary["by_purpose"]["step"]
    assert step["cut"] == step["calls"] - step["readable"] > 0
    assert summary["first_unread"]["step"]["cut_at"] == 17 and summary["first_unread"]["step"]["in_thought"]
    assert "--set sampling.step.max_tokens=N" in "".join(_summary.readable(summary))
    assert "--constrain always (beside --server if" in "".join(_summary.readable(summary))  # which nobody probed


def test_what_helps_is_what_the_method_and_the_server_take():
    both = "--set repair=true and --prompts DIR help small models"
    probed = {"method": "search-r1", "probes": {"step": {"calls": 8}}}
    assert _summary.helps(probed, "step") == f"{both}, without protocol=tools also --constrain always"
    refused = {**probed, "notes": {"answers.jsonl": "the grammar of 'step' was refused, so its replies are free: no"}}
    assert _summary.helps(refused, "step") == both
    decex = {"method": "decex", "probes": {"rollout": {"calls": 8}}}
    tags = "without protocol=tools also --set shots=2 and --constrain always"
    assert _summary.helps(decex, "rollout") == f"{both}, {tags}"


def test_an_evaluation_has_a_column_of_readable_shares_and_exits_with_4(silent, files, tmp_path):
    words = ["--methods", "direct,reasonrag", *inputs(files), *model(silent), "--limit", "3"]
    done = espalier("eval", *words, "--out", tmp_path)
    assert done.returncode == 4, done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("espalier: reasonrag: 3 of 3 questions failed") and SHOWN in last
    main = next(line for line in done.stdout.splitlines() if "titles" in line)
    column = [cell.strip() for cell in main.split("|")].index("readable")
    cells = [[cell.strip() for cell in line.split("|")] for line in done.stdout.splitlines()]
    table = {row[1]: row[column] for row in cells if len(row) > column}
    assert table["direct"] == "100.0 %" and table["reasonrag"] == "0.0 %"  # `direct` takes any reply
    result = json.loads((tmp_path / "eval.json").read_text())
    found = {run["name"]: (run["readable"], run["failed"], run["null_predictions"]) for run in result["runs"]}
    assert found == {"direct": (1.0, 0, 0), "reasonrag": (0.0, 3, 3)}


def test_open_questions_go_before_failed_ones(files: Path, tmp_path: Path):
    replies = iter([completion(SAID)] * 3)
    refused = (401, b'{"error": {"message": "no such key"}}')
    with ModelServer(lambda request: next(replies, refused)) as server:
        words = ["--method", "reasonrag", *model(server), "--limit", "3", "--in-flight", "1", "--open-questions", "1"]
        done = espalier("answer", *inputs(files), *words, "--out", tmp_path)
    assert {row["status"] for row in rows(tmp_path / "answers.jsonl")} == {"failed", "open"}
    assert done.returncode == 1


def test_one_failed_question_is_enough_for_4_and_allow_failed_accepts_it_beside_others(files: Path, tmp_path: Path):
    for command, rate, code in (("answer", 0.6, 0), ("answer", 1, 4), ("expand", 0.6, 0), ("expand", 1, 4)):
        words = [*inputs(files), "--set", f"sim.malformed={rate}", "--set", "resample=0", "--overwrite"]
        assert espalier(command, *words, "--out", tmp_path / "run").returncode == 4
        assert espalier(command, *words, "--out", tmp_path / "run", "--allow-failed").returncode == code
        assert bool(json.loads((tmp_path / "run" / "summary.json").read_text())["done"]) == (code == 0)
    words = [*inputs(files), "--set", "sim.malformed=0.6", "--set", "resample=0"]
    shards = [tmp_path / f"{part}" for part in (1, 2)]
    for part, shard in enumerate(shards, 1):
        espalier("expand", *words, "--constrain", "off", "--shard", f"{part}/2", "--out", shard)
    for more, code in (([], 4), (["--allow-failed"], 0)):
        assert espalier("merge", *shards, "--out", tmp_path / "whole", *more).returncode == code
        assert espalier("rescore", tmp_path / "whole", "--out", tmp_path / "again", *more).returncode == code
        assert espalier("eval", "--methods", "decex", *words, "--out", tmp_path / "eval", *more).returncode == code


def test_a_run_for_rows_alone_is_judged_by_its_rows(files: Path, tmp_path: Path):
    words = ["expand", *inputs(files), "--method", "prorag", "--set", "grow=none", "--set", "annotate=cold_start"]
    done = espalier(*words, "--out", tmp_path / "cold")
    assert done.returncode == 0 and "EM" not in done.stdout and "done 12" in done.stdout, done.stderr
    assert {(one["status"], one["em"]) for one in rows(tmp_path / "cold" / "answers.jsonl")} == {("done", None)}
    done = espalier(*words, "--set", "sim.malformed=1", "--out", tmp_path / "none")
    assert done.returncode == 4 and "no row could be made of the replies: " in done.stderr.splitlines()[-1]
    kept = ("id", "question", "golden_answers")
    plain = [{name: row[name] for name in kept} for row in rows(files / "questions.jsonl")]
    esp.write_jsonl(tmp_path / "plain.jsonl", plain)
    done = espalier(*words, "--questions", tmp_path / "plain.jsonl", "--out", tmp_path / "chainless")
    assert done.returncode == 4 and "nothing was asked for its rows (notes in summary.json" in done.stderr
    assert "cold_start.jsonl: 12 questions were left out: they have no gold chain" in done.stdout


def test_annotating_a_run_with_failed_questions_exits_with_4(files: Path, tmp_path: Path):
    words = [*inputs(files), "--method", "prorag", "--set", "simulations=2", "--set", "sim.malformed=1", "--limit", "2"]
    run, out = tmp_path / "run", tmp_path / "out"
    assert espalier("expand", *words, "--out", run).returncode == 4
    done = espalier("annotate", run, "--with", "prm", "--out", out)
    assert done.returncode == 4 and "2 of 2 questions failed" in done.stderr.splitlines()[-1]
    before, after = (json.loads((folder / "summary.json").read_text()) for folder in (run, out))
    assert before["first_unread"].items() <= after["first_unread"].items()  # trees carry what they could not read


def test_a_share_is_rounded_down_and_unknown_in_summaries_of_earlier_versions():
    cost = {"calls": 2000, "readable": 1999}
    assert _summary.percent(_summary.readable_share([cost])) == "99.9 %"
    assert _summary.percent(_summary.readable_share([cost | {"readable": 2000}])) == "100.0 %"
    assert _summary.readable_share([{"calls": 0, "readable": 0}]) is None
    assert _summary.percent(_summary.readable_share([{"calls": 3}])) == ""


def test_a_repair_shows_the_model_its_reply_and_is_counted_and_told(files: Path, tmp_path: Path):
    asked: list[list[dict[str, str]]] = []

    def respond(request: dict[str, Any]) -> tuple[int, bytes]:
        asked.append(request["messages"])
        return completion(sensible(request) if len(request["messages"]) == 3 else SAID)

    with ModelServer(respond) as server:
        words = ["--method", "reasonrag", *model(server), "--limit", "2", "--set", "repair=true"]
        done = espalier("expand", *inputs(files), *words, "--set", "simulations=3", "--out", tmp_path)
    repairs = [messages for messages in asked if len(messages) == 3]
    assert repairs and all([m["role"] for m in messages] == ["user", "assistant", "user"] for messages in repairs)
    assert all(messages[1]["content"] == SAID for messages in repairs)
    line = next(m[2]["content"] for m in repairs if "<query></query>" in m[2]["content"])
    assert line.startswith("Your reply had no <query></query> or <answer></answer> that could be read. Write again: ")
    summary = json.loads((tmp_path / "summary.json").read_text())
    begun = summary["by_purpose"]["begin_reasoning"]
    assert begun["calls"] == 2 * begun["repairs"] and begun["repaired"] == begun["readable"] == begun["repairs"] > 0
    header = next(line for line in done.stdout.splitlines() if "readable" in line)
    assert header.split()[-3:] == ["repairs", "repaired", "readable"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert '<th scope="col">repaired</th>' in page and '<th scope="col">constrained</th>' not in page
    costs = [json.loads(line)["costs"] for line in (tmp_path / "trees.jsonl").read_text().splitlines()]
    assert sum(cost["begin_reasoning"]["repairs"] for cost in costs) == begun["repairs"]


def gibberish(prompts: list[esp.Prompt]) -> list[str]:
    return ["gibberish"] * len(prompts)


def in_a_loop(search: esp.Method, *given: Any, **more: Any) -> list[esp.Tree]:
    return asyncio.run(esp.aio.run(search, *given, **more))


def by_hand(search: esp.Method, questions: Any, *, model: Any, retriever: Any) -> list[esp.Tree]:
    session = search.start(questions, retriever=retriever)
    while not session.done:
        asked = session.pending()
        session.resume(dict(zip([ticket for ticket, _ in asked], model([prompt for _, prompt in asked]), strict=True)))
    return session.trees


@pytest.mark.parametrize("grow", [esp.run, in_a_loop, by_hand])
@pytest.mark.parametrize(
    ("method", "mark"),
    [
        *(("decex", "<question>…</question>"), ("reasonrag", "<query>…</query>"), ("cot", "So the answer is:…")),
        *(("decouple", "Search(…)"), ("prorag", "<subquery>…</subquery>"), ("search-r1", "<search>…</search>")),
    ],
)
def test_trees_in_memory_without_a_readable_reply_failed_and_python_warns_once(method, mark, grow, world, bm25):
    with pytest.warns(esp.errors.UnreadableWarning) as told:
        trees = grow(esp.Method(method), world.questions[:3], model=gibberish, retriever=bm25)
    text = str(told[0].message)
    assert len(told) == 1 and (grow is in_a_loop or told[0].filename == __file__)
    for said in (f"{method}: 3 of 3 questions failed", " 0.0 %", 'begins "gibberish"', f"is read from {mark}", "docs/"):
        assert said in text
    assert not {node.reason for tree in trees for node in tree.nodes} - {None, "malformed"}
    assert grow is by_hand or not any(trees.readable.values())
    for tree in trees:
        row = tree.to_row()
        assert (tree.status, tree.error) == ("failed", row["error"]) and "could not be read" in tree.error


def test_a_reward_beyond_the_declared_range_warns_once_and_the_search_goes_on(world, bm25, simulated):
    parts = {"model": simulated, "retriever": bm25, "reward": lambda states: [5.0] * len(states)}
    with pytest.warns(UserWarning, match=r"a value of 5\.0+ lies outside the declared range \[0\.0+, 1\.0+\]") as told:
        trees = esp.run(esp.ProRag(), world.questions[:2], **parts)
    assert len(told) == 1 and told[0].filename == __file__
    assert [tree.status for tree in trees] == ["done", "done"]


def test_python_warns_of_one_purpose_and_the_log_of_a_run_in_a_folder(world, bm25, simulated, data, tmp_path, caplog):
    with pytest.warns(
        esp.errors.UnreadableWarning, match=r"(?s)of judge could not be read.*<preference>…</preference>"
    ):
        search = esp.ProRag(simulations=6, annotate="judge", models={"judge": gibberish})
        esp.run(search, world.questions[:2], model=simulated, retriever=bm25)
    esp.answer(**data, method="cot", model=gibberish, limit=2, out=tmp_path, journal=False)
    [told] = [record.getMessage() for record in caplog.records]
    assert "2 of 2 questions failed" in told and "answer is read from So the answer is:" in told


def test_an_evaluation_tells_what_became_of_the_replies_of_each_purpose(files: Path, tmp_path: Path):
    words = ["--methods", "direct,decex", *inputs(files), "--limit", "4", "--set", "decex.repair=true"]
    done = espalier("eval", *words, "--set", "decex.sim.malformed=0.5", "--out", tmp_path)
    assert done.returncode in (0, 4), done.stderr
    runs = {run["name"]: run["replies"] for run in json.loads((tmp_path / "eval.json").read_text())["runs"]}
    assert runs["direct"].keys() == {"answer", "all"} and runs["direct"]["all"]["repairs"] == 0
    every = runs["decex"]["all"]
    assert every["repairs"] >= every["repaired"] > 0
    assert every["calls"] == sum(group["calls"] for name, group in runs["decex"].items() if name != "all")
    assert "Replies by purpose" in (tmp_path / "table.md").read_text(encoding="utf-8")
