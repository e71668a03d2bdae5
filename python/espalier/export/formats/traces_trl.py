"""A row for each branch, or for each prompt of a branch that asks several, with an advantage for each token: what a
GRPOTrainer with advantages of the shape (B, T) takes in place of its own rollouts, once the rows are padded.

`env_mask` is 1 where the policy wrote the token, as in the reply of TRL's `rollout_func`. `logprobs` is null, because a
run has none for single tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Trace
from ..traces.advantages import ADVANTAGES
from ..traces.reader import trace_reader
from ..traces.tokens import TokenTree, token_tree


def tree_of(trace: Trace, choices: Choices) -> TokenTree:
    assert choices.tokenizer is not None
    advantages = ADVANTAGES[choices.advantage](trace, choices.beta)
    return token_tree(trace, advantages, choices.tokenizer, choices.style)


def rows(trace: Trace, choices: Choices) -> Iterator[Columns]:
    tree = tree_of(trace, choices)
    for columns, branch, text in tree.each_text(trace.origin.id):
        prompt = tree.nodes[text[0][0]].ids
        ids, learned, advantages = zip(*tree.tokens(text[1:]), strict=True)
        yield {
            **columns,
            "prompt_ids": prompt,
            "completion_ids": list(ids),
            "env_mask": [int(one) for one in learned],
            "advantages": list(advantages),
            "logprobs": None,
            "reward": branch.outcome,
        }


FORMAT = Format("traces.trl", ("trl",), ("trees",), Trace, rows, needs_tokenizer=True, read=trace_reader)
