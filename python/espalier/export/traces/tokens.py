"""A trace as token ids: the form that all formats of traces are written from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ..records import Trace
from ..tokenizer import Tokenizer
from .advantages import Advantages


@dataclass(frozen=True)
class TokenNode:
    """The tokens that one node of a trace adds to those before it, T in number."""

    parent: int | None
    """Place of the node before it. The first node of a tree is its prompt, which has none."""
    role: str
    """user (the prompt), assistant or tool."""
    text: str
    ids: list[int]
    mask: list[bool]
    """[T]: the policy wrote the token. Only these are learned."""
    advantage: float = 0.0
    """The mean over the branches through the node."""
    weight: float = 0.0
    """The share of the tree's branches that go through the node, above 0 to 1."""


@dataclass(frozen=True)
class Branch:
    """A path from the prompt to a leaf."""

    outcome: float
    places: list[int]
    """In the tree's list of nodes, from the prompt down."""
    advantages: list[float]
    """Of each place. The prompt and documents have 0."""


@dataclass(frozen=True)
class TokenTree:
    """A prompt and all that follows it, each shared node once.

    The sum over all learned tokens of weight x advantage x gradient of the log-probability is the mean of the branches'
    gradients, each with its own advantages.
    """

    nodes: list[TokenNode]
    branches: list[Branch]


def closing(tokenizer: Tokenizer, style: str) -> str:
    """What a policy writes when its turn ends."""
    if style == "standard":
        return tokenizer.eos
    text, contents = tokenizer.conversation([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}])
    end = contents[-1].end
    return text[end : tokenizer.end_of_turn(text, end, len(text))]


def token_tree(trace: Trace, advantages: Advantages, tokenizer: Tokenizer, style: str) -> TokenTree:
    """The tokens of a trace. Every node is tokenised by itself, so that branches which share a node share its tokens.

    Branches have the advantages A_b + beta P_n, nodes their means.
    """
    turn = trace.prompt if style == "standard" else [{"role": "user", "content": trace.prompt}]
    prompt = tokenizer.ids(turn, begin_answer=style != "standard")
    nodes = [TokenNode(None, "user", trace.prompt, prompt, [False] * len(prompt), 0.0, 1.0)]
    branches = []
    through: dict[int, list[float]] = {}
    for leaf, reward in trace.outcomes.items():
        own = [0.0]
        for place in (path := trace.path(leaf)):
            sampled = trace.nodes[place].sampled
            own.append(advantages.outcome[leaf] + advantages.process.get(place, 0.0) if sampled else 0.0)
            through.setdefault(place, []).append(own[-1])
        branches.append(Branch(reward, [0, *(place + 1 for place in path)], own))
    end = closing(tokenizer, style)
    for place, node in enumerate(trace.nodes):
        lead = tokenizer.encode(node.lead, special=False)[0]
        ids = tokenizer.encode(node.text + end * node.ends, special=False)[0]
        mask = [False] * len(lead) + [node.sampled] * len(ids)
        shared = through[place]
        parent = 0 if node.parent is None else node.parent + 1
        role = "assistant" if node.sampled else "tool"
        share = len(shared) / len(branches)
        nodes.append(TokenNode(parent, role, node.text, lead + ids, mask, sum(shared) / len(shared), share))
    return TokenTree(nodes, branches)


def tokens_along(tree: TokenTree, branch: Branch) -> Iterator[tuple[int, bool, float]]:
    """(id, learned, advantage) of every token of a branch. What is not learned has the advantage 0."""
    for place, advantage in zip(branch.places, branch.advantages, strict=True):
        node = tree.nodes[place]
        for token, learned in zip(node.ids, node.mask, strict=True):
            yield token, learned, advantage if learned else 0.0
