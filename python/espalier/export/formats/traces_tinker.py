"""A Datum of Tinker for each branch, or for each prompt of a branch that asks several. Place i of the
input predicts the target i, so all is shifted by one token.

There are no `logprobs`, because a run has none for single tokens: a loss that compares policies needs them computed
first. `mask` is 1 where the policy wrote the target.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..format import Choices, Columns, Format
from ..records import Trace
from ..traces.reader import trace_reader
from .traces_trl import tree_of


def tensor(values: Sequence[float], dtype: str) -> Columns:
    return {"data": list(values), "dtype": dtype, "shape": [len(values)]}


def rows(trace: Trace, choices: Choices) -> Iterator[Columns]:
    tree = tree_of(trace, choices)
    for columns, _, text in tree.each_text(trace.origin.id):
        ids, learned, advantages = zip(*tree.tokens(text), strict=True)
        yield {
            **columns,
            "model_input": {"chunks": [{"type": "encoded_text", "tokens": list(ids[:-1])}]},
            "loss_fn_inputs": {
                "target_tokens": tensor(ids[1:], "int64"),
                "advantages": tensor(advantages[1:], "float32"),
                "mask": tensor([float(one) for one in learned[1:]], "float32"),
            },
        }


FORMAT = Format("traces.tinker", ("tinker",), ("trees",), Trace, rows, needs_tokenizer=True, read=trace_reader)
