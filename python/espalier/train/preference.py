"""TRL's DPO over pairs of single steps."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import datasets
import torch
import trl

from .batches import LengthBatches
from .checkpoints import PART
from .examples import Examples
from .job import Setup
from .memory import activations, adapters, peak, say_memory
from .stages.dpo import DpoOptions, PairExample, losses
from .trainer import WholeCheckpoints, arguments


class StepDpoTrainer(WholeCheckpoints, trl.DPOTrainer):  # type: ignore[misc]
    """TRL's trainer over token ids that are given, in batches of nearly equal length.

    A step's loss is the mean over all its pairs, however they are divided into batches.
    """

    batch_tokens = 0
    order_seed = 0

    @classmethod
    def of(cls, setup: Setup[DpoOptions, Any], examples: Examples[PairExample]) -> Any:
        """The trainer of a stage's setup. It first says how long the pairs are and how much memory is needed."""
        options, model = setup.options, setup.policy.model
        setup.notes["lengths"] = examples.report.described
        setup.say(str(examples.report))
        longest = max(one.length for one in [*examples.train, *examples.held_out])
        at_once = max(1, options.batch_tokens // (2 * longest))
        given = arguments(
            options,
            setup.folder,
            setup.rate,
            trl.DPOConfig,
            evaluates=bool(examples.held_out),
            beta=options.beta,
            max_length=None,
            precompute_ref_log_probs=True,
            precompute_ref_batch_size=at_once,
            per_device_eval_batch_size=at_once,
            gradient_checkpointing=False,
            **losses(options),
        )
        on_gpu = given.device.type == "cuda"
        tokens = max(options.batch_tokens, 2 * longest)
        said = max(one.learned for one in examples.train) * tokens // (2 * longest)
        largest = activations(model.config, tokens, said, given.bf16) + adapters(model, tokens, given.bf16, on_gpu)
        say_memory(peak(model, largest, on_gpu=on_gpu), setup.say, on_gpu)
        made = cls(
            model=model,
            args=given,
            train_dataset=kept(setup.folder / "pairs", examples.train),
            eval_dataset=kept(setup.folder / "pairs_held_out", examples.held_out) if examples.held_out else None,
            processing_class=setup.policy.tokenizer.loaded,
        )
        made.batch_tokens, made.order_seed = options.batch_tokens, options.seed
        made.loss_is_scaled_for_ga = True
        return made

    def _prepare_dataset(self, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        return dataset

    def get_train_dataloader(self) -> Any:
        lengths = [
            2 * (len(one["prompt_ids"]) + max(len(one["chosen_ids"]), len(one["rejected_ids"])))
            for one in self.train_dataset
        ]
        batches = LengthBatches(lengths, self.batch_tokens, self.order_seed)
        loader = torch.utils.data.DataLoader(self.train_dataset, batch_sampler=batches, collate_fn=self.data_collator)
        return self.accelerator.prepare(loader)

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: Any) -> Any:
        pairs = torch.tensor(sum(len(batch["input_ids"]) // 2 for batch in batch_samples), device=device)
        return self.accelerator.gather(pairs).sum() if self.args.world_size > 1 else pairs

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if num_items_in_batch is None or return_outputs:
            return loss
        return loss * (len(inputs["input_ids"]) // 2) * self.accelerator.num_processes / num_items_in_batch


def kept(folder: Path, examples: list[PairExample]) -> Any:
    """The pairs as a data set in a folder. TRL keeps the reference pass there, so a training that goes on does not do
    it again."""
    if not folder.is_dir():
        part = folder.with_name(PART)
        shutil.rmtree(part, ignore_errors=True)
        names = ("prompt_ids", "chosen_ids", "rejected_ids")
        datasets.disable_progress_bars()
        examples = sorted(examples, key=lambda one: one.length)  # little padding, also where TRL makes the batches
        datasets.Dataset.from_dict({name: [getattr(one, name) for one in examples] for name in names}).save_to_disk(
            part
        )
        part.rename(folder)
    return datasets.load_from_disk(str(folder))
