"""Two continuations of a text of which one is better, and steps that are worth something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ..calls import replies, sharegpt, user
from ..format import Choices, Columns, Format
from ..records import Pair, Steps
from .sft import TAGS


def explicit(pair: Pair, choices: Choices) -> Iterator[Columns]:
    if choices.style == "standard":
        texts = {"prompt": pair.prompt + pair.begun, "chosen": pair.chosen, "rejected": pair.rejected}
        yield {**pair.origin.columns, **texts}
        return
    yield {
        **pair.origin.columns,
        "prompt": [{"role": "user", "content": pair.prompt}],
        "chosen": [{"role": "assistant", "content": pair.begun + pair.chosen}],
        "rejected": [{"role": "assistant", "content": pair.begun + pair.rejected}],
    }


def explicit_with_tools(pair: Pair, _: Choices) -> Iterator[Columns]:
    made = replies(pair.origin, [pair.begun + pair.chosen, pair.begun + pair.rejected])
    chosen, rejected = made.turns
    yield {
        **pair.origin.columns,
        "prompt": [user(pair.prompt + made.line)],
        "chosen": [chosen.message],
        "rejected": [rejected.message],
        "tools": made.tools,
    }


EXPLICIT = Format(
    "dpo.explicit",
    ("trl", "openrlhf"),
    ("dpo", "prm"),
    Pair,
    explicit,
    with_tools=Format("dpo.explicit", ("trl",), ("dpo", "prm"), Pair, explicit_with_tools),
)
"""A prompt with a chosen and a rejected continuation: TRL's DPOTrainer, OpenRLHF."""


def turns(pair: Pair, choices: Choices) -> Iterator[Columns]:
    for row in explicit(pair, replace(choices, style="conversational")):
        yield {**pair.origin.columns, **in_sharegpt(pair, row)}


def turns_with_tools(pair: Pair, choices: Choices) -> Iterator[Columns]:
    for row in explicit_with_tools(pair, choices):
        yield {**pair.origin.columns, **in_sharegpt(pair, row), "tools": row["tools"]}


def in_sharegpt(pair: Pair, row: Columns) -> Columns:
    [prompt], [chosen], [rejected] = (row[name] for name in ("prompt", "chosen", "rejected"))
    said = {"conversations": [sharegpt(pair.origin.id, prompt)]}
    return {**said, "chosen": sharegpt(pair.origin.id, chosen), "rejected": sharegpt(pair.origin.id, rejected)}


SHAREGPT = Format(
    "dpo.sharegpt_ranking",
    ("llamafactory",),
    ("dpo", "prm"),
    Pair,
    turns,
    suffix="json",
    dataset_info={
        "formatting": "sharegpt",
        "ranking": True,
        "columns": {"messages": "conversations", "chosen": "chosen", "rejected": "rejected"},
        "tags": TAGS,
    },
).with_calls(turns_with_tools)
"""A pair in ShareGPT's form: LLaMA-Factory."""


def instructions(pair: Pair, _: Choices) -> Iterator[Columns]:
    yield {
        **pair.origin.columns,
        "instruction": pair.prompt,
        "input": "",
        "chosen": pair.begun + pair.chosen,
        "rejected": pair.begun + pair.rejected,
    }


ALPACA = Format(
    "dpo.alpaca_ranking",
    ("llamafactory",),
    ("dpo", "prm"),
    Pair,
    instructions,
    suffix="json",
    dataset_info={
        "formatting": "alpaca",
        "ranking": True,
        "columns": {"prompt": "instruction", "query": "input", "chosen": "chosen", "rejected": "rejected"},
    },
)
"""A pair in Alpaca's form: LLaMA-Factory."""


def pairwise(pair: Pair, choices: Choices) -> Iterator[Columns]:
    if choices.margin and pair.margin is None:
        raise ValueError(f"pair '{pair.origin.id}' has no rewards to take a margin from")
    for row in explicit(pair, choices):
        yield {**row, "margin": pair.margin} if choices.margin else row


PAIRWISE = Format("prm.pairwise", ("trl", "openrlhf"), ("prm", "dpo"), Pair, pairwise)
"""Pairs for a reward model: TRL's RewardTrainer, OpenRLHF. A column `margin` is subtracted from the difference of
the two rewards in their loss, so it is written where it is asked for alone."""


def stepwise(solution: Steps, choices: Choices) -> Iterator[Columns]:
    least = solution.threshold if choices.threshold is None else choices.threshold
    yield {
        **solution.origin.columns,
        "prompt": solution.prompt,
        "completions": list(solution.steps),
        "labels": [value >= least for value in solution.values],
        "values": list(solution.values),
    }


STEPWISE = Format("prm.stepwise", ("trl up to 1.13",), ("prm", "rollouts"), Steps, stepwise)
"""Steps with a label each: TRL's PRMTrainer, which TRL had up to 1.13. It knows only good and bad. The values of the
steps are in another column, which it drops."""

PAIRS = (EXPLICIT, SHAREGPT, ALPACA, PAIRWISE, STEPWISE)
