"""Training rows in the formats of trainers: known rows worked out by hand, properties, bad input."""

import copy
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from conftest import espalier as command
from conftest import inputs, rows
from espalier.errors import InputError, MissingPart
from espalier.export import FORMATS, export
from exported_run import CHAT, HOSTILE, JUDGED, PAIR, PROMPT, ROLLOUT, SCORED, SFT, STEP, exported, said, write_run
from hypothesis import given, settings
from hypothesis import strategies as st

COMPLETION = SFT["completion"]
META = {"tree": "q1", "nodes": [1, 4]}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", sft=[SFT], dpo=[PAIR])


MESSAGES = {"messages": [said("user", PROMPT), said("assistant", COMPLETION)]}
TURNS = [{"from": "human", "value": PROMPT}, {"from": "gpt", "value": COMPLETION}]
SIDES = {"prompt": [said("user", PROMPT)], "completion": [said("assistant", COMPLETION)]}
ALPACA = {"instruction": PROMPT, "input": "", "output": COMPLETION, "system": "", "history": []}


@pytest.mark.parametrize(
    ("format", "style", "own"),
    [
        ("sft.prompt_completion", "conversational", SIDES),
        ("sft.prompt_completion", "standard", {"prompt": PROMPT, "completion": COMPLETION}),
        ("sft.messages", "conversational", MESSAGES),
        ("sft.verl", "conversational", MESSAGES),
        ("sft.sharegpt", "conversational", {"system": "", "conversations": TURNS}),
        ("sft.alpaca", "conversational", ALPACA),
    ],
)
def test_a_row_in_each_format(run: Path, format: str, style: str, own: dict[str, Any]):
    assert exported(run, format, style=style) == {"id": "q1#0", "meta": META, **own}


def test_a_conversation(tmp_path: Path):
    run = write_run(tmp_path / "run", sft=[CHAT])
    documents, last = said("tool", "Doc 1"), said("assistant", "So.\nFinish(y)")
    before = [said("system", "Solve."), said("user", "Who?")]
    first = said("assistant", "Hm.\nSearch(x)")
    assert exported(run, "sft.messages")["messages"] == [*before, first, documents, last]
    turns = exported(run, "sft.prompt_completion")
    assert [(row["id"], row["prompt"], row["completion"]) for row in turns] == [
        ("q1#9/2", before, [first]),
        ("q1#9/4", [*before, first, documents], [last]),
    ]
    told = [(turn["from"], turn["value"]) for turn in exported(run, "sft.sharegpt")["conversations"]]
    assert told[:2] == [("human", "Who?"), ("gpt", "Hm.\nSearch(x)")]
    assert told[2:] == [("observation", "Doc 1"), ("gpt", "So.\nFinish(y)")]
    alpaca = exported(run, "sft.alpaca")
    assert (alpaca["system"], alpaca["instruction"], alpaca["output"]) == ("Solve.", "Doc 1", "So.\nFinish(y)")
    assert alpaca["history"] == [["Who?", "Hm.\nSearch(x)"]]
    with pytest.raises(ValueError, match="no standard form"):
        export(run, "sft.prompt_completion", out=tmp_path / "out", style="standard")


def test_a_pair_that_parts_within_a_thought_keeps_the_thought_on_the_assistants_side(run: Path):
    sides = {"chosen": [said("assistant", "<think> Hm </think>\n<answer> a </answer>")]}
    sides["rejected"] = [said("assistant", f"<think> Hm {HOSTILE}")]
    named = {"id": "q1#1>2", "meta": {"tree": "q1", "nodes": [1, 2]}, "prompt": [said("user", PROMPT)]}
    assert exported(run, "dpo.explicit") == named | sides
    standard = exported(run, "dpo.explicit", style="standard")
    assert all(standard[name] == PAIR[name] for name in ("prompt", "chosen", "rejected"))


def test_llamafactory_pairs(run: Path):
    better, worse = "<think> Hm </think>\n<answer> a </answer>", f"<think> Hm {HOSTILE}"
    row = exported(run, "dpo.sharegpt_ranking")
    assert row["conversations"] == [{"from": "human", "value": PROMPT}]
    assert (row["chosen"], row["rejected"]) == ({"from": "gpt", "value": better}, {"from": "gpt", "value": worse})
    row = exported(run, "dpo.alpaca_ranking")
    assert (row["instruction"], row["input"], row["chosen"], row["rejected"]) == (PROMPT, "", better, worse)


