"""A trace as token ids: the form that all formats of traces are written from."""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..records import Trace, TraceNode
from ..tokenizer import Tokenizer
from .advantages import Advantages
from .sampled import REWRITTEN, UNKNOWN, as_read, missing_close


@dataclass(frozen=True)
class TokenNode:
    """The tokens that one node of a trace adds to those before it, T in number."""

    above: int | None
    """Place of the node above it in the tree. None = it begins the tree."""
    role: str
    """user (a prompt), assistant or tool."""
    text: str
    ids: list[int]
    mask: list[bool]
    """[T]: the policy wrote the token. Only these are learned."""
    advantage: float = 0.0
    """The mean over the branches through the node."""
    weight: float = 0.0
    """The share of the tree's branches that go through the node, above 0 to 1."""
    logprobs: list[float] = field(default_factory=list)
    """Of each learned token, as it was sampled. Empty = not known."""

    @property
    def parent(self) -> int | None:
        """Place of the node whose tokens stand before its own. A prompt has none: it begins a text."""
        return None if self.role == "user" else self.above


@dataclass(frozen=True)
class Branch:
    """A path from the tree's first prompt to a leaf."""

    outcome: float
    places: list[int]
    """In the tree's list of nodes, from the prompt down."""
    advantages: list[float]
    """Of each place. Prompts and documents have 0."""


Text = list[tuple[int, float]]
"""A prompt and what follows it up to the next one, as (place, advantage) in a branch."""


@dataclass(frozen=True)
class TokenTree:
    """Prompts and all that follows them, each shared node once.

    The sum over all learned tokens of weight x advantage x gradient of the log-probability is the mean of the branches'
    gradients, each with its own advantages.
    """

    nodes: list[TokenNode]
    branches: list[Branch]

    def texts(self, branch: Branch) -> list[Text]:
        """What the policy saw and wrote along a branch: a text for each prompt."""
        found: list[Text] = []
        for place, advantage in zip(branch.places, branch.advantages, strict=True):
            if self.nodes[place].role == "user":
                found.append([])
            found[-1].append((place, advantage))
        return found

    def each_text(self, name: str) -> Iterator[tuple[dict[str, Any], Branch, Text]]:
        """Every text of every branch, with the columns that identify it in the tree of this name."""
        for number, branch in enumerate(self.branches):
            texts = self.texts(branch)
            for i, text in enumerate(texts):
                own = f"{name}#{number}" + f".{i}" * (len(texts) > 1)
                yield {"id": own, "group": name, "branch": number}, branch, text

    def tokens(self, text: Text) -> Iterator[tuple[int, bool, float, float]]:
        """(id, learned, advantage, log-probability or NaN) of every token of a text, 0 where it is not learned."""
        for place, advantage in text:
            node = self.nodes[place]
            sampled = iter(node.logprobs)
            for token, learned in zip(node.ids, node.mask, strict=True):
                yield (token, True, advantage, next(sampled, math.nan)) if learned else (token, False, 0.0, 0.0)


def closing(tokenizer: Tokenizer, style: str) -> str:
    """What a policy writes when its turn ends."""
    if style == "standard":
        return tokenizer.eos
    text, contents = tokenizer.conversation([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    end = contents[-1].end
    return text[end : tokenizer.end_of_turn(text, end, len(text))]


def token_tree(trace: Trace, advantages: Advantages, tokenizer: Tokenizer, style: str, lost: Counter[str]) -> TokenTree:
    """The tokens of a trace. Every node is tokenised by itself, so that branches which share a node share its tokens.
    Where the run kept what was sampled, a step has these tokens. Otherwise it is not learned, and counted in `lost`.

    Branches have the advantages A_b + beta P_n, nodes their means.
    """

    def prompt(above: int | None, text: str, share: float) -> TokenNode:
        turn = text if style == "standard" else [{"role": "user", "content": text}]
        ids = tokenizer.ids(turn, begin_answer=style != "standard")
        return TokenNode(above, "user", text, ids, [False] * len(ids), 0.0, share)

    nodes = [prompt(None, trace.prompt, 1.0)] if trace.prompt else []
    first = len(nodes)
    branches = []
    through: dict[int, list[float]] = {}
    for leaf, reward in trace.outcomes.items():
        own = [0.0] * first
        for place in (path := trace.path(leaf)):
            sampled = trace.nodes[place].sampled
            own.append(advantages.outcome[leaf] + advantages.process.get(place, 0.0) if sampled else 0.0)
            through.setdefault(place, []).append(own[-1])
        branches.append(Branch(reward, [*range(first), *(place + first for place in path)], own))
    end = closing(tokenizer, style)

    def said(node: TraceNode) -> tuple[list[int], list[bool], list[float]]:
        kept = node.sampled and trace.keeps_tokens
        found = as_read(node.tokens, node.text, tokenizer, ends=node.ends) if kept and node.tokens else None
        if not found:  # a step of a run that kept tokens is shown then, but not learned
            lost[REWRITTEN if node.tokens else UNKNOWN] += kept
            ids = tokenizer.encode(node.text + end * (node.ends and not kept), special=False)[0]
            return ids, [node.sampled and not kept] * len(ids), []
        rest = [] if node.ends else missing_close(found, node.text, tokenizer)
        return found.ids + rest, [True] * len(found.ids) + [False] * len(rest), found.logprobs

    for place, node in enumerate(trace.nodes):
        shared = through[place]
        share = len(shared) / len(branches)
        above = node.parent + first if node.parent is not None else 0 if first else None
        if node.asks:
            nodes.append(prompt(above, node.text, share))
            continue
        lead = tokenizer.encode(node.lead, special=False)[0]
        ids, mask, logprobs = said(node)
        role, mean = "assistant" if node.sampled else "tool", sum(shared) / len(shared)
        nodes.append(TokenNode(above, role, node.text, lead + ids, [False] * len(lead) + mask, mean, share, logprobs))
    return TokenTree(nodes, branches)
