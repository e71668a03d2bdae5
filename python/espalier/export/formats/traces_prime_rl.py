"""Trees as traces of verifiers, which prime-rl trains on. A node that branches share stands once.

`advantages` has a number for each token whose mask is true. `loss_weights` has a stream `share`, with a number for each
token: the share of the branches that go through it. `logprobs` is empty, because a run has none for single tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Trace
from ..traces.reader import trace_reader
from .traces_trl import tree_of


def rows(trace: Trace, choices: Choices) -> Iterator[Columns]:
    if not trace.outcomes:
        return
    tree = tree_of(trace, choices)
    data = {"idx": 0, "prompt": trace.prompt, "question": trace.question, "answers": list(trace.answers)}
    yield {
        "id": trace.origin.id,
        "task": {"type": "espalier", "data": data, "key": trace.origin.tree},
        "agent": {"config": {}, "name": trace.origin.method},
        "nodes": [
            {
                "parent": node.parent,
                "message": {"role": node.role, "content": node.text},
                "sampled": node.role == "assistant",
                "token_ids": node.ids,
                "mask": node.mask,
                "logprobs": [],
                "advantages": [node.advantage] * sum(node.mask) if any(node.mask) else None,
                "loss_weights": {"share": [node.weight if learned else 0.0 for learned in node.mask]},
            }
            for node in tree.nodes
        ],
        "rewards": {"outcome": {"score": sum(b.outcome for b in tree.branches) / len(tree.branches), "weight": 1.0}},
        "is_completed": True,
        "ok": True,
    }


FORMAT = Format("traces.prime_rl", ("prime-rl",), ("trees",), Trace, rows, needs_tokenizer=True, read=trace_reader)
