"""`espalier prompts`: what it shows is what `--prompts` takes, and what it says of a folder of one's own."""

import json
from pathlib import Path

import espalier as esp
import pytest
from conftest import inputs
from espalier.cli import main
from espalier.doctor.prompts import check_prompts, is_placeholder


def states(folder: Path, method: str = "decex") -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for finding in check_prompts(folder, method):
        found.setdefault(finding.part, []).append((finding.state, finding.found))
    return found


def test_show_prints_each_prompt_with_its_slots_and_marks(capsys):
    assert main(["prompts", "show", "--method", "reasonrag"]) == 0
    shown = capsys.readouterr().out
    assert "==> evidence.txt   slots: question, query, documents   returns: <evidence></evidence>\n" in shown
    assert main(["prompts", "show", "--method", "reasonrag", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["purpose"] for row in rows] == ["begin_reasoning", "reasoning", "evidence", "forced_answer", "judge"]
    assert rows[0]["returns"][0] == {"role": "search", "open": "<query>", "close": "</query>"}
    assert all(row["text"] in shown for row in rows)


@pytest.mark.parametrize("method", esp._core.method_names())
def test_a_written_folder_is_good_and_checks_without_a_warning(capsys, tmp_path: Path, method: str):
    """Each built-in prompt has its slots, names its marks and holds nothing that a model could copy as its reply."""
    assert main(["prompts", "show", "--method", method, "--out", str(tmp_path / "p")]) == 0
    assert main(["prompts", "check", str(tmp_path / "p"), "--method", method, "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert told["problems"] == 0 and {finding["state"] for finding in told["findings"]} == {"ok"}


def test_a_run_with_the_written_folder_gives_the_trees_of_the_built_in_prompts(files: Path, tmp_path: Path):
    words = ["expand", *inputs(files), "--limit", "2", "--seed", "3"]
    main(["prompts", "show", "--out", str(tmp_path / "prompts")])
    assert main([*words, "--out", str(tmp_path / "plain")]) == 0
    assert main([*words, "--prompts", str(tmp_path / "prompts"), "--out", str(tmp_path / "own")]) == 0
    trees = [json.loads((tmp_path / name / "trees.jsonl").read_text().splitlines()[0]) for name in ("plain", "own")]
    assert trees[0]["nodes"] == trees[1]["nodes"] and trees[0]["costs"] == trees[1]["costs"]


def test_shots_are_shown_and_reach_pythons_methods(tmp_path: Path, capsys):
    assert main(["prompts", "show", "--set", "shots=1", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "rollout.txt").read_text()
    assert text.count("### Examples") == 1 and "<search> country of the Danube's mouth </search>" in text
    asked: list[str] = []

    def model(prompts):
        asked.extend(prompt.text for prompt in prompts)
        return ["<answer> Rome </answer>"] * len(prompts)

    question = esp.Question("q", "Where?")
    for shots in (0, 1):
        method = esp.Method("decex", answer=True, set={"shots": shots})
        esp.run(method, [question], model=model, retriever=lambda queries: [[] for _ in queries])
    assert ["### Examples" in text for text in asked] == [False, True]
    capsys.readouterr()
    assert main(["prompts", "show", "--set", "shots=3"]) == 2
    assert "option 'shots' is 3, allowed: 0 to 2" in capsys.readouterr().err


def test_show_never_writes_over_another_text(tmp_path: Path, capsys):
    (tmp_path / "rollout.txt").write_text("mine")
    assert main(["prompts", "show", "--out", str(tmp_path)]) == 2
    assert "rollout.txt exists and holds another text" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["rollout.txt"]


def test_check_names_the_file_and_what_is_wrong_with_it(tmp_path: Path, capsys):
    (tmp_path / "rollout.txt").write_text("{question} <search> query </search> or <answer> the answer </answer>")
    (tmp_path / "own_answer.txt").write_text("{question} {histroy}\n<answer> Danube </answer>")
    (tmp_path / "sub_question.txt").write_text("Split {question}.")
    (tmp_path / "sub_query.txt").write_bytes(b"\xff{question}")
    (tmp_path / "termnation.txt").write_text("{question}")
    (tmp_path / "notes.md").write_text("no prompt")
    found = states(tmp_path)
    assert found["rollout.txt"] == [
        ("problem", "lacks the slot {history}"),
        ("problem", 'a model may copy "query", "the answer" as its reply'),
    ]
    assert found["own_answer.txt"] == [
        ("warning", "{histroy} is no slot of this prompt and stays as it is"),
        ("warning", 'a model may copy "Danube" as its reply'),
    ]
    assert found["sub_question.txt"] == [("warning", "never names the mark <question> (question)")]
    assert found["sub_query.txt"] == [("problem", "byte 1 is not UTF-8")]
    assert found["termnation.txt"] == [("problem", "no prompt of decex has this name")]
    assert found["other prompts"] == [("ok", "built-in: termination, forced_answer, next_question")]
    assert main(["prompts", "check", str(tmp_path)]) == 2
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if "termnation.txt" in line)
    assert lines[at + 1].strip() == "did you mean termination.txt?"


def test_a_folder_that_is_none_is_a_problem_and_an_empty_one_a_warning(tmp_path: Path):
    assert states(tmp_path / "none") == {str(tmp_path / "none"): [("problem", "is not a folder of prompts")]}
    assert main(["prompts", "check", str(tmp_path / "none")]) == 2
    assert [state for state, _ in states(tmp_path)[str(tmp_path)]] == ["warning"]
    assert main(["prompts", "check", str(tmp_path)]) == 0


def test_placeholders_say_what_belongs_there_and_examples_do_not():
    for text in ("query", "the answer", "...", "one short query", "plan, search", "your thoughts"):
        assert is_placeholder(text), text
    for text in ("Danube", "0.5", "capital of Kenya", "none", "2 over 1"):
        assert not is_placeholder(text), text
