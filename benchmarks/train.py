"""Tokens a second of `espalier train sft` beside a plain loop of torch, at the same batches.

Both run in turns in one process, on the rows of a generated world. The first turn only warms up. It prints a line for
each further turn and the median of the ratios, and exits with 1 where that is below 0.9. On a GPU both compute in bf16.

    python benchmarks/train.py [--model micro:1M] [--batch-tokens 4096] [--steps 8] [--rounds 5]
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from typing import Any

import espalier
import torch
import transformers
from espalier.train.batches import LengthBatches, collate
from espalier.train.data import read_data
from espalier.train.options import SftOptions
from espalier.train.policy import load_policy
from espalier.train.source import source_of
from espalier.train.stage import Setup
from espalier.train.stages.sft import SFT, SftTrainer, example_of


class Clock(transformers.TrainerCallback):
    """Measures the steps, without what comes before and after them."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.begin = time.perf_counter()

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self.seconds = time.perf_counter() - self.begin


def plain(model: Any, rows: list[Any], batches: list[list[int]], pad: int) -> float:
    """The loop that everyone writes first: labels, loss, step. Seconds."""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.0)
    model.train()
    begin = time.perf_counter()
    for numbers in batches:
        batch = collate([rows[i] for i in numbers], pad)
        labels = batch["input_ids"].masked_fill(batch["weights"] == 0, -100)
        with torch.autocast("cuda", torch.bfloat16, enabled=model.device.type == "cuda"):
            loss = model(input_ids=batch["input_ids"].to(model.device), labels=labels.to(model.device)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        loss.item()
    return time.perf_counter() - begin


def epochs(order: LengthBatches) -> Iterator[list[int]]:
    """The batches of one epoch after the other."""
    for epoch in count():
        order.set_epoch(epoch)
        yield from order


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="micro:1M", help="what is trained (micro:1M)")
    parser.add_argument("--batch-tokens", type=int, default=4096, help="tokens in a batch (4096)")
    parser.add_argument("--steps", type=int, default=8, help="steps in a turn (8)")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each (5)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        espalier.write_world(folder, passages=500, questions=60, seed=5, max_hops=2)
        inputs = {"questions": folder / "questions.jsonl", "corpus": folder / "corpus.jsonl"}
        espalier.expand(**inputs, out=folder / "run", method="decex", model="simulated", set={"documents": 2, "n": 2})
        data = read_data([str(folder / "run")], "sft", SftOptions.record)
        source = source_of(given.model)
        options = SftOptions(
            data="d", model=given.model, out="o", batch_tokens=given.batch_tokens, max_steps=given.steps, save_every=0,
            max_length=2048, log_every=given.steps, lr=1e-4,
        )  # fmt: skip
        policy = load_policy(source, lambda: [SFT.texts(row.record) for row in data.rows], seed=1, context=2048)
        setup = Setup(options, data, source, policy, folder / "out", 1e-4, lambda line: None)
        found = setup.examples(lambda row: example_of(row, policy.tokenizer, options))
        rows = found.train
        ratios = []
        for number in range(-1, given.rounds):
            trainer = SftTrainer(setup, found)
            trainer.remove_callback(transformers.PrinterCallback)
            trainer.add_callback(clock := Clock())
            order = LengthBatches([one.length for one in rows], given.batch_tokens, options.seed)
            batches = list(islice(epochs(order), given.steps))
            tokens = sum(rows[i].length for batch in batches for i in batch)
            pad = policy.tokenizer.loaded.pad_token_id
            if number % 2:
                trainer.train()
                theirs = plain(policy.model, rows, batches, pad)
            else:
                theirs = plain(policy.model, rows, batches, pad)
                trainer.train()
            if number < 0:
                continue
            ratios.append(theirs / clock.seconds)
            speeds = f"plain {tokens / theirs:,.0f} tokens/s, train sft {tokens / clock.seconds:,.0f}"
            print(f"{speeds}, ratio {ratios[-1]:.2f}")
    ratio = statistics.median(ratios)
    print(f"median ratio {ratio:.2f}")
    return 0 if ratio >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
