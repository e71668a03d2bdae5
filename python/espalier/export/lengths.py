"""Rows that a trainer would silently drop or cut, or refuse, because they are too long for it."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .calls import user
from .format import Columns, Format
from .tokenizer import IGNORED, Tokenizer


@dataclass(frozen=True)
class Size:
    """Tokens of a row."""

    whole: int
    """Of its longest side."""
    prompt: int = 0
    """What comes before anything is learned."""


@dataclass(frozen=True)
class Rule:
    """What one trainer does to long rows of one format."""

    trainer: str
    limit: int
    """Its default."""
    says: str
    """The rule in words; {n} = the limit."""
    whole: str = "cut"
    """What befalls a row of more tokens than the limit: cut, dropped or refused."""
    prompt: int | None = None
    """A row whose prompt has at least the limit less so many tokens is dropped. None = prompts do not matter."""

    def verdict(self, size: Size, limit: int) -> str:
        if self.prompt is not None and size.prompt >= limit - self.prompt:
            return "dropped"
        return self.whole if size.whole > limit else "kept"


@dataclass
class Report:
    """What a trainer would do to the rows of a file."""

    trainer: str
    limit: int
    rule: str
    longest: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    """How many are kept, cut, dropped or refused."""


TRL_SFT = Rule("trl SFTTrainer", 1024, "keeps the first {n} tokens; drops rows with nothing learned left", prompt=0)
TRL_DPO = Rule("trl DPOTrainer", 1024, "keeps the first {n} tokens; drops prompts of {n} or more", prompt=0)
TRL_REWARD = Rule("trl RewardTrainer", 1024, "drops pairs with a side over {n} tokens", "dropped")
LLAMA_FACTORY = Rule("llamafactory", 2048, "cuts rows over cutoff_len {n}")
VERL_SFT = Rule("verl", 1024, "refuses rows over max_length {n} (truncation=error)", "refused")
VERL_RL = Rule(
    "verl", 512, "cuts prompts over max_prompt_length {n} at the beginning; drops them by filter_overlong_prompts"
)
OPENRLHF_SFT = Rule("openrlhf", 2048, "cuts rows over max_len {n}; drops prompts within 2 of it", prompt=2)
OPENRLHF_DPO = Rule("openrlhf", 512, "cuts rows over max_len {n}; drops prompts within 2 of it", prompt=2)
OPENRLHF_REWARD = Rule("openrlhf", 512, "cuts sides over max_len {n}")

RULES: dict[str, tuple[Rule, ...]] = {
    "sft.prompt_completion": (TRL_SFT, OPENRLHF_SFT),
    "sft.messages": (TRL_SFT, LLAMA_FACTORY),
    "sft.tokens": (TRL_SFT,),
    "sft.sharegpt": (LLAMA_FACTORY,),
    "sft.alpaca": (LLAMA_FACTORY,),
    "sft.verl": (VERL_SFT,),
    "dpo.explicit": (TRL_DPO, OPENRLHF_DPO),
    "dpo.sharegpt_ranking": (LLAMA_FACTORY,),
    "dpo.alpaca_ranking": (LLAMA_FACTORY,),
    "prm.pairwise": (TRL_REWARD, OPENRLHF_REWARD),
    "rl.verl": (VERL_RL,),
}
"""By format; those that are not here have no trainer with a limit on their rows."""

ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool"}


def turn(said: Columns) -> dict[str, str]:
    return {"role": ROLES[said["from"]], "content": said["value"]}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def parts(row: Columns) -> tuple[Any, list[Any]]:
    """What a row shows first, and its sides (texts, or lists of turns)."""
    match row:
        case {"messages": messages}:
            return [], [messages]
        case {"conversations": said, "chosen": chosen, "rejected": rejected}:
            return [turn(m) for m in said], [[turn(chosen)], [turn(rejected)]]
        case {"conversations": said, "system": system}:
            return [{"role": "system", "content": system}] if system else [], [[turn(m) for m in said]]
        case {"instruction": prompt, "chosen": chosen, "rejected": rejected}:
            return [user(prompt)], [[assistant(chosen)], [assistant(rejected)]]
        case {"instruction": prompt, "output": output, "system": system, "history": history}:
            before = [say(text) for pair in history for say, text in zip((user, assistant), pair, strict=True)]
            system_turn = [{"role": "system", "content": system}] if system else []
            return [*system_turn, *before, user(prompt)], [[assistant(output)]]
        case {"prompt": prompt, "completion": completion}:
            return prompt, [completion]
        case {"prompt": prompt, "chosen": chosen, "rejected": rejected}:
            return prompt, [chosen, rejected]
        case {"prompt": prompt}:
            return prompt, []
    raise TypeError(f"a row with the columns {', '.join(row)} has no length")


def common(a: Sequence[int], b: Sequence[int]) -> int:
    """Tokens at the beginning that are the same."""
    return next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def sides_of(row: Columns, tokenizer: Tokenizer) -> tuple[list[int], list[list[int]]]:
    """The tokens of what a row shows first, and of that with each side."""
    prompt, sides = parts(row)
    tools = json.loads(row.get("tools") or "[]")
    standard = isinstance(prompt, str)
    before = tokenizer.ids(prompt, begin_answer=not standard, tools=tools) if prompt else []
    ends = [side if not standard or side.endswith(tokenizer.eos) else side + tokenizer.eos for side in sides]
    return before, [tokenizer.ids(prompt + side, tools=tools) for side in ends]


def differs(row: Columns, tokenizer: Tokenizer, limit: int) -> bool:
    """Whether the two sides of a row differ within their first tokens."""
    _, (chosen, rejected) = sides_of(row, tokenizer)
    return chosen[:limit] != rejected[:limit]


def measured(row: Columns, tokenizer: Tokenizer) -> Size:
    """Texts get the end-of-text token that trainers add. Conversations go through the tokenizer's own chat template."""
    if "input_ids" in row:
        first = next((i for i, label in enumerate(row["labels"]) if label != IGNORED), len(row["labels"]))
        return Size(len(row["input_ids"]), first)
    before, sides = sides_of(row, tokenizer)
    whole = sides or [before]
    return Size(max(map(len, whole)), min(common(before, ids) for ids in whole))


def length_report(format: Format, rows: Iterable[Columns], tokenizer: Tokenizer, limit: int | None) -> list[Report]:
    """What each trainer of a format would do to its rows, under its own limit or the given one."""
    rules = [rule for rule in RULES.get(format.name, ()) if rule.trainer.split()[0] in format.trainers]
    reports = [Report(r.trainer, n := limit or r.limit, r.says.format(n=f"{n:,}")) for r in rules]
    for row in rows if rules else ():
        size = measured(row, tokenizer)
        for rule, report in zip(rules, reports, strict=True):
            report.longest = max(report.longest, size.whole)
            report.rows[rule.verdict(size, report.limit)] += 1
    return reports
