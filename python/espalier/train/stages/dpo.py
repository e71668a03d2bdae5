"""Direct preference optimisation of single steps by TRL: a pair's tokens are those of the two steps alone."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import datasets
import torch
import trl

from ...export.lengths import common
from ...export.records import Pair
from ...export.tokenizer import Tokenizer
from ..examples import Dropped, Examples, Measured
from ..folder import PART, need_prompts
from ..options import DpoOptions
from ..stage import Setup, Stage
from ..trainer import WholeCheckpoints, arguments


@dataclass(frozen=True)
class PairExample(Measured):
    """A pair: the tokens of all that stands before the two steps, and of each step."""

    chosen: Sequence[int]
    rejected: Sequence[int]

    @property
    def length(self) -> int:
        """Of the prompt with the longer step."""
        return len(self.ids) + max(len(self.chosen), len(self.rejected))

    @property
    def learned(self) -> int:
        return len(self.chosen) + len(self.rejected)


def text_of(pair: Pair) -> str:
    return pair.prompt + pair.begun + pair.chosen


def example_of(pair: Pair, tokenizer: Tokenizer, options: DpoOptions, longest: int) -> PairExample:
    """A pair's tokens. A step that ends within the turn gets no end token, and neither does any other, so that the two
    are compared by what they say. Raises Dropped."""
    if pair.chosen == pair.rejected:
        raise Dropped("chosen equals rejected")
    if options.kinds != "both" and pair.kind != options.kinds:
        raise Dropped(f"its kind is not {options.kinds}")
    if options.decision != "both" and pair.decision != options.decision:
        raise Dropped(f"its decision is not {options.decision}")
    if options.min_margin and (pair.margin is None or pair.margin < options.min_margin):
        raise Dropped(f"its margin is below {options.min_margin:g}")
    before = tokenizer.render([{"role": "user", "content": pair.prompt}], begin_answer=True) + pair.begun
    sides = [tokenizer.encode(before + step, special=False) for step in (pair.chosen, pair.rejected)]
    # A token on the border belongs to the step.
    whole = [sum(end <= len(before) for _, end in offsets) for _, offsets in sides]
    (chosen, _), (rejected, _) = sides
    if not tokenizer.knows(chosen + rejected):
        raise Dropped("the model's tokenizer lacks characters of it")
    begin = min(*whole, common(chosen, rejected))
    if not begin:
        raise Dropped("nothing stands before the steps")
    if common(chosen, rejected) >= longest:
        raise Dropped(f"its sides are equal within the first {longest:,} tokens")
    if begin == len(chosen) or begin == len(rejected):
        raise Dropped("a step is empty")
    return PairExample(pair.origin.id, chosen[:begin], chosen[begin:], rejected[begin:])


class StepDpoTrainer(WholeCheckpoints, trl.DPOTrainer):  # type: ignore[misc]
    """TRL's trainer over token ids that are given, in batches of nearly equal length.

    A step's loss is the mean over all its pairs, however they are divided into batches.
    """

    def __init__(self, setup: Setup[DpoOptions, Any], examples: Examples[PairExample]) -> None:
        options, self._setup = setup.options, setup
        longest = max(one.length for one in [*examples.train, *examples.held_out])
        at_once = max(1, options.batch_tokens // (2 * longest))
        losses: dict[str, Any] = {"loss_type": ["sigmoid"]}
        if options.sft_weight:
            losses = {"loss_type": ["sigmoid", "sft"], "loss_weights": [1.0, options.sft_weight]}
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
            **losses,
        )
        super().__init__(
            model=setup.policy.model,
            args=given,
            train_dataset=kept(setup.folder / "pairs", examples.train),
            eval_dataset=kept(setup.folder / "pairs_held_out", examples.held_out) if examples.held_out else None,
            processing_class=setup.policy.tokenizer.loaded,
        )
        self.loss_is_scaled_for_ga = True

    def _prepare_dataset(self, dataset: Any, *args: Any, **kwargs: Any) -> Any:
        return dataset

    def get_train_dataloader(self) -> Any:
        lengths = [
            2 * (len(one["prompt_ids"]) + max(len(one["chosen_ids"]), len(one["rejected_ids"])))
            for one in self.train_dataset
        ]
        return self.in_batches(self.train_dataset, lengths, self._setup.options)

    def _get_num_items_in_batch(self, batch_samples: list[Any], device: Any) -> Any:
        return torch.tensor(sum(len(batch["input_ids"]) // 2 for batch in batch_samples), device=device)

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if num_items_in_batch is None or return_outputs:
            return loss
        return loss * (len(inputs["input_ids"]) // 2) / num_items_in_batch


def kept(folder: Path, examples: list[PairExample]) -> Any:
    """The pairs as a data set in a folder, where TRL keeps the reference pass for a training that goes on."""
    if not folder.is_dir():
        part = folder.with_name(PART)
        shutil.rmtree(part, ignore_errors=True)
        names = {"prompt_ids": "ids", "chosen_ids": "chosen", "rejected_ids": "rejected"}
        datasets.disable_progress_bars()
        examples = sorted(examples, key=lambda one: one.length)  # little padding, also where TRL makes the batches
        columns = {name: [getattr(one, of) for one in examples] for name, of in names.items()}
        datasets.Dataset.from_dict(columns).save_to_disk(part)
        part.rename(folder)
    return datasets.load_from_disk(str(folder))


def trainer(setup: Setup[DpoOptions, Pair]) -> StepDpoTrainer:
    for one in setup.data.inputs:
        if one.run:
            need_prompts(setup.source.path, one.prompts, str(one.path))
    found = setup.examples(lambda pair: example_of(pair, setup.policy.tokenizer, setup.options, setup.longest))
    return StepDpoTrainer(setup, found)


DPO = Stage(text_of, (5e-6, 5e-5, 5e-6), trainer)
