"""Traces of a tree written by hand, by a tokenizer with a token a byte."""

import json
import math
from pathlib import Path
from typing import Any

import espalier
import pytest
from conftest import expanded, rows
from espalier.errors import InputError
from espalier.export import export
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.export.traces.text import neutral
from exported_run import RUN
from traced_run import END, exported, ids, write_run

# A query (node 1) with two answers below it, 3 right and 4 wrong, and an answer at once, 2, which is wrong.
TREE: dict[str, Any] = {
    "id": "q1",
    "question": "Who?",
    "golden_answers": ["b"],
    "method": "prorag",
    "documents": {"d": {"title": "T", "text": "t"}},
    "nodes": [
        {"id": 0, "parent": None},
        {"id": 1, "parent": 0, "kind": "query", "text": "x", "thought": "", "documents": [{"id": "d", "score": 1}]},
        {"id": 2, "parent": 0, "kind": "answer", "text": "a", "thought": ""},
        {"id": 3, "parent": 1, "kind": "answer", "text": "b", "thought": "m"},
        {"id": 4, "parent": 1, "kind": "answer", "text": "c", "thought": ""},
        {"id": 5, "parent": 1, "kind": "answer", "text": "d", "thought": ""},  # never valued
    ],
    "rollouts": [
        {"node": number, "reward": int(text == "b"), "answer": text, "steps": []}
        for number, text in enumerate("abc", 2)
    ],
}
REWARDS = [None, 0.5, -0.5, None, 0.0, None]
TEXTS = {1: "<subquery> x </subquery>", 2: "<answer> a </answer>"}
TEXTS |= {3: "<step> m </step>\n<answer> b </answer>", 4: "<answer> c </answer>"}
DOCUMENTS = "<retrieval>\nDoc 1(Title: T) t\n</retrieval>"
ROOT = math.sqrt(1 / 3)
"""The sample deviation of the outcomes 0, 1 and 0, whose mean is 1/3."""
RIGHT, WRONG = (2 / 3) / (ROOT + 1e-4), (-1 / 3) / (ROOT + 1e-4)
PROMPT = "Q: Who?\n(nothing yet)\n>"


def recorded(folder: Path, tree: dict[str, Any] = TREE, **run: Any) -> Path:
    return write_run(folder, tree, {"step": "Q: {question}\n{history}>"}, **run)


def test_a_trace_of_prime_rl_has_each_shared_node_once(tmp_path: Path, tokenizer: str):
    [trace] = exported(recorded(tmp_path), "traces.prime_rl", tokenizer)
    share = {0: 1, 1: 2 / 3, 2: 1 / 3, 3: 1 / 3, 4: 1 / 3}
    # node: its parent, what stands before its text, its text, its advantage (None = nothing is learned)
    wanted = [
        (None, "", PROMPT, None, 0), (0, "", TEXTS[1], (RIGHT + WRONG) / 2, 1), (1, "\n", DOCUMENTS, None, 1),
        (0, "", TEXTS[2] + END, WRONG, 2), (2, "\n", TEXTS[3] + END, RIGHT, 3), (2, "\n", TEXTS[4] + END, WRONG, 4),
    ]  # fmt: skip
    assert len(trace["nodes"]) == len(wanted)
    for node, (parent, lead, text, advantage, source) in zip(trace["nodes"], wanted, strict=True):
        learned = advantage is not None
        assert node["parent"] == parent and node["sampled"] is learned
        assert node["token_ids"] == ids(lead + text)
        assert node["mask"] == [False] * len(lead) + [learned] * len(ids(text))
        assert node["logprobs"] == []
        if advantage is None:
            assert node["advantages"] is None and set(node["loss_weights"]["rl"]) == {0.0}
        else:
            assert node["advantages"] == pytest.approx([advantage] * len(ids(text)))
            weights = [0.0] * len(lead) + [share[source]] * len(ids(text))
            assert node["loss_weights"]["rl"] == pytest.approx(weights)
    roles = "user assistant tool assistant assistant assistant"
    assert " ".join(node["message"]["role"] for node in trace["nodes"]) == roles
    assert trace["nodes"][2]["message"] == {"role": "tool", "tool_call_id": "1", "content": DOCUMENTS}
    assert all(node["semantic_parents"] == [] for node in trace["nodes"])
    assert trace["rewards"] == {"outcome": {"score": pytest.approx(1 / 3), "weight": 1.0}}


def test_branches_of_trl_hold_an_advantage_for_each_token(tmp_path: Path, tokenizer: str):
    branches = exported(recorded(tmp_path), "traces.trl", tokenizer)
    assert [one["reward"] for one in branches] == [0, 1, 0]
    assert all(one["prompt_ids"] == ids(PROMPT) and one["logprobs"] is None for one in branches)
    right = branches[1]
    said = [(TEXTS[1], True), (f"\n{DOCUMENTS}\n", False), (TEXTS[3] + END, True)]
    assert right["completion_ids"] == [token for text, _ in said for token in ids(text)]
    assert right["env_mask"] == [int(own) for text, own in said for _ in ids(text)]
    assert right["advantages"] == pytest.approx([RIGHT * own for text, own in said for _ in ids(text)])


