"""`improve`: rounds of trees, SFT, DPO and answers, each step in a folder of its own."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import espalier
import pytest
from espalier.cli import main
from espalier.errors import InputError
from espalier.io.files import working
from espalier.rounds.figures import why_stopped
from espalier.rounds.options import ImproveOptions, improve_options
from espalier.rounds.page import page
from espalier.rounds.questions import choose
from espalier.rounds.table import HEADER, rounds_table

COMPACT = Path(__file__).parents[2] / "examples/compact_prompts"
TRAINING = {"device": "cpu", "threads": 1, "max_steps": 2, "batch_tokens": 4096}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world")
    espalier.write_world(folder, passages=200, questions=12, seed=5, max_hops=2)
    return folder


def given(world: Path, **more: Any) -> dict[str, Any]:
    return {
        "questions": world / "questions.jsonl",
        "corpus": world / "corpus.jsonl",
        "model": "simulated",
        "student": "micro:300K",
        "prompts": COMPACT,
        "constrain": "off",
        "eval_share": 0.4,
        "set": {"documents": 1, "n": 2, "k": 2},
        "answer_set": {"max_tokens": 8},
        "sft": TRAINING,
        "dpo": TRAINING,
        **more,
    }


def simulated(self: ImproveOptions, folder: Path) -> dict[str, str]:
    """Stands for trained models, which would have to learn for minutes before they are right."""
    return {"model": "simulated", "model_name": ""}


@pytest.fixture(scope="module")
def finished(world: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("improved") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ImproveOptions, "trained", simulated)
        espalier.improve(**given(world, out=out, rounds=3))
    return out


@pytest.fixture
def done(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a finished improvement of two rounds, whose trained models are played by the simulated one."""
    monkeypatch.setattr(ImproveOptions, "trained", simulated)
    return Path(shutil.copytree(finished, tmp_path / "out"))


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_the_steps_are_runs_and_trainings(world: Path, done: Path):
    result = json.loads((done / "rounds.json").read_text())
    held_out = {row["id"] for row in lines(done / "held_out.jsonl")}
    learned = {row["id"] for row in lines(done / "questions.jsonl")}
    assert held_out and not held_out & learned
    assert held_out | learned == {row["id"] for row in lines(world / "questions.jsonl")}
    forms = []
    for number, one in enumerate(result["rounds"], 1):
        folder = done / f"round-{number}"
        forms.append(json.loads((folder / "trees/run.json").read_text())["options"]["form"])
        assert {row["provenance"]["tree"] for row in lines(folder / "trees/dpo.jsonl")} <= learned
        assert one["sft"]["rows"] == len(lines(folder / "trees/sft.jsonl"))
        assert one["dpo"]["rows"] == len(lines(folder / "trees/dpo.jsonl"))
        answers = lines(folder / "answers/answers.jsonl")
        assert {row["id"] for row in answers} == held_out
        gold = {row["id"]: row["golden_answers"] for row in lines(world / "questions.jsonl")}
        right = [row["answer"] in gold[row["id"]] for row in answers]
        assert one["answers"]["em"]["mean"] == pytest.approx(sum(right) / len(right))
    assert forms == ["prompts", "policy"]
    first, second = (json.loads((done / f"round-{n}/sft/training.json").read_text())["model"] for n in (1, 2))
    assert first["kind"] == "micro"
    assert second["name"] == "dpo"


def test_it_stops_where_a_round_brings_no_certain_gain(done: Path):
    result = json.loads((done / "rounds.json").read_text())
    assert len(result["rounds"]) == 2, "both rounds have the answers of the simulated model, and the third is not begun"
    assert result["rounds"][1]["gain"]["em"] == {"difference": 0, "interval": [0, 0], "p": 1}
    assert result["stopped"].startswith("stopped after round 2: the interval of its gain holds 0")
    assert result["stopped"] in (done / "rounds.html").read_text()


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.01, 0.2, ""), (-0.1, 0.1, "holds 0"), (0, 0.1, "holds 0"), (-0.2, -0.1, "below 0")]
)
def test_a_gain_is_certain_above_0_alone(low: float, high: float, said: str):
    stopped = why_stopped(1, {"difference": (low + high) / 2, "interval": [low, high]})
    assert said in stopped and bool(said) == bool(stopped)


