"""Annotations of recorded runs."""

import json
import shutil
from pathlib import Path
from typing import Any

import espalier as esp
import pytest
from conftest import ModelServer, completion, espalier, good, inputs, needs_journal, refused, rows

pytestmark = needs_journal

SMALL = ["--method", "prorag", "--set", "simulations=12", "--set", "samples=3", "--set", "annotate=none", "--limit", 5]


@pytest.fixture(scope="module")
def finished(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run")
    done = good("expand", *inputs(files), "--out", out, *SMALL)
    assert "rft.jsonl: " in done.stdout and "annotate with prm" in done.stdout
    return out


def test_a_judge_and_process_rewards_are_added_and_the_data_follows(finished: Path, tmp_path: Path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    assert rows(run / "prm.jsonl") == rows(run / "rft.jsonl") == []
    done = good("annotate", run, "--with", "judge", "--with", "prm", "--json")
    summary = json.loads(done.stdout)
    assert summary["by_purpose"]["judge"]["calls"] > 0 and "notes" not in summary
    pairs = rows(run / "prm.jsonl")
    assert pairs and all(pair["chosen"]["mcts_stats"]["n"] > 0 for pair in pairs)
    assert all(-1 <= pair["label"]["chosen_reward"] <= 1 for pair in pairs)
    assert rows(run / "rft.jsonl")
    trees = rows(run / "trees.jsonl")
    assert all(len(tree["annotations"]["process_reward"]) == len(tree["nodes"]) for tree in trees)
    bare = rows(finished / "trees.jsonl")
    assert [tree["nodes"] for tree in trees] == [tree["nodes"] for tree in bare]

    again = esp.annotate(run, {"judge": None}, out=tmp_path / "other")
    assert rows(tmp_path / "other" / "prm.jsonl") == pairs
    assert again.summary["questions"] == 5


def test_replies_that_can_never_be_read_are_told_by_the_options_name(finished: Path, tmp_path: Path):
    with ModelServer(lambda request: completion("hm")) as server:
        done = espalier("annotate", finished, "--with", f"prm={server.url},m", "--out", tmp_path / "out")
    assert done.returncode == 4
    assert "replies for --with prm could be read, so nothing was added" in done.stderr


def test_the_model_to_ask_may_stand_behind_a_server(finished: Path, tmp_path: Path):
    verdict = completion("The second is needed. <preference> 2 over 1 </preference>")
    with ModelServer(lambda request: verdict) as server:
        with_ = f"judge={server.url},strict"
        good("annotate", finished, "--with", with_, "--out", tmp_path / "judged")
    pairs = rows(tmp_path / "judged" / "prm.jsonl")
    assert pairs and {pair["label"]["reason"] for pair in pairs} == {"The second is needed."}
    record = json.loads((tmp_path / "judged" / "run.json").read_text())
    assert record["model"]["for"] == "judge=strict"
    assert rows(finished / "prm.jsonl") == []


@pytest.mark.parametrize("journal", [True, False])
def test_a_server_that_fails_on_the_way_leaves_the_run_as_it_was(finished: Path, tmp_path: Path, journal: bool):
    run = Path(shutil.copytree(finished, tmp_path / "run"))
    data = [path for path in run.iterdir() if "journal" not in path.name]
    before = {path.name: path.read_bytes() for path in data}
    verdict = completion("<preference> 1 over 2 </preference>")
    settings = {"in_flight": 1} if journal else {"in_flight": 1, "journal": False}
    with ModelServer(lambda request: verdict if len(server.requests) <= 2 else (401, b"{}")) as server:
        with_ = {"judge": (server.url, "failing")}
        failed = esp.annotate(run, with_, **settings)
        assert failed.open == 5 - failed.summary["done"] > 0
        assert {path.name: path.read_bytes() for path in data} == before
        assert "the run's files stay as they were" in refused(
            1, "annotate", run, "--with", f"judge={server.url},failing", "--in-flight", 1
        )
        assert {path.name: path.read_bytes() for path in data} == before
        partial = esp.annotate(run, with_, out=tmp_path / "partial", in_flight=1)
        assert partial.open and len(rows(tmp_path / "partial" / "answers.jsonl")) == 5
        server.respond = lambda request: verdict
        assert esp.annotate(run, with_, **settings).open == 0
    assert rows(run / "prm.jsonl") and not (run / "run.part").exists()


def test_the_same_annotation_again_gives_the_same_bytes_and_counts_no_call_twice(finished: Path, tmp_path: Path):
    run = Path(shutil.copytree(finished, tmp_path / "run"))

    def said(request: dict[str, object]) -> str:
        return "<score> 0.5 </score>" if "score" in json.dumps(request) else "<preference> 2 over 1 </preference>"

    searched = json.loads((run / "summary.json").read_text())["calls"]
    seen = []
    with ModelServer(lambda request: completion(said(request))) as server:
        command = ["annotate", run, *(f"--with={name}={server.url},strict" for name in ("judge", "prm")), "--json"]
        for _ in range(3):
            done = good(*command)
            data = {path.name: path.read_bytes() for path in run.glob("*.jsonl") if path.stem != "costs"}
            seen.append((len(server.requests), json.loads(done.stdout)["calls"], data))
    assert seen[0] == seen[1] == seen[2]
    costs = [tree["annotation_costs"] for tree in rows(run / "trees.jsonl")]
    own = sum(tree[name][purpose]["completions"] for tree in costs for name in tree for purpose in tree[name])
    assert seen[0][1] == searched + own > searched
    assert all(tree.keys() == {"judge", "prm"} for tree in costs)


def test_what_cannot_be_annotated_is_refused_in_one_line(finished: Path, tmp_path: Path):
    jury = "unknown annotation 'jury', allowed: judge, prm, cold_start, embedding"
    assert jury in refused(2, "annotate", finished, "--with", "jury")


def test_a_run_behind_a_server_needs_the_model_to_ask(finished: Path, tmp_path: Path):
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    record = json.loads((run / "run.json").read_text())
    record["model"]["name"] = "behind-a-server"
    (run / "run.json").write_text(json.dumps(record))
    with pytest.raises(ValueError, match="give judge=URL,NAME"):
        esp.annotate(run, {"judge": None})
    with pytest.raises(ValueError, match="give embedding=URL,NAME"):
        esp.annotate(run, {"embedding": None})


def test_a_function_may_annotate_a_run_whose_own_model_thinks(data: dict[str, Any], tmp_path: Path):
    small = {"method": "prorag", "limit": 1, "set": {"simulations": 4, "annotate": "none", "thinking": "off"}}
    with ModelServer(owner="vllm") as server:
        esp.expand(**data, **small, model=server.url, model_name="m", constrain="off", out=tmp_path / "run")
    asked: list[int] = []

    def reward(prompts: list[esp.Prompt]) -> list[str]:
        asked.append(len(prompts))
        return ["<score> 0.5 </score>" for _ in prompts]

    esp.annotate(tmp_path / "run", {"prm": (reward, "half")}, out=tmp_path / "out")
    record = json.loads((tmp_path / "out/run.json").read_text())
    assert sum(asked) > 0 and record["options"]["thinking"] == "off"


@pytest.mark.parametrize("given", [{"constrain": "always"}, {"constrain": "off"}, {}])
def test_replies_may_follow_a_grammar(data: dict[str, Any], tmp_path: Path, given: dict[str, str]):
    esp.expand(**data, method="prorag", limit=1, out=tmp_path / "run", set={"simulations": 4, "annotate": "none"})
    with ModelServer(lambda request: completion("<score> 0.5 </score>"), owner="vllm") as server:
        esp.annotate(tmp_path / "run", {"prm": (server.url, "m")}, out=tmp_path / "out", **given)
        assert server.requests
        assert all(("structured_outputs" in request) == ("always" in given.values()) for request in server.requests)
    with pytest.raises(ValueError, match="option 'constrain': auto is not allowed, must be off, always, draft"):
        esp.annotate(tmp_path / "run", {"prm": None}, constrain="auto")


def test_further_options_stand_beside_those_of_the_run(data: dict[str, Any], tmp_path: Path):
    own = {"simulations": 4, "annotate": "none"}
    esp.expand(**data, method="prorag", limit=1, out=tmp_path / "run", set=own)
    esp.annotate(tmp_path / "run", {"judge": None}, out=tmp_path / "out", set={"temperature": 0.9})
    options = json.loads((tmp_path / "out/run.json").read_text())["options"]
    assert options["simulations"] == 4 and options["temperature"] == 0.9
