"""The example that makes a model better in rounds."""

import json
import subprocess
import sys
from pathlib import Path

import espalier

EXAMPLES = Path(__file__).parents[2] / "examples"
SMALL = ("device=cpu", "threads=1", "max_steps=2", "batch_tokens=4096")


def test_the_rounds_are_runs_and_trainings_and_are_recognised(tmp_path: Path):
    espalier.write_world(tmp_path, passages=200, questions=12, seed=5, max_hops=2)
    words = [sys.executable, EXAMPLES / "improve.py", "--student", "micro:300K", "--rounds", "1"]
    words += ["--questions", tmp_path / "questions.jsonl", "--corpus", tmp_path / "corpus.jsonl"]
    words += ["--prompts", EXAMPLES / "compact_prompts", "--set", "n=2", "--set", "k=2", "--set", "documents=1"]
    words += ["--set", "max_tokens=8", "--out", tmp_path / "out"]
    words += [word for stage in ("sft", "dpo") for one in SMALL for word in ("--train", f"{stage}.{one}")]
    said = []
    for _ in range(2):
        done = subprocess.run(words, capture_output=True, encoding="utf-8", timeout=300)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1] and "EM" in said[0] and said[0].endswith("round-1/dpo\n")
    rows = {name: (tmp_path / f"out/{name}.jsonl").read_text().splitlines() for name in ("questions", "held_out")}
    assert len(rows["held_out"]) == 3
    assert not {json.loads(row)["question"] for row in rows["held_out"]} & {
        json.loads(row)["question"] for row in rows["questions"]
    }
    trained = json.loads((tmp_path / "out/round-1/dpo/training.json").read_text())
    assert trained["model"]["name"] == "sft"
    model = json.loads((tmp_path / "out/round-1/answers/run.json").read_text())["model"]["name"]
    assert model.startswith("dpo@")