def test_dataset_info_names_every_column_and_keeps_the_entries_of_others(run: Path, tmp_path: Path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "dataset_info.json").write_text('{"mine": {"file_name": "x.json"}}')
    export(run, ["sft.sharegpt", "sft.messages", "dpo.alpaca_ranking", "dpo.explicit"], out=out)
    info = json.loads((out / "dataset_info.json").read_text())
    assert info["mine"] == {"file_name": "x.json"} and len(info) == 4
    entry = info["sft_messages"]
    assert entry["formatting"] == "sharegpt" and entry["tags"]["observation_tag"] == "tool"
    assert info["sft_sharegpt"]["file_name"] == "sft_sharegpt.json"
    assert info["sft_sharegpt"]["columns"] == {"messages": "conversations", "system": "system"}
    columns = {"prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected"}
    pairs = {"file_name": "dpo_alpaca_ranking.json", "formatting": "alpaca", "ranking": True, "columns": columns}
    assert info["dpo_alpaca_ranking"] == pairs


def test_pairs_of_a_judge(tmp_path: Path):
    run = write_run(tmp_path / "run", prm=[JUDGED])
    row = exported(run, "prm.pairwise", style="standard")
    texts = {"prompt": "Question: Who?\n(nothing yet)\n", "chosen": "good", "rejected": "bad"}
    assert row == {"id": "q1#5>6", "meta": {"tree": "q1", "nodes": [5]}, **texts}
    assert exported(run, "prm.pairwise", style="standard", margin=True) == {**row, "margin": 1.0}
    against = copy.deepcopy(JUDGED)
    against["label"] |= {"chosen_reward": -1, "rejected_reward": 1}
    assert exported(write_run(run, prm=[against]), "prm.pairwise", margin=True)["margin"] == 0
    against["label"]["chosen_reward"] = None
    with pytest.raises(ValueError, match="q1#5>6"):
        exported(write_run(run, prm=[against]), "prm.pairwise", margin=True)


def test_steps_with_the_share_of_good_chains(tmp_path: Path):
    run = write_run(tmp_path / "run", prm=[SCORED])
    row = {"id": "q1#8", "meta": {"tree": "q1", "nodes": [8]}, "prompt": "Who?"}
    row["completions"] = ["query: x\nsub_answer: y", "answer: z"]
    row |= {"labels": [True, False], "values": [0.75, 0.25]}
    assert exported(run, "prm.stepwise") == row
    assert exported(run, "prm.stepwise", threshold=0.25) == {**row, "labels": [True, True]}


def test_steps_of_rollouts_leave_documents_out(tmp_path: Path):
    row = exported(write_run(tmp_path / "run", rollouts=[ROLLOUT]), "prm.stepwise")
    assert (row["prompt"], row["completions"], row["labels"]) == ("P\n", ["é one", "two"], [True, False])


def test_questions(run: Path):
    first, second = exported(run, "rl.prompts")
    prompt = [said("user", HOSTILE)]
    assert first == {"id": "q1", "prompt": prompt, "question": HOSTILE, "answers": ["a", HOSTILE]}
    assert second["answers"] == ["b"]
    assert exported(run, "rl.prompts", style="standard")[1]["prompt"] == "Where?"
    _, row = exported(run, "rl.verl", data_source="searchR1_nq")
    truth = {"target": ["b"]}
    created = {"ground_truth": truth, "question": "Where?", "data_source": "searchR1_nq"}
    more = {"index": "q2", "split": "train", "question": "Where?", "need_tools_kwargs": True}
    assert row == {
        "data_source": "searchR1_nq",
        "prompt": [said("user", "Where?")],
        "ability": "fact-reasoning",
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": more | {"tools_kwargs": {"search": {"create_kwargs": created}}},
    }


