"""Runs that are done in shards and merged: the bytes of one run, and what does not fit is refused by name."""

import json
import random
import shutil
import sqlite3
import tracemalloc
from contextlib import closing
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import ModelServer, espalier, expanded, good, inputs, needs_journal, rows
from espalier import _core
from espalier.eval.plan import make_plan
from espalier.runs import merge
from espalier.runs.merge import Shard
from espalier.runs.summary import whole_summary
from hypothesis import given
from hypothesis import strategies as st
from killing import Counted, everything, kill_until_done

pytestmark = needs_journal
FREE = ("costs.jsonl", "accounts.json", "run.json", "config.json", "servers.json")
"""Files with clocks, caches or paths in them."""


def same(folder: Path) -> dict[str, bytes]:
    """What has to be equal to the byte, and the summary but for its seconds."""
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".jsonl", ".html", ".json")}
    files["summary.json"] = files["summary.json"].partition(b'"seconds"')[0]
    return {name: data for name, data in files.items() if name not in FREE}


def record(folder: Path) -> dict[str, Any]:
    """A run.json without what clocks and paths decide."""
    read = json.loads((folder / "run.json").read_text())
    del read["noted"], read["outputs"]
    return read


def sharded(files: Path, out: Path, parts: int, **settings: Any) -> list[Path]:
    """The folders of all shards, finished."""
    folders = [out / f"{part} of {parts}" for part in range(1, parts + 1)]
    for part, folder in enumerate(folders, 1):
        expanded(files, folder, shard=f"{part}/{parts}", **settings)
    return folders


