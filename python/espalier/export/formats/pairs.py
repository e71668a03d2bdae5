"""Two continuations of a text of which one is better, and steps that are worth something."""

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
    sides, line, tools = (pair.begun + pair.chosen, pair.begun + pair.rejected), "", {}
    said = [{"role": "assistant", "content": side} for side in sides]
    if choices.style == "tools":
        made = replies(pair.origin, sides)
        said, line, tools = [turn.message for turn in made.turns], made.line, {"tools": made.tools}
    prompt = [user(pair.prompt + line)]
    yield {**pair.origin.columns, "prompt": prompt, "chosen": said[:1], "rejected": said[1:], **tools}


EXPLICIT = Format("dpo.explicit", ("trl", "openrlhf"), ("dpo", "prm"), Pair, explicit, tools=("trl",))
"""A prompt with a chosen and a rejected continuation: TRL's DPOTrainer, OpenRLHF."""


def turns(pair: Pair, choices: Choices) -> Iterator[Columns]:
    as_messages = replace(choices, style="conversational") if choices.style == "standard" else choices
    for row in explicit(pair, as_messages):
        [prompt], [chosen], [rejected] = (row[name] for name in ("prompt", "chosen", "rejected"))
        yield {
            **pair.origin.columns,
            "conversations": [sharegpt(pair.origin.id, prompt)],
            "chosen": sharegpt(pair.origin.id, chosen),
            "rejected": sharegpt(pair.origin.id, rejected),
            **({"tools": row["tools"]} if "tools" in row else {}),
        }


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
    tools=("llamafactory",),
)
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