def advantages_of(run: Path, tokenizer: str, **options: Any) -> list[float]:
    """Of the nodes 1, 2, 3 and 4."""
    [trace] = exported(run, "traces.prime_rl", tokenizer, **options)
    return [node["advantages"][0] for node in trace["nodes"] if node["sampled"]]


def test_trees_are_compared_within_and_between(tmp_path: Path, tokenizer: str):
    # Nodes 3 and 4 are one tree: outcomes 1 and 0, mean 1/2, sample deviation sqrt(1/2). Node 2 is alone in its own.
    within = 0.5 / (math.sqrt(0.5) + 1e-4)
    right, wrong = RIGHT + within, WRONG - within
    wanted = [(right + wrong) / 2, WRONG, right, wrong]
    assert advantages_of(recorded(tmp_path), tokenizer, advantage="tree") == pytest.approx(wanted)


def test_process_rewards_are_added(tmp_path: Path, tokenizer: str):
    run = recorded(tmp_path, TREE | {"annotations": {"process_reward": REWARDS}})
    # Scored steps: 0.5, -0.5 and 0, mean 0, sample deviation 1/2. Node 3 has no score.
    step = 0.5 / 0.5001
    wanted = [(RIGHT + WRONG) / 2 + 0.2 * step, WRONG - 0.2 * step, RIGHT, WRONG]
    assert advantages_of(run, tokenizer, advantage="process", beta=0.2) == pytest.approx(wanted)


def test_groups_have_the_texts_and_advantages_of_their_rollouts(files: Path, tmp_path: Path, tokenizer: str):
    expanded(files, tmp_path / "run", method="prorag", limit=4, set={"grow": "group", "annotate": "prm"})
    found = exported(tmp_path / "run", "traces.trl", tokenizer, advantage="process")
    recorded_rows = list(rows(tmp_path / "run" / "rollouts.jsonl"))
    assert len(found) == len(recorded_rows) == 32
    decode = byte_tokenizer().decode
    said = {
        (one["group"], decode(one["completion_ids"]).removesuffix(END) + "\n", round(one["reward"], 6)): one
        for one in found
    }
    for row in recorded_rows:
        one = said[row["group"], row["response"], round(row["outcome_reward"], 6)]
        assert decode(one["prompt_ids"]) == row["prompt"]
        begins = [i for i, own in enumerate(one["env_mask"]) if own and (i == 0 or not one["env_mask"][i - 1])]
        wanted = [step["advantage"] for step in row["steps"]]
        assert [one["advantages"][i] for i in begins] == pytest.approx(wanted, abs=1e-6)


def test_chains_of_decex_read_as_its_rows_do(files: Path, tmp_path: Path, tokenizer: str):
    expanded(files, tmp_path / "run", method="decex", limit=6)
    found = exported(tmp_path / "run", "traces.trl", tokenizer)
    decode = byte_tokenizer().decode
    texts = [decode(one["prompt_ids"] + one["completion_ids"]) for one in found]
    first = [row for row in rows(tmp_path / "run" / "sft.jsonl") if row["id"].endswith("#0")]
    assert first
    for row in first:
        assert any(text.startswith(row["prompt"] + row["completion"]) for text in texts)
    for row in rows(tmp_path / "run" / "sft.jsonl"):
        _, _, rounds = row["prompt"].partition("### Rounds so far\n")
        shown = rounds.partition("\n### Go on")[0].replace("(nothing yet)\n", "")
        assert any(shown + row["completion"] in text for text in texts)


@pytest.mark.parametrize(
    "text", ["a < b", "[INST] [/INST] [gMASK] [a] [Ab]", "### x ## y", "&lt; & &#35;", "[[ABC]", "[A_B_C1]", "[ABC"]
)
def test_texts_are_neutralised_as_in_prompts(tmp_path: Path, text: str):
    # ProRAG's rows hold texts as prompts show them.
    folder = tmp_path / "run"
    question = {"id": "q", "question": text, "golden_answers": ["a"]}
    (tmp_path / "q.jsonl").write_text(json.dumps(question) + "\n")
    (tmp_path / "c.jsonl").write_text(json.dumps({"id": "p", "title": "t", "contents": "t\nx"}) + "\n")
    espalier.expand(
        questions=tmp_path / "q.jsonl", corpus=tmp_path / "c.jsonl", out=folder, method="prorag", model="simulated",
        set={"grow": "group"},
    )  # fmt: skip
    shown = next(iter(rows(folder / "rollouts.jsonl")))["prompt"]
    assert f"### Question\n{neutral(text)}\n\n" in shown


