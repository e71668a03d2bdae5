"""A Datum of Tinker for each branch. Place i of the input predicts the target i, so all is shifted by one token.

`logprobs` is null, because a run has none for single tokens: a loss that compares policies needs them computed first.
`mask` is 1 where the policy wrote the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..format import Choices, Columns, Format
from ..records import Trace
from ..traces.reader import trace_reader
from ..traces.tokens import tokens_along
from .traces_trl import tree_of


def tensor(values: Sequence[float], dtype: str) -> Columns:
    return {"data": list(values), "dtype": dtype, "shape": [len(values)]}


def rows(trace: Trace, choices: Choices) -> Iterator[Columns]:
    tree = tree_of(trace, choices)
    for number, branch in enumerate(tree.branches):
        ids, learned, advantages = zip(*tokens_along(tree, branch), strict=True)
        yield {
            "id": f"{trace.origin.id}#{number}",
            "group": trace.origin.id,
            "model_input": {"chunks": [{"type": "encoded_text", "tokens": list(ids[:-1])}]},
            "loss_fn_inputs": {
                "target_tokens": tensor(ids[1:], "int64"),
                "logprobs": None,
                "advantages": tensor(advantages[1:], "float32"),
                "mask": tensor([float(one) for one in learned[1:]], "float32"),
            },
        }


FORMAT = Format("traces.tinker", ("tinker",), ("trees",), Trace, rows, needs_tokenizer=True, read=trace_reader)
