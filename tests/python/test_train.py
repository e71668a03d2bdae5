"""What `espalier train` says without torch: its options, its rows, and what is missing."""

import json
from collections import Counter
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
from espalier.cli import main
from espalier.doctor.prompts import check_prompts
from espalier.errors import InputError, MissingPart
from espalier.train import SftOptions, job, sft
from espalier.train.examples import Example, Examples
from espalier.train.source import source_of

ROW = {
    "id": "q0#0", "prompt": "Q: who?", "completion": "<answer> it </answer>",
    "provenance": {"tree": "q0", "nodes": [1], "method": "decex"},
}  # fmt: skip


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "sft.jsonl").write_text(json.dumps(ROW) + "\n")
    return folder


def without_torch(name: str) -> str:
    if name == "torch":
        raise PackageNotFoundError(name)
    return "1"


def test_without_torch_the_extra_is_named(data: Path, tmp_path: Path, monkeypatch, capsys):
    monkeypatch.setattr(job, "version", without_torch)
    with pytest.raises(MissingPart, match=r"needs the package torch: pip install '\.\[train\]'"):
        sft(data=data, model="micro:1M", out=tmp_path / "out")
    code = main(["train", "sft", "--data", str(data), "--model", "micro:1M", "--out", str(tmp_path / "out")])
    error = capsys.readouterr().err
    assert code == 2 and error.count("\n") == 1 and "torch" in error
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"lr": -1.0}, "option 'lr': -1.0 is not allowed, must be 0 or more"),
        ({"eval_share": 1.0}, "option 'eval_share': 1.0 is not allowed"),
        ({"warmup": 0.6, "decay": 0.5}, "option 'decay': 0.5 is not allowed, must be at most 1 - warmup"),
        ({"divisor": "rows"}, "option 'divisor': rows is not allowed, must be tokens, weights"),
        ({"control_weight": -1.0}, "option 'control_weight'"),
        ({"gguf": "q4"}, "option 'gguf': q4 is not allowed, must be f16, q8_0"),
        ({"epoch": 1}, "unknown option 'epoch', did you mean 'epochs'"),
        ({"model": "micro:huge"}, "option 'model': micro:huge is not allowed"),
    ],
)
def test_a_bad_option_is_named(data: Path, tmp_path: Path, option: dict, message: str):
    with pytest.raises(ValueError, match=message):
        sft(**{"data": data, "model": "micro:1M", "out": tmp_path / "out", **option})


def test_what_is_missing_is_named(data: Path, tmp_path: Path):
    with pytest.raises(ValueError, match="option 'out' is missing"):
        sft(data=data, model="micro:1M")
    with pytest.raises(InputError, match=r"there is no sft.jsonl in this folder"):
        sft(data=tmp_path, model="micro:1M", out=tmp_path / "out")
    with pytest.raises(InputError, match="there is no such folder of a model"):
        sft(data=data, model=str(tmp_path / "absent"), out=tmp_path / "out")


def test_sizes_of_micro_models_are_read():
    assert [source_of(f"micro:{size}").parameters for size in ("1M", "2.5M", "300K")] == [1_000_000, 2_500_000, 300_000]


def test_where_and_how_fast_it_runs_is_no_part_of_the_plan():
    plan = SftOptions(data="d", model="m", out="o", threads=2, device="cpu", save_every=1).plan
    assert plan == SftOptions(data="e", model="m", out="p").plan


def test_lengths_are_reported():
    rows = [Example("a", [0] * length, [0.0] * (length - 1) + [1.0]) for length in (5, 1, 9, 3)]
    found = Examples(rows[:3], rows[3:], Counter({"longer than 10 tokens": 2}))
    assert list(found.lengths.values()) == [4, 18, 4, 1, 5, 9, 9, {"longer than 10 tokens": 2}]
    assert str(found).endswith("2 left out: longer than 10 tokens")


def test_the_compact_prompts_have_every_slot():
    folder = Path(__file__).parents[2] / "examples/compact_prompts"
    findings = list(check_prompts(folder, "decex"))
    assert len(findings) >= 7 and not [one for one in findings if one.state == "problem"]
    assert (folder / "rollout.txt").read_text() == "Q: {question}\n{history}>"