def test_the_card_says_what_is_simulated_and_lets_nothing_break_out(run: Path):
    export(run, ["sft.messages", "dpo.explicit"], out=run / "out", licences=["questions: CC BY-SA 4.0", "<b>x</b>"])
    card = (run / "out" / "README.md").read_text()
    assert "**Simulated:**" in card and "**Oracle:**" in card
    assert "| sft\\_messages.jsonl | sft.messages | sft.jsonl | 1 | trl, llamafactory |" in card
    assert "- questions: CC BY-SA 4.0" in card
    assert "<script>" not in card and "<b>" not in card and "&lt;script&gt;\\|\\`x\\`" in card


FILES = {
    ("sft", "conversational"): ["sft.prompt_completion", "sft.messages", "sft.sharegpt", "sft.alpaca", "sft.verl"],
    ("sft", "tools"): ["sft.messages", "sft.prompt_completion", "sft.sharegpt"],
    ("dpo", "conversational"): ["dpo.explicit", "dpo.sharegpt_ranking", "dpo.alpaca_ranking", "prm.pairwise"],
    ("dpo", "tools"): ["dpo.explicit", "dpo.sharegpt_ranking"],
    ("trees", "conversational"): ["rl.prompts", "rl.verl"],
}


@settings(max_examples=60, deadline=None)
@given(prompt=st.text(), chosen=st.text(), rejected=st.text())
def test_any_text_stays_as_it_is_in_one_line_and_on_its_side(prompt: str, chosen: str, rejected: str):
    pair = copy.deepcopy(PAIR) | {"prompt": prompt, "chosen": chosen, "rejected": rejected}
    with TemporaryDirectory() as folder:
        run = write_run(Path(folder) / "run", dpo=[pair])
        explicit, ranked = export(run, ["dpo.explicit", "dpo.alpaca_ranking"], out=run / "out", style="standard")
        [row] = rows(explicit.path)
        assert (row["prompt"], row["chosen"], row["rejected"]) == (prompt, chosen, rejected)
        [row] = json.loads(ranked.path.read_text(encoding="utf-8"))
        assert row["instruction"] + row["chosen"] == prompt + chosen
        assert row["instruction"] + row["rejected"] == prompt + rejected


@pytest.mark.parametrize("method", ["decex", "prorag", "reasonrag"])
def test_a_real_run_gives_as_many_rows_as_it_has_and_the_same_bytes_again(files: Path, tmp_path: Path, method: str):
    run, small = tmp_path / "run", ["--set", "simulations=8"] if method != "decex" else []
    done = command("expand", "--method", method, *inputs(files), "--limit", 8, *small, "--out", run)
    assert done.returncode in (0, 4), done.stderr  # 4: the simulated model may fail a question
    for (product, style), formats in FILES.items():
        if not (run / f"{product}.jsonl").exists():
            continue
        one, two = (tmp_path / out / style / product for out in ("one", "two"))
        for out in (one, two):
            made = export(run, formats, out=out, style=style)
            assert {file.rows for file in made} == {len(rows(run / f"{product}.jsonl"))}
        for file in one.iterdir():
            assert file.read_bytes() == (two / file.name).read_bytes(), file.name
    if method == "decex":
        for row in rows(tmp_path / "one/tools/sft/sft_messages.jsonl"):
            [call] = row["messages"][-1]["tool_calls"]
            assert call["function"]["name"] in ("search", "answer") and "<" not in row["messages"][-1]["content"]
    if method == "prorag":
        return
    pairs, made = rows(tmp_path / "run" / "dpo.jsonl"), rows(tmp_path / "one/conversational/dpo/dpo_explicit.jsonl")
    for pair, row in zip(pairs, made, strict=True):
        [prompt], [chosen], [rejected] = row["prompt"], row["chosen"], row["rejected"]
        assert prompt["content"] + chosen["content"] == pair["prompt"] + pair["chosen"]
        assert prompt["content"] + rejected["content"] == pair["prompt"] + pair["rejected"]
        assert "<think>" not in prompt["content"][prompt["content"].rfind("</think>") + 1 :] or method != "decex"


