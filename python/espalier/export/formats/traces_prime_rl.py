"""Trees as traces of verifiers, which prime-rl trains on. A node that branches share stands once.

A prompt begins a text, so it has no `parent`. The node above it in the tree is its semantic parent. `advantages` has a
number for each token whose mask is true. The stream `rl` of `loss_weights`, by which prime-rl multiplies its loss, has
a number for each token: the share of the branches that go through it. `logprobs` is empty, because a run has none for
single tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Trace
from ..traces.reader import trace_reader
from ..traces.tokens import TokenNode
from .traces_trl import tree_of


def message(node: TokenNode) -> Columns:
    """A tool's message names the node that called it."""
    called = {"tool_call_id": str(node.above)} if node.role == "tool" else {}
    return {"role": node.role, "content": node.text, **called}


def continued(node: TokenNode) -> list[Columns]:
    """The link of a prompt to the step after which it was asked."""
    return [{"node": node.above, "type": "continuation"}] if node.above != node.parent else []


def rows(trace: Trace, choices: Choices) -> Iterator[Columns]:
    if not trace.outcomes:
        return
    tree = tree_of(trace, choices)
    data = {"idx": 0, "prompt": trace.prompt or None, "question": trace.question, "answers": list(trace.answers)}
    yield {
        "id": trace.origin.id,
        "task": {"type": "espalier", "data": data, "key": trace.origin.tree},
        "agent": {"config": {}, "name": trace.origin.method},
        "nodes": [
            {
                "parent": node.parent,
                "semantic_parents": continued(node),
                "message": message(node),
                "sampled": node.role == "assistant",
                "token_ids": node.ids,
                "mask": node.mask,
                "logprobs": [],
                "advantages": [node.advantage] * sum(node.mask) if any(node.mask) else None,
                "loss_weights": {"rl": [node.weight if learned else 0.0 for learned in node.mask]},
            }
            for node in tree.nodes
        ],
        "rewards": {"outcome": {"score": sum(b.outcome for b in tree.branches) / len(tree.branches), "weight": 1.0}},
        "is_completed": True,
        "ok": True,
    }


FORMAT = Format("traces.prime_rl", ("prime-rl",), ("trees",), Trace, rows, needs_tokenizer=True, read=trace_reader)