@pytest.mark.parametrize("removed", ["round-1/trees", "round-1/dpo", "round-2/sft", "round-2/answers", "start"])
def test_a_step_that_was_lost_is_done_again(world: Path, done: Path, removed: str):
    before = {name: (done / name).read_bytes() for name in ("rounds.json", "rounds.html", "improve.json")}
    kept = [done / name for name in ("round-1/sft", "round-2/dpo") if not removed.startswith(name)]
    times = [(folder / "training.json").stat().st_mtime_ns for folder in kept]
    shutil.rmtree(done / removed)
    for name in before:
        (done / name).unlink()
    espalier.improve(**given(world, out=done, rounds=3))
    assert {name: (done / name).read_bytes() for name in before} == before
    assert [(folder / "training.json").stat().st_mtime_ns for folder in kept] == times


def test_other_options_are_refused_by_name(world: Path, done: Path):
    for change, said in (
        ({"set": {"documents": 1, "n": 2, "k": 3}}, r"another 'set\.k' \(2, not 3\)"),
        ({"sft": {**TRAINING, "lr": 1e-4}}, r"another 'sft\.lr' \(None, not 0\.0001\)"),
        ({"seed": 2}, r"another 'seed' \(None, not 2\)"),
        ({"student": "micro:400K"}, "another 'student'"),
    ):
        with pytest.raises(InputError, match=f"{done}: was begun with {said}.*--overwrite"):
            espalier.improve(**given(world, out=done, **change))
    changed = given(world, out=done, rounds=1, dpo={**TRAINING, "beta": 0.2}, overwrite=True)
    assert len(espalier.improve(**changed)["rounds"]) == 1
    assert json.loads((done / "improve.json").read_text())["dpo.beta"] == 0.2


def test_where_and_how_it_runs_may_change(world: Path, done: Path):
    more = {"in_flight": 1, "sft": {**TRAINING, "save_every": 1}}
    again = espalier.improve(**given(world, out=done, rounds=2, **more))
    assert again == json.loads((done / "rounds.json").read_text())


def test_a_model_is_known_without_its_address_folder_and_device(world: Path, tiny: Path, tmp_path: Path):
    def model(name: str, **more: str) -> str:
        return improve_options(given(world, out=tmp_path, model=name, **more)).resolved["model"]

    assert model(f"hf:{tiny}?device=cpu&batch=4") == model(f"hf:{tiny}") == "hf:tiny"
    assert model("http://user:secret@localhost:1/v1", model_name="large") == "large"


def test_a_folder_that_is_at_work(world: Path, tmp_path: Path):
    with working(tmp_path / "out", "espalier improve"), pytest.raises(InputError, match="espalier improve"):
        espalier.improve(**given(world, out=tmp_path / "out"))