def test_bad_input_is_named(tmp_path: Path, tokenizer: str):
    run = recorded(tmp_path)
    with pytest.raises(InputError, match=r"question 'q1': its steps have no process rewards.*annotate RUN --with prm"):
        exported(run, "traces.trl", tokenizer, advantage="process")
    with pytest.raises(ValueError, match=r"format 'traces.trl' writes token ids and needs a tokenizer"):
        export(run, "traces.trl", out=tmp_path / "out")
    with pytest.raises(ValueError, match="advantage is 'best', allowed: outcome, tree, tree-code, process"):
        exported(run, "traces.trl", tokenizer, advantage="best")
    with pytest.raises(ValueError, match="beta is -1, allowed: 0 or more"):
        exported(run, "traces.trl", tokenizer, beta=-1)
    (tmp_path / "run.json").write_text(json.dumps({**RUN, "method": "search-o1"}))
    allowed = "allowed: decex, prorag, decouple, greedy-agent, reasonrag"
    with pytest.raises(InputError, match=f"method 'search-o1' cannot be written as traces, {allowed}"):
        exported(run, "traces.trl", tokenizer)


def test_a_method_without_process_rewards_is_named(tmp_path: Path, tokenizer: str):
    run = write_run(tmp_path, TREE | {"method": "decex"}, {"rollout": "Q: {question}\n{history}>"}, method="decex")
    (run / "trees.jsonl").write_text(json.dumps(TREE | {"method": "decex", "nodes": TREE["nodes"][:1], "rollouts": []}))
    with pytest.raises(InputError, match=r"method 'decex' have no process rewards.*allowed: prorag, reasonrag"):
        exported(run, "traces.trl", tokenizer, advantage="process")


def test_a_question_that_names_a_slot_stays_as_it_is(tmp_path: Path, tokenizer: str):
    [trace] = exported(recorded(tmp_path, TREE | {"question": "{history}?"}), "traces.prime_rl", tokenizer)
    assert trace["nodes"][0]["message"]["content"] == "Q: {history}?\n(nothing yet)\n>"


def test_a_document_that_is_not_in_the_tree(tmp_path: Path, tokenizer: str):
    run = recorded(tmp_path, TREE | {"documents": {}})
    with pytest.raises(InputError, match=r"trees.jsonl.*field 'documents.d': is missing"):
        exported(run, "traces.trl", tokenizer)


WRITTEN = {
    1: "<subquery>x</subquery>" + END,  # the turn goes on, so its end is not shown
    2: "<answer>a",  # its server keeps the stop string to itself
    3: "<step> m </step><answer>b</answer>" + END,
    4: "<think>z</think><answer>c</answer>",  # a thought that was dropped
}


def kept(run: Path, written: dict[int, str], **more: Any) -> Path:
    """A run that kept these texts' tokens, of which number i has the log-probability -i/64."""
    lines = [
        {"id": "q1", "node": node, "rollout": None, "at": 1 if node == 3 else 0, "purpose": "step", "ids": ids(text),
         "logprobs": [-i / 64 for i in range(len(ids(text)))]} | more
        for node, text in written.items()
    ]  # fmt: skip
    (run / "tokens.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return run


def test_the_tokens_that_were_sampled_reach_the_trainers(tmp_path: Path, tokenizer: str):
    merging = byte_tokenizer()
    merging.add_tokens([" x ", "<answer>"])  # so that no text is tokenised as it was sampled
    merging.save_pretrained(name := tmp_path / "merging")
    run = kept(recorded(tmp_path), WRITTEN)
    [file] = export(run, "traces.trl", out=run / "out", tokenizer=str(name), style="standard")
    assert file.left_out == {"steps that were read as other text than the model wrote": 1}
    first, third, numbers = ids(WRITTEN[1].removesuffix(END)), ids(WRITTEN[3]), [-i / 64 for i in range(64)]
    between = merging(f"\n{DOCUMENTS}\n", add_special_tokens=False)["input_ids"]
    one, two, three = rows(file.path)
    assert one["completion_ids"] == ids(WRITTEN[2]) and two["completion_ids"] == first + between + third
    assert two["env_mask"] == [1] * len(first) + [0] * len(between) + [1] * len(third)
    assert two["logprobs"] == [*numbers[: len(first)], *[0] * len(between), *numbers[: len(third)]]
    assert sum(three["env_mask"]) == len(first)  # its second step is shown alone
    [trace] = exported(run, "traces.prime_rl", str(name))
    assert [node["sampled"] for node in trace["nodes"]] == [False, True, False, True, True, False]
    assert all(len(node["logprobs"]) == sum(node["mask"]) for node in trace["nodes"])
    assert exported(kept(run, WRITTEN, purpose="step.repair"), "traces.trl", tokenizer) == []
    assert [row["branch"] for row in exported(kept(run, {2: "<answer>a"}), "traces.trl", tokenizer)] == [0]
    for wrong in ({"ids": [1.5]}, {"ids": [-1]}, {"ids": []}, {"logprobs": [-1]}, {"logprobs": ["a"] * 9}):
        with pytest.raises(InputError, match=r"tokens.jsonl.*field 'ids'"):
            exported(kept(run, {2: "<answer>a"}, **wrong), "traces.trl", tokenizer)