@pytest.fixture(scope="module")
def whole(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole")
    expanded(files, out, limit=10, seed=3, set={"n": 2})
    return out


@pytest.fixture(scope="module")
def three(files: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return sharded(files, tmp_path_factory.mktemp("three"), 3, limit=10, seed=3, set={"n": 2})


@given(st.text(), st.integers(1, 50))
def test_every_id_stands_in_exactly_one_shard(id: str, parts: int):
    id = id.encode(errors="replace").decode()
    assert sum(_core.in_shard(f"{part}/{parts}", id) for part in range(1, parts + 1)) == 1


@pytest.mark.parametrize("parts", [2, 3, 12])  # 11 questions
@pytest.mark.parametrize("method", ["decex", "prorag"])
def test_merged_shards_are_the_bytes_of_one_run(files: Path, tmp_path: Path, method: str, parts: int):
    settings = {"method": method, "limit": 11, "set": {"simulations": 12} if method == "prorag" else {"n": 2}}
    expanded(files, tmp_path / "whole", **settings)
    folders = sharded(files, tmp_path, parts, **settings)
    random.Random(parts).shuffle(folders)
    merged = esp.merge(folders, out=tmp_path / "merged")
    assert same(tmp_path / "merged") == same(tmp_path / "whole")
    assert record(tmp_path / "merged") == record(tmp_path / "whole")
    assert merged.open == 0 and merged.summary["questions"] == 11
    places = [row["place"] for row in rows(tmp_path / "merged/costs.jsonl")]
    assert places == list(range(11))
    assert sum(len(rows(folder / "answers.jsonl")) for folder in folders) == 11


def test_a_shard_does_not_decide_what_a_grammar_constrains(files: Path, tmp_path: Path):
    with ModelServer(everything, owner="vllm") as server:
        settings = {"limit": 4, "set": {"n": 1}, "model": server.url, "model_name": "m"}
        with pytest.raises(ValueError, match="'constrain' is auto, allowed: off, always or draft beside a shard"):
            sharded(files, tmp_path, 2, **settings)
        expanded(files, tmp_path / "whole", constrain="always", **settings)
        folders = sharded(files, tmp_path, 2, constrain="always", **settings)
    esp.merge(folders, out=tmp_path / "merged")
    assert same(tmp_path / "merged") == same(tmp_path / "whole")
    assert record(tmp_path / "merged") == record(tmp_path / "whole")


def test_answers_of_shards(data: dict[str, Any], tmp_path: Path):
    esp.answer(**data, out=tmp_path / "whole")
    for part in (1, 2):
        esp.answer(**data, out=tmp_path / str(part), shard=f"{part}/2")
    assert "Report:" in good("merge", tmp_path / "2", tmp_path / "1", "--out", tmp_path / "merged").stdout
    assert same(tmp_path / "merged") == same(tmp_path / "whole")


def test_numbers_and_texts_of_a_merged_summary_are_written_as_a_run_writes_them(tmp_path: Path):
    questions = [{"id": f"q{i}", "question": "?", "golden_answers": ["needle"]} for i in range(4)]
    esp.write_jsonl(tmp_path / "questions.jsonl", questions)
    hay = "needle" + " x" * 3998  # F1 = 2 / (1 + 3999)
    settings = {
        **{"method": "direct", "questions": tmp_path / "questions.jsonl", "model_name": "m"},
        "model": lambda prompts: [hay for _ in prompts],
    }
    esp.expand(**settings, out=tmp_path / "whole")
    assert b'"em":0,"f1":5e-04,"acc":1,' in (tmp_path / "whole/summary.json").read_bytes()
    for part in (1, 2):
        esp.expand(**settings, out=tmp_path / str(part), shard=f"{part}/2")
    esp.merge([tmp_path / "1", tmp_path / "2"], out=tmp_path / "merged")
    assert same(tmp_path / "merged") == same(tmp_path / "whole")
    _core.write_json(str(tmp_path / "a.json"), json.dumps({"tiny": 2e-4, "whole": 2.0, "text": "\b\u00e9\x7f"}))
    assert (tmp_path / "a.json").read_bytes() == b'{"tiny":2e-04,"whole":2,"text":"\\u0008\xc3\xa9\x7f"}\n'


def test_pairs_of_one_prompt_never_say_the_reverse(tmp_path: Path):
    golds = ("Tern", "Sava", "Drava")
    asked = [{"id": gold, "question": "Which river?", "golden_answers": [gold]} for gold in golds]
    esp.write_jsonl(tmp_path / "questions.jsonl", asked)
    esp.write_jsonl(tmp_path / "corpus.jsonl", [{"id": "d", "title": "T", "contents": "T\nA text."}])
    settings = {
        **{"set": {"form": "policy", "n": 4}, "model_name": "m", "constrain": "off"},
        "model": lambda prompts: [f"<think> t </think>\n<answer> {golds[p.sample % 2]} </answer>" for p in prompts],
    }
    found = expanded(tmp_path, tmp_path / "whole", **settings).summary
    assert found["notes"]["dpo.jsonl"] == "2 pairs were left out: another one says the reverse"
    folders = sharded(tmp_path, tmp_path, 3, **settings)
    assert sum(len(rows(folder / "dpo.jsonl")) for folder in folders) == 2 and not rows(tmp_path / "whole/dpo.jsonl")
    assert esp.merge(folders, out=tmp_path / "merged").summary["notes"] == found["notes"]
    assert same(tmp_path / "merged") == same(tmp_path / "whole")
    trees = esp.read_trees(tmp_path / "whole/trees.jsonl")
    assert len(esp.dpo_pairs(trees[:1])) == 1 and esp.dpo_pairs(trees) == []


def test_a_shard_that_was_killed_changes_nothing_and_the_journals_become_one(files: Path, tmp_path: Path):
    counted = Counted()
    with counted.server as server:
        retriever = ["--retriever", server.url.replace("/v1", "/retrieve?name=canned")]
        command = ["expand", *inputs(files)[:2], "--limit", 6, "--model-name", "m", *retriever, "--constrain", "off"]
        for out, part in (("whole", []), ("first", ["--shard", "1/2"])):
            good(*command, *part, "--model", server.url, "--out", tmp_path / out)
        kill_until_done([*command, "--shard", "2/2", "--out", tmp_path / "second"], counted, kills=4, every=25)
        esp.merge([tmp_path / "second", tmp_path / "first"], out=tmp_path / "merged")
    assert same(tmp_path / "merged") == same(tmp_path / "whole")
    parts = [records(tmp_path / out) for out in ("first", "second")]
    assert records(tmp_path / "merged") == records(tmp_path / "whole") == parts[0] | parts[1]
    for out in ("merged", "whole"):
        assert esp.rescore(tmp_path / out, {"margin": 0.5}, out=tmp_path / f"{out} again").open == 0
    assert same(tmp_path / "merged again") == same(tmp_path / "whole again")
    with closing(sqlite3.connect(tmp_path / "merged/journal.sqlite")) as journal:
        assert journal.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def records(run: Path) -> dict[bytes, bytes]:
    """The responses in a run's journal, by key."""
    with closing(sqlite3.connect(run / "journal.sqlite")) as journal:
        return dict(journal.execute("SELECT key, value FROM record"))


def test_a_merged_folder_is_a_run_like_others(data: dict[str, Any], whole: Path, three: list[Path], tmp_path: Path):
    merged = tmp_path / "merged"
    esp.merge(three, out=merged)
    assert esp.merge(three, out=merged).recognised
    assert esp.expand(**data, limit=10, seed=3, set={"n": 2}, out=merged).recognised
    for run in (whole, merged):
        name = "one" if run == whole else "two"
        assert esp.rescore(run, {"margin": 0.5}, out=tmp_path / f"rescored {name}").open == 0
        good("export", run, "--format", "sft.messages", "--out", tmp_path / f"exported {name}")
    assert same(tmp_path / "rescored one") == same(tmp_path / "rescored two")
    exported = [(tmp_path / f"exported {name}" / "train.jsonl") for name in ("one", "two")]
    assert exported[0].exists() == exported[1].exists()
    before = same(merged)
    good("report", merged)
    assert same(merged) == before


def test_memory_holds_blocks_of_rows_and_not_the_files(whole, three, tmp_path, monkeypatch):
    monkeypatch.setattr(merge, "MEMORY", 300)  # a row or so of each shard
    esp.merge(three, out=tmp_path / "merged")
    assert same(tmp_path / "merged") == same(whole)

    monkeypatch.setattr(merge, "MEMORY", 1 << 16)
    folders = [tmp_path / str(part) for part in range(4)]
    for part, folder in enumerate(folders):
        folder.mkdir()
        with (folder / "costs.jsonl").open("w") as costs, (folder / "sft.jsonl").open("w") as sft:
            for place in range(part, 20_000, 4):
                costs.write(json.dumps({"id": f"q{place}", "place": place}) + "\n")
                for row in range(place % 3):
                    provenance = {"tree": f"q{place}", "row": row}
                    sft.write(json.dumps({"text": "x" * 200, "provenance": provenance}) + "\n")
    tracemalloc.start()
    shards = [Shard(folder, {"outputs": {"sft.jsonl.bytes": 1}}, 1, 4) for folder in folders[::-1]]
    merge.write_rows(shards, "sft.jsonl", tmp_path / "sft.jsonl")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    found = [(row["provenance"]["tree"], row["provenance"]["row"]) for row in rows(tmp_path / "sft.jsonl")]
    assert found == [(f"q{place}", row) for place in range(20_000) for row in range(place % 3)]
    assert peak < (tmp_path / "sft.jsonl").stat().st_size / 5


def test_a_shard_that_changes_during_the_merge_ends_it_and_nothing_is_left(three, tmp_path, monkeypatch):
    def changed(shards):
        monkeypatch.setattr(merge, "record_of", lambda folder: {})
        return ""

    monkeypatch.setattr(merge, "shared_journal", changed)
    with pytest.raises(esp.errors.InputError, match="was changed while it was merged"):
        esp.merge(three, out=tmp_path / "merged")
    assert list((tmp_path / "merged").iterdir()) == []


def test_rescored_and_annotated_shards_are_the_run_that_was_rescored_and_annotated(files: Path, tmp_path: Path):
    settings = {"method": "prorag", "limit": 5, "set": {"simulations": 8}}
    expanded(files, tmp_path / "run", **settings)
    again = [tmp_path / name for name in ("whole", "one", "two")]
    for run, out in zip([tmp_path / "run", *sharded(files, tmp_path, 2, **settings)], again, strict=True):
        assert esp.rescore(run, {"rft_threshold": 0.4}, out=out).open == 0
        esp.annotate(out, {"prm": None})
    esp.merge(again[1:], out=tmp_path / "merged")
    assert same(tmp_path / "merged") == same(tmp_path / "whole")
    assert record(tmp_path / "merged") == record(tmp_path / "whole")


def test_shards_may_share_a_journal(files: Path, tmp_path: Path):
    folders = sharded(files, tmp_path, 2, limit=4, set={"n": 1}, journal_file=tmp_path / "shared.sqlite")
    esp.merge(folders, out=tmp_path / "merged")
    assert not (tmp_path / "merged/journal.sqlite").exists()
    assert esp.rescore(tmp_path / "merged", {"margin": 0.5}, out=tmp_path / "rescored").open == 0


def test_a_merge_without_journal_cannot_be_rescored(three: list[Path], tmp_path: Path):
    esp.merge(three, out=tmp_path / "merged", journal=False)
    with pytest.raises(esp.errors.InputError, match="kept no journal"):
        esp.rescore(tmp_path / "merged", {"margin": 0.5}, out=tmp_path / "rescored")


def refused(folders: list[Path], out: Path) -> str:
    """The error of the merge, which leaves nothing."""
    with pytest.raises(esp.errors.InputError) as error:
        esp.merge(folders, out=out)
    assert not (out / "run.json").exists() and not (out / "answers.jsonl").exists()
    return str(error.value)


def copied(folder: Path, target: Path) -> Path:
    shutil.copytree(folder, target)
    return target


def test_shards_that_do_not_fit_are_refused_by_name(files: Path, three: list[Path], tmp_path: Path):
    one, two, last = three
    out = tmp_path / "out"
    double = copied(two, tmp_path / "double")
    assert refused([one, two, last, double], out) == f"{double}: is shard 2/3, as {two} is"
    assert refused([one, last], out) == f"2/3: no folder holds this shard of the run in {one}"
    assert refused([two], out) == f"1/3, 3/3: no folder holds this shard of the run in {two}"

    settings = {"limit": 10, "seed": 3, "set": {"n": 2}}
    others = {
        "seed is 4, not 3": {**settings, "seed": 4},
        "limit is 9, not 10": {**settings, "limit": 9},
        "options.threshold is 0.9, not": {**settings, "set": {"n": 2, "threshold": 0.9}},
        'options.constrain is "draft", not "off"': {**settings, "constrain": "draft"},
        'method is "airrag", not "decex"': {"method": "airrag", "limit": 10, "seed": 3},
    }
    for number, (said, changed) in enumerate(others.items()):
        other = tmp_path / f"other {number}"
        expanded(files, other, shard="2/3", **changed)
        assert refused([one, other, last], out).startswith(f"{other}: is no shard of the run in {one}: {said}")
    expanded(files, tmp_path / "half", shard="2/2", **settings)
    assert refused([one, tmp_path / "half"], out) == f"{tmp_path / 'half'}: is one of 2 shards, {one} one of 3"


def test_other_inputs_versions_and_decisions_are_refused_by_name(three: list[Path], tmp_path: Path):
    changes = {
        "inputs.questions": lambda record: record["inputs"].update(questions="0" * 32),
        "version": lambda record: record.update(version="0.0.1"),
        "options.sampling.decide.constrain": lambda one: one["options"].update({"sampling.decide.constrain": "on"}),
        "annotated": lambda record: record.update(annotated=True),
    }
    for name, change in changes.items():
        other = copied(three[1], tmp_path / name)
        read = json.loads((other / "run.json").read_text())
        change(read)
        (other / "run.json").write_text(json.dumps(read))
        said = refused([three[0], other, three[2]], tmp_path / "out")
        assert said.startswith(f"{other}: is no shard of the run in {three[0]}: {name} is "), said


def test_what_is_no_finished_shard_is_refused_by_name(data: Any, whole: Path, three: list[Path], tmp_path: Path):
    one, two, last = three
    out = tmp_path / "out"
    said = f"{whole}: holds a run that was not done in shards (option 'shard' of its run)"
    assert refused([one, two, whole], out) == said

    stopped = copied(last, tmp_path / "stopped")
    read = json.loads((stopped / "run.json").read_text())
    del read["outputs"]
    (stopped / "run.json").write_text(json.dumps(read))
    said = f"{stopped}: is not finished: run its command again, which goes on with it"
    assert refused([one, two, stopped], out) == said

    cut = copied(last, tmp_path / "cut")
    (cut / "trees.jsonl").write_bytes((cut / "trees.jsonl").read_bytes()[:-9])
    said = f"{cut / 'trees.jsonl'}: is not as the run left it: run its command again, which makes it again"
    assert refused([one, two, cut], out) == said

    left = tmp_path / "left"
    dead = {"model": "http://127.0.0.1:9/v1", "model_name": "m", "attempts": 1, "constrain": "off"}
    count = esp.expand(**data, **dead, out=left, shard="1/2").open
    assert count > 0
    said = f"{left}: is not finished: {count} questions are open; run its command again"
    assert refused([left], out) == said


def test_a_folder_that_holds_something_else_is_not_written_to(whole: Path, three: list[Path], tmp_path: Path):
    before = same(whole)
    run = copied(whole, tmp_path / "changed")
    read = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps(read | {"seed": 9}))
    with pytest.raises(esp.errors.InputError, match=r"holds another run \(seed is 9, not 3\); name another folder"):
        esp.merge(three, out=run)
    with pytest.raises(esp.errors.InputError, match="it is a shard itself"):
        esp.merge(three, out=three[0])
    with pytest.raises(ValueError, match="name the folders"):
        esp.merge([], out=tmp_path / "none")
    assert same(whole) == before


def test_the_option_is_refused_where_it_names_no_shard(files: Path, tmp_path: Path):
    done = espalier("expand", *inputs(files), "--shard", "0/3", "--out", tmp_path / "run")
    said = "espalier: option 'shard' is 0/3, allowed: I/N, from 1/N to N/N\n"
    assert (done.returncode, done.stderr) == (2, said)
    plan = espalier("answer", *inputs(files), "--shard", "1/3", "--out", tmp_path / "run", "--dry-run", "--json")
    held = [row for row in rows(files / "questions.jsonl") if _core.in_shard("1/3", row["id"])]
    assert json.loads(plan.stdout)["questions"] == len(held)


def test_an_evaluation_is_not_done_in_shards(files: Path, tmp_path: Path):
    with pytest.raises(ValueError, match="setting 'shard' is not for evaluations"):
        make_plan("direct", {"questions": files / "questions.jsonl", "out": tmp_path / "eval", "shard": "1/2"})


def part(calls: int, question: str, choices: int, explored: int = 0, **notes: str) -> dict[str, Any]:
    """The summary of a shard with one purpose, whose first unread completion was of this question."""
    counts = {"calls": calls, "readable": calls - 1, "constrained": 0}
    unread = {"rollout": {"question": question, "text": f"unread of {question}", "cut_at": 64, "in_thought": True}}
    told = {"trees.jsonl": f"exploration changed none of {choices} choices: raise it"} if not explored else {}
    return {
        "method": "decex", "oracle": choices == 8, "em": 0.5, "f1": 0.5, "acc": None, "choices": choices,
        "explored": explored,
        "by_purpose": {"rollout": counts | ({"grammar_broken": 1} if calls == 2 else {"thinking_tokens": calls})},
        "first_unread": unread, "pruned": {"outvoted": 3},
        "notes": told | {f"{name}.jsonl": note for name, note in notes.items()},
        "prompt_cache": {"rollout": {"prompt_tokens": 7, "reused": calls, "read": 7 - calls}}, "seconds": 1.5,
    }  # fmt: skip


def row(id: str, em: float) -> dict[str, Any]:
    return {"id": id, "em": em, "f1": em, "acc": em}


def test_the_summary_of_shards_is_that_of_the_run_over_all_their_questions():
    parts = [
        part(2, "c", 4, rft="2 steps were left out", answers="a server is slow"),
        part(3, "b", 8, rft="11 steps were left out", answers="a server is old"),
    ]
    # Added from the right, 0.1 + 0.2 + 0.3 has another last bit.
    whole = whole_summary(parts, [row("a", 0.1), row("b", 0.2), row("c", 0.3)])
    counts = {"calls": 5, "readable": 3, "constrained": 0, "thinking_tokens": 3, "grammar_broken": 1}
    notes = {"answers.jsonl": "a server is slow; a server is old", "rft.jsonl": "13 steps were left out"}
    notes["trees.jsonl"] = "exploration changed none of 12 choices: raise it"
    assert whole == {
        "method": "decex",
        "oracle": True,
        **dict.fromkeys(("em", "f1", "acc"), 0.20000000000000004),
        "choices": 12,
        "explored": 0,
        "by_purpose": {"rollout": counts},
        "first_unread": parts[1]["first_unread"],
        "pruned": {"outvoted": 6},
        "notes": notes,
        "prompt_cache": {"rollout": {"prompt_tokens": 14, "reused": 5, "read": 9}},
        "seconds": 3.0,
    }
    assert list(whole["by_purpose"]["rollout"]) == list(counts)
    assert list(whole) == list(parts[0])


def test_a_warning_of_one_shard_that_another_one_contradicts_is_gone_from_the_whole():
    whole = whole_summary([part(2, "a", 4), part(3, "a", 8, explored=1)], [row("a", 1.0)])
    assert "notes" not in whole and whole["em"] == 1
