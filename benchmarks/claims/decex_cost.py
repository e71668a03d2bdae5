"""Pruning makes trees cheap and leaves them good."""

from .frame import Claim
from .search import Search
from .verdict import alike, dearer

TREES = {name: Search("decex", {"search": name}, "expand") for name in ("pruned", "no_pruning", "full_node")}

CLAIM = Claim(
    "Pruned trees cost less than No-Pruning, and these less than Full-Node",
    "DecEx-RAG, Table 2",
    TREES,
    [
        dearer("calls", "no_pruning", "pruned"),
        dearer("calls", "full_node", "no_pruning"),
        alike("em", "pruned", "no_pruning", 0.02, decides=False),
    ],
    questions=40,
    seeds=20,
    remark="EM is that of the trees' best answers, which gold steers (oracle). What they teach: decex_quality",
)
FACTOR = Claim(
    "No-Pruning costs 5.5 times as much as pruning",
    "DecEx-RAG, Table 2 (seconds)",
    {name: TREES[name] for name in ("pruned", "no_pruning")},
    [dearer("calls", "no_pruning", "pruned", 5.5)],
    remark="calls in place of the paper's seconds",
)