def test_a_trained_model_answers_in_this_process(world: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["improve", "--out", str(tmp_path / "out"), "--rounds", "1", "--model", "simulated", "--constrain", "off"]
    words += ["--questions", str(world / "questions.jsonl"), "--corpus", str(world / "corpus.jsonl")]
    words += ["--student", "micro:300K", "--prompts", str(COMPACT), "--set", "n=2", "--answer-set", "max_tokens=8"]
    for stage in ("--sft", "--dpo"):
        words += [word for name, value in TRAINING.items() for word in (stage, f"{name.replace('_', '-')}={value}")]
    assert main(words) == 0
    said = capsys.readouterr().out.splitlines()
    steps = ["start, answers", "round 1, trees", "round 1, sft", "round 1, dpo", "round 1, answers", "round 1, gain"]
    assert [line.partition(":")[0] for line in said[:6]] == steps
    assert "(simulated, oracle)" in said[1] and said[6].startswith("round  trees by")
    model = json.loads((tmp_path / "out/round-1/answers/run.json").read_text())["model"]["name"]
    assert model.startswith("dpo@")


def test_a_question_that_is_held_out_is_not_trained_on_under_another_id(world: Path, tmp_path: Path):
    rows = lines(world / "questions.jsonl")
    held_out = tmp_path / "held_out_questions.jsonl"
    held_out.write_text("".join(json.dumps({**row, "id": f"x{i}"}) + "\n" for i, row in enumerate(rows[:3])))
    options = improve_options(given(world, out=tmp_path, eval_questions=held_out))
    learned, asked = choose(options)
    assert [row.text for row in asked] == [row["question"] for row in rows[:3]]
    assert [json.loads(row.line) for row in learned] == rows[3:]
    with pytest.raises(InputError, match="no question is left to train on, of 12"):
        choose(improve_options(given(world, out=tmp_path, eval_questions=world / "questions.jsonl")))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "decex"}, "there is no option 'method'"),
        ({"sft": {"lrr": "1"}}, "sft: unknown option 'lrr', did you mean 'lr'"),
        ({"sft": {"lr": "fast"}}, "sft: option 'lr': fast is not allowed, must be a number"),
        ({"dpo": {"beta": 0}}, "dpo: option 'beta': 0 is not allowed, must be above 0"),
        ({"dpo": {"model": "x"}}, "dpo: option 'model' is set by the loop itself"),
        ({"set": {"kk": 1}}, "kk"),
        ({"answer_set": {"max_token": 1}}, "max_token"),
        ({"rounds": 0}, "option 'rounds': 0 is not allowed, must be 1 or more"),
        ({"eval_share": 1}, "option 'eval_share': 1 is not allowed"),
        ({"student": ""}, "option 'student' is missing: 'simulated' has no weights"),
        ({"student": "micro:huge"}, "micro:huge is not allowed"),
        ({"corpsu": "c"}, "corpsu"),
        ({"questions": None}, "option 'questions' is missing"),
    ],
)
def test_a_bad_option_is_named_before_anything_is_done(world: Path, tmp_path: Path, change: dict, message: str):
    with pytest.raises(ValueError, match=message):
        espalier.improve(**given(world, out=tmp_path / "out", **change))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["questions", "eval_questions", "student"])
def test_a_missing_file_is_named(world: Path, tmp_path: Path, name: str):
    with pytest.raises(InputError, match="absent"):
        espalier.improve(**given(world, out=tmp_path / "out", **{name: str(tmp_path / "absent")}))
    assert not (tmp_path / "out").exists()


def test_nothing_in_the_page_is_markup_of_others():
    score = {"mean": 0.5, "interval": [0.25, 0.75]}
    answers = {"model": "<script>x</script>", "simulated": False, "calls": 8, "questions": 4, "em": score, "f1": score}
    trees = {"model": "simulated", "simulated": True, "oracle": True, "questions": 4, "calls": 1200}
    rounds = [
        {
            "round": 1, "trees": trees, "sft": {"rows": 9}, "dpo": {"rows": 6}, "answers": answers,
            "gain": {"em": {"difference": 0.25, "interval": [0.0, 0.5], "p": 0.5}},
        }
    ]  # fmt: skip
    result = {"method": "<decex>", "start": answers, "rounds": rounds, "stopped": "stopped & done"}
    text = page(result)
    assert "<script" not in text and "&lt;script&gt;x" in text and "stopped &amp; done" in text
    row = dict(zip(HEADER, rounds_table(result).rows[1], strict=True))
    assert row["trees by"] == "simulated (oracle)" and row["pairs per question"] == "1.5"
    assert (row["EM"], row["EM 95 %"], row["gain of EM"]) == ("50.0", "25.0 to 75.0", "+25.0")
    assert 'cy="100.0" r="4"' in text  # EM 0.5 lies halfway between 10, which is 1, and 220 - 30, which is 0
