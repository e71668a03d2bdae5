"""A row for each branch, with an advantage for each token: what a GRPOTrainer with advantages of the shape (B, T) takes
in place of its own rollouts, once the rows are padded.

`env_mask` is 1 where the policy wrote the token, as in the reply of TRL's `rollout_func`. `logprobs` is null, because a
run has none for single tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Trace
from ..traces.advantages import ADVANTAGES
from ..traces.reader import trace_reader
from ..traces.tokens import TokenTree, token_tree, tokens_along


def tree_of(trace: Trace, choices: Choices) -> TokenTree:
    assert choices.tokenizer is not None
    advantages = ADVANTAGES[choices.advantage](trace, choices.beta)
    return token_tree(trace, advantages, choices.tokenizer, choices.style)


def rows(trace: Trace, choices: Choices) -> Iterator[Columns]:
    tree = tree_of(trace, choices)
    prompt = tree.nodes[0].ids
    for number, branch in enumerate(tree.branches):
        ids, learned, advantages = zip(*list(tokens_along(tree, branch))[len(prompt) :], strict=True)
        yield {
            "id": f"{trace.origin.id}#{number}",
            "group": trace.origin.id,
            "prompt_ids": prompt,
            "completion_ids": list(ids),
            "env_mask": [int(one) for one in learned],
            "advantages": list(advantages),
            "logprobs": None,
            "reward": branch.outcome,
        }


FORMAT = Format("traces.trl", ("trl",), ("trees",), Trace, rows, needs_tokenizer=True, read=trace_reader)
