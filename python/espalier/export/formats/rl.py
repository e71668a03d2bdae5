"""Questions with what a reward needs to know, and trees as token ids with advantages, for reinforcement learning."""

import math
from collections.abc import Iterator
from typing import Any

from ..files import messages_type
from ..format import Choices, Columns, Format
from ..records import Asked, Trace
from ..traces.advantages import ADVANTAGES
from ..traces.reader import trace_reader
from ..traces.tokens import TokenNode, TokenTree, token_tree


def prompts(asked: Asked, choices: Choices) -> Iterator[Columns]:
    conversational = choices.style == "conversational"
    yield {
        "id": asked.origin.id,
        "prompt": [{"role": "user", "content": asked.question}] if conversational else asked.question,
        "question": asked.question,
        "answers": list(asked.answers),
    }


PROMPTS = Format("rl.prompts", ("trl", "openrlhf"), ("trees",), Asked, prompts)
"""TRL's GRPOTrainer, which hands reward functions all columns, and OpenRLHF, which hands them that of its label."""


def for_search_r1(asked: Asked, choices: Choices) -> Iterator[Columns]:
    truth = {"target": list(asked.answers)}
    created = {"ground_truth": truth, "question": asked.question, "data_source": choices.data_source}
    yield {
        "data_source": choices.data_source,
        "prompt": [{"role": "user", "content": asked.question}],
        "ability": "fact-reasoning",
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {
            "index": asked.origin.id,
            "split": "train",
            "question": asked.question,
            "need_tools_kwargs": True,
            "tools_kwargs": {"search": {"create_kwargs": created}},
        },
    }


def verl_schema() -> Any:
    import pyarrow as pa

    text = pa.string()
    truth = pa.struct([("target", pa.list_(text))])
    created = pa.struct([("ground_truth", truth), ("question", text), ("data_source", text)])
    extra = [
        ("index", text),
        ("split", text),
        ("question", text),
        ("need_tools_kwargs", pa.bool_()),
        ("tools_kwargs", pa.struct([("search", pa.struct([("create_kwargs", created)]))])),
    ]
    return pa.schema(
        [
            ("data_source", text),
            ("prompt", messages_type()),
            ("ability", text),
            ("reward_model", pa.struct([("style", text), ("ground_truth", truth)])),
            ("extra_info", pa.struct(extra)),
        ]
    )


VERL = Format("rl.verl", ("verl",), ("trees",), Asked, for_search_r1, suffix="parquet", schema=verl_schema)
"""Questions in Parquet with what Search-R1's rewards and tools in verl ask for."""


def tree_of(trace: Trace, choices: Choices) -> TokenTree:
    assert choices.tokenizer is not None
    advantages = ADVANTAGES[choices.advantage](trace, choices.beta)
    return token_tree(trace, advantages, choices.tokenizer, choices.style, choices.lost)


def branches(trace: Trace, choices: Choices) -> Iterator[Columns]:
    tree = tree_of(trace, choices)
    for columns, branch, text in tree.each_text(trace.origin.id):
        ids, learned, advantages, logprobs = zip(*tree.tokens(text[1:]), strict=True)
        if not any(learned):
            continue
        yield {
            **columns,
            "prompt_ids": tree.nodes[text[0][0]].ids,
            "completion_ids": list(ids),
            "env_mask": [int(one) for one in learned],
            "advantages": list(advantages),
            "logprobs": None if any(map(math.isnan, logprobs)) else list(logprobs),
            "reward": branch.outcome,
        }


TRL = Format("traces.trl", ("trl",), ("trees",), Trace, branches, needs_tokenizer=True, read=trace_reader)
"""A row for each branch, or for each prompt of a branch that asks several, with an advantage for each token: what a
GRPOTrainer with advantages of the shape (B, T) takes in place of its own rollouts, once the rows are padded.

`env_mask` is 1 where the policy wrote the token, as in the reply of TRL's `rollout_func`. `logprobs` is null unless the
run kept those of all these tokens.
"""


def message(node: TokenNode) -> Columns:
    """A tool's message names the node that called it."""
    called = {"tool_call_id": str(node.above)} if node.role == "tool" else {}
    return {"role": node.role, "content": node.text, **called}


def continued(node: TokenNode) -> list[Columns]:
    """The link of a prompt to the step after which it was asked."""
    return [{"node": node.above, "type": "continuation"}] if node.above != node.parent else []


def graph(trace: Trace, choices: Choices) -> Iterator[Columns]:
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
                "sampled": node.role == "assistant" and any(node.mask),
                "token_ids": node.ids,
                "mask": node.mask,
                "logprobs": node.logprobs,
                "advantages": [node.advantage] * sum(node.mask) if any(node.mask) else None,
                "loss_weights": {"rl": [node.weight if learned else 0.0 for learned in node.mask]},
            }
            for node in tree.nodes
        ],
        "rewards": {"outcome": {"score": sum(b.outcome for b in tree.branches) / len(tree.branches), "weight": 1.0}},
        "is_completed": True,
        "ok": True,
    }


PRIME_RL = Format("traces.prime_rl", ("prime-rl",), ("trees",), Trace, graph, needs_tokenizer=True, read=trace_reader)
"""Trees as traces of verifiers, which prime-rl trains on. A node that branches share stands once.

A prompt begins a text, so it has no `parent`. The node above it in the tree is its semantic parent. `advantages` has a
number for each token whose mask is true. The stream `rl` of `loss_weights`, by which prime-rl multiplies its loss, has
a number for each token: the share of the branches that go through it. `logprobs` has a number for each token whose mask
is true, or is empty where the run kept none.
"""

RL = (PROMPTS, VERL, PRIME_RL, TRL)
