"""The peak of memory that is said beforehand, against the one that is measured."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import espalier
import pytest
import transformers
from espalier.export.byte_tokenizer import byte_tokenizer

VIEW = """
import re, sys
from pathlib import Path
from espalier.runs.progress import ProgressView
from espalier.train import grpo, sft
class View(ProgressView):
    def say(self, line): print(line)
"""

SFT = """
sft(data=sys.argv[1], model=sys.argv[2], out=sys.argv[3], device="cpu", threads=1, max_steps=3, save_every=0,
    batch_tokens=int(sys.argv[4]), context_weight=0.2, max_length=1024, progress=View())
"""

GRPO = """
import espalier.train.policy_gradient as policy_gradient
from espalier.train.rollouts import Rollouts
ROWS, ASKED, SAID = 8, 500, 200
def sampler(model, names, step):
    rewards = {name: [1.0, 0.0] for name in names}
    ids = lambda length: [[i % 256 for i in range(length)]] * ROWS
    return Rollouts(ids(ASKED), ids(SAID), [1] * ROWS, [1.0, -1.0] * (ROWS // 2), rewards)
policy_gradient.Sampler = lambda setup: sampler
grpo(questions=sys.argv[1] + "/questions.jsonl", corpus=sys.argv[1] + "/corpus.jsonl", model=sys.argv[2],
     out=sys.argv[3], device="cpu", threads=1, steps=2, save_every=0, progress=View())
"""

MEASURED = """
# Not ru_maxrss, which a child takes over from the process that started it.
print("measured", 1024 * int(re.search(r"VmHWM:\\s+([0-9]+)", Path("/proc/self/status").read_text())[1]))
"""


def foretold_within_a_tenth(program: str, *arguments: object) -> None:
    words = [sys.executable, "-c", VIEW + program + MEASURED, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    [said] = re.findall(r"peak memory about ([\d.]+) GiB", done.stdout)
    measured = int(re.search(r"measured (\d+)", done.stdout)[1]) / 2**30
    assert abs(float(said) - measured) <= 0.1 * measured, (said, measured)


@pytest.mark.parametrize(("model", "tokens"), [("micro:1M", 16384), ("micro:3M", 8192)])
def test_the_peak_is_foretold_within_a_tenth(run: Path, tmp_path: Path, model: str, tokens: int):
    foretold_within_a_tenth(SFT, run, model, tmp_path / "out", tokens)


def test_the_peak_of_samples_is_foretold_once_their_lengths_are_known(tmp_path: Path):
    espalier.write_world(tmp_path, passages=60, questions=4, seed=5, max_hops=1)
    shape = {"hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 6, "num_attention_heads": 4}
    config = transformers.LlamaConfig(vocab_size=8192, eos_token_id=256, pad_token_id=256, **shape)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    byte_tokenizer().save_pretrained(tmp_path / "model")
    foretold_within_a_tenth(GRPO, tmp_path, tmp_path / "model", tmp_path / "out")
