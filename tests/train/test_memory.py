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
from espalier.train.adapters import with_adapters
from espalier.train.memory import adapters

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
    batch_tokens=int(sys.argv[4]), lora=int(sys.argv[5]), context_weight=0.2, max_length=1024, progress=View())
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
    foretold_within_a_tenth(SFT, run, model, tmp_path / "out", tokens, 0)


def test_the_peak_with_adapters_is_foretold_within_a_tenth(run: Path, tmp_path: Path):
    """Without what adapters add, a fifth to a fourth too little would be said."""
    foretold_within_a_tenth(SFT, run, "micro:3M", tmp_path / "out", 8192, 8)


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")  # peft's
def test_adapters_keep_their_inner_numbers_and_leave_holes_on_a_processor(network: transformers.LlamaForCausalLM):
    """Width 32, inner width 64. The outputs of a layer are 5 x 32 + 2 x 64 = 288 numbers, and of its 7 adapters of
    rank 3 the inner ones are 21. There are two layers and 10 tokens."""
    assert adapters(network, 10, False, False) == 0
    network = with_adapters(network, 3)
    assert adapters(network, 10, False, True) == 10 * 2 * 21 * 4
    assert adapters(network, 10, True, True) == 10 * 2 * 21 * 2
    assert adapters(network, 10, False, False) == 10 * 2 * (21 + 288 * 3 // 2) * 4


def test_the_peak_of_samples_is_foretold_once_their_lengths_are_known(tmp_path: Path):
    espalier.write_world(tmp_path, passages=60, questions=4, seed=5, max_hops=1)
    shape = {"hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 6, "num_attention_heads": 4}
    config = transformers.LlamaConfig(vocab_size=8192, eos_token_id=256, pad_token_id=256, **shape)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    byte_tokenizer().save_pretrained(tmp_path / "model")
    foretold_within_a_tenth(GRPO, tmp_path, tmp_path / "model", tmp_path / "out")