@pytest.mark.parametrize(
    ("product", "row", "path", "value", "message"),
    [
        ("sft", SFT, ["prompt"], 3, "sft.jsonl:1: field 'prompt': should be a text"),
        ("sft", SFT, ["completion"], None, "field 'completion': should be a text"),
        ("sft", SFT, ["completion"], "\ud800", "sft.jsonl:1: holds half of a surrogate pair"),
        ("sft", SFT, ["provenance", "nodes"], [True], "field 'provenance.nodes'"),
        ("sft", STEP, ["weights"], [[0, 11, 1]], "field 'weights': should hold"),
        ("sft", STEP, ["weights"], [[0, 3, 1], [2, 4, 1]], "field 'weights': should hold"),
        ("sft", CHAT, ["messages", 2, "role"], "robot", r"field 'messages\[2\].role': is 'robot'"),
        ("sft", CHAT, ["messages", 2, "value_at"], 99, r"field 'messages\[2\].value_at'"),
        ("sft", CHAT, ["messages"], [], "field 'messages': should end with the assistant"),
        ("dpo", PAIR, ["provenance", "margin"], "1", "field 'provenance.margin': should be a number"),
        ("prm", SCORED, ["steps", 0, "score"], True, r"field 'steps\[0\].score': should be a number"),
        ("rollouts", ROLLOUT, ["steps", 0, "span"], [0, 99], r"field 'steps\[0\].span'"),
        ("rollouts", ROLLOUT, ["steps", 0, "process_reward"], None, "annotate RUN --with prm"),
    ],
)
def test_bad_rows_are_named_and_nothing_is_written(tmp_path, product, row, path, value, message):
    bad: Any = copy.deepcopy(row)
    inner = bad
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    run = write_run(tmp_path / "run", **{product: [bad]})
    format = {"sft": "sft.messages", "dpo": "dpo.explicit", "prm": "prm.stepwise", "rollouts": "prm.stepwise"}[product]
    with pytest.raises(InputError, match=message):
        export(run, ["rl.prompts", format], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_bad_files(run: Path, tmp_path: Path):
    for text, message in (
        ("{", "is not JSON"),
        ("[]\n", "sft.jsonl:1: is not an object"),
        ('{"id": NaN}', "NaN, which is no JSON"),
        ('{"id": "a"}\n', "field 'prompt': is missing"),
        (2 * (json.dumps(SFT) + "\n"), "'q1#0' stands twice"),
        ("", "no rows"),
    ):
        (run / "sft.jsonl").write_text(text)
        with pytest.raises(InputError, match=message):
            export(run, "sft.messages", out=tmp_path / "out")
    with pytest.raises(InputError, match="nothing to make"):
        export(run, "prm.stepwise", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        *(("formats", "sft", "format is 'sft', allowed: sft.prompt_completion"), ("formats", [], "no format is named")),
        ("formats", "sft.mesages", "unknown format 'sft.mesages', did you mean 'sft.messages'"),
        *(("style", "chatty", "style is 'chatty'"), ("product", "dpo", "'sft.messages' is not made of dpo.jsonl")),
        *(("max_length", 0, "max_length is 0"), ("formats", "sft.tokens", "needs a tokenizer")),
    ],
)
def test_bad_options(run: Path, name: str, value: object, message: str):
    with pytest.raises(ValueError, match=message):
        export(run, **{"formats": "sft.messages", "out": run / "out", name: value})


def test_parts_that_are_not_there_are_named(run: Path, monkeypatch: pytest.MonkeyPatch):
    for name in ("pyarrow", "pyarrow.parquet", "transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingPart, match=r"pip install pyarrow"):
        export(run, "rl.verl", out=run / "out")
    with pytest.raises(MissingPart, match=r"pip install transformers"):
        export(run, "sft.messages", out=run / "out", tokenizer="any")


def test_the_command(run: Path, tmp_path: Path):
    help = command("export", "--help").stdout
    assert all(format in help for format in FORMATS)
    done = command("export", run, "--format", "sft.messages", "--out", tmp_path / "out")
    assert "1 rows of sft.jsonl, for trl, llamafactory" in done.stdout and done.returncode == 0, done.stderr
    for bad, code in ((["--format", "sft.messages"], 2), (["--format", "no", "--out", "x"], 2), (["more"], 2)):
        assert command("export", run, *bad).returncode == code
    assert command("export", tmp_path / "none", "--format", "sft.messages", "--out", "x").returncode == 3
