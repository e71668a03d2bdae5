"""Direct preference optimisation of single steps: a pair's tokens are those of the two steps alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...export.lengths import common
from ...export.records import Pair
from ..examples import Dropped, Examples, examples_of
from ..job import Setup, Stage
from ..options import TrainOptions, option
from ..source import Source

if TYPE_CHECKING:
    from ...export.tokenizer import Tokenizer

KINDS = ("both", "decision", "execution")
DECISIONS = ("both", "termination", "retrieval")
LOSSES = ("sigmoid", "sigmoid_norm", "ipo", "hinge")


@dataclass(frozen=True, kw_only=True)
class DpoOptions(TrainOptions):
    """The options of `train dpo`."""

    beta: float = option(0.1, "How strongly the model is held to the one that it begins as.", "X")
    kinds: str = option("both", "The pairs that are learned: decision, execution, or both.", "KIND", KINDS)
    decision: str = option(
        "both",
        "The decision that the pairs are about: termination (answer or go on), retrieval (search or answer from "
        "memory), or both. Many more pairs say go on than stop, so a small model may search on where it should answer.",
        "NAME",
        DECISIONS,
    )
    loss: str = option(
        "sigmoid",
        "The loss, as TRL names it. sigmoid is DPO's own, and sigmoid_norm divides by the steps' lengths.",
        "NAME",
        LOSSES,
    )
    sft_weight: float = option(0.0, "The weight of the chosen steps' own loss, which anchors the model to them.", "X")
    min_margin: float = option(0.0, "Pairs whose rewards differ by less are left out.", "X")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._need("beta", self.beta > 0, "above 0")
        self._need("sft_weight", self.sft_weight >= 0, "0 or more")
        self._need("min_margin", self.min_margin >= 0, "0 or more")


@dataclass(frozen=True)
class PairExample:
    """A pair as token ids."""

    id: str
    prompt_ids: list[int]
    """Of all that stands before the two steps."""
    chosen_ids: list[int]
    rejected_ids: list[int]

    @property
    def length(self) -> int:
        """Of the prompt with the longer step."""
        return len(self.prompt_ids) + max(len(self.chosen_ids), len(self.rejected_ids))

    @property
    def learned(self) -> int:
        return len(self.chosen_ids) + len(self.rejected_ids)


def text_of(pair: Pair) -> str:
    return pair.prompt + pair.begun + pair.chosen


def rate(source: Source, options: DpoOptions) -> float:
    """5e-5 for adapters, else 5e-6."""
    return 5e-5 if options.lora else 5e-6


def example_of(pair: Pair, tokenizer: Tokenizer, options: DpoOptions) -> PairExample:
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
    if begin == len(chosen) or begin == len(rejected):
        raise Dropped("a step is empty")
    return PairExample(pair.origin.id, chosen[:begin], chosen[begin:], rejected[begin:])


def examples(setup: Setup[DpoOptions, Pair]) -> Examples[PairExample]:
    options, policy = setup.options, setup.policy
    longest = min(options.max_length or policy.context, policy.context)

    def make(pair: Pair) -> PairExample:
        return example_of(pair, policy.tokenizer, options)

    return examples_of(setup.data.rows, make, longest=longest, share=options.eval_share, seed=options.seed)


def check_prompts(setup: Setup[DpoOptions, Pair]) -> None:
    """Raises InputError where the model has learned other prompts than those of the pairs."""
    from ..folder import record_of

    path = setup.source.path
    record = record_of(path) if path is not None and setup.source.kind == "folder" else {}
    if record and setup.data.known_prompts and record["prompts"] != setup.data.prompts:
        raise InputError(
            f"{setup.data.inputs[0].path}: its rows have another template than the model {path} was trained on: their "
            f"run had the prompts '{setup.data.prompts}', the model's rows '{record['prompts']}'"
        )


def trainer(setup: Setup[DpoOptions, Pair]) -> Any:
    from ..preference import StepDpoTrainer

    check_prompts(setup)
    return StepDpoTrainer.of(setup, examples(setup))


def losses(options: DpoOptions) -> dict[str, Sequence[Any]]:
    """TRL's names of the losses and their weights."""
    if not options.sft_weight:
        return {"loss_type": [options.loss]}
    return {"loss_type": [options.loss, "sft"], "loss_weights": [1.0, options.sft_weight]}


DPO = Stage("dpo", "dpo", Pair, text_of, rate, trainer, parallel=False)  # TRL gathers batches of equal size alone
