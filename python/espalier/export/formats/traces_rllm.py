"""A trajectory of rLLM for each branch. Each turn of the policy is a step with all tokens before it as its prompt, and
with a list of advantages that is as long as its response.

`logprobs` is empty, because a run has none for single tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..format import Choices, Columns, Format
from ..records import Trace
from ..traces.reader import trace_reader
from ..traces.tokens import Branch, TokenTree
from .traces_trl import tree_of


def steps(tree: TokenTree, branch: Branch) -> Iterator[Columns]:
    for text in tree.texts(branch):
        before: list[int] = []
        for place, advantage in text:
            node = tree.nodes[place]
            lead = [token for token, learned in zip(node.ids, node.mask, strict=True) if not learned]
            said = [token for token, learned in zip(node.ids, node.mask, strict=True) if learned]
            if said:
                last = place == branch.places[-1]
                yield {
                    "prompt_ids": before + lead,
                    "response_ids": said,
                    "logprobs": [],
                    "advantage": [advantage] * len(said),
                    "model_response": node.text,
                    "reward": branch.outcome if last else 0.0,
                    "done": last,
                }
            before = before + node.ids


def rows(trace: Trace, choices: Choices) -> Iterator[Columns]:
    tree = tree_of(trace, choices)
    for number, branch in enumerate(tree.branches):
        yield {
            "uid": f"{trace.origin.id}#{number}",
            "name": trace.origin.method,
            "task": {"id": trace.origin.id, "question": trace.question, "answers": list(trace.answers)},
            "reward": branch.outcome,
            "steps": list(steps(tree, branch)),
        }


FORMAT = Format("traces.rllm", ("rllm",), ("trees",), Trace, rows, needs_tokenizer=True, read=trace_reader)
