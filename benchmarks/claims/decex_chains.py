"""Pruning chooses the chains that the whole search would choose."""

from pathlib import Path

import espalier as esp

from .frame import Claim
from .search import Search
from .verdict import same


def chosen(run: Path, questions: Path) -> list[dict[str, float]]:
    """Rounds and retrievals of the right answer with the fewest retrievals, else of the best answer, else 0."""
    rows = []
    for tree in esp.read_trees(run / "trees.jsonl"):
        ends = [node for node in tree.nodes if node.reward == 1 and node.state.answer is not None]
        end = min(ends, key=lambda node: (node.state.retrievals, node.id), default=None) or tree.best_node
        state = end.state if end else None
        rows.append({
            "rounds": state.iterations if state else 0,
            "searches": state.retrievals if state else 0,
        })  # fmt: skip
    return rows


def trees(**options: object) -> Search:
    return Search("decex", options, "expand", more=chosen)


ARMS = {"pruned": trees(), "no_pruning": trees(search="no_pruning"), "redrawn": trees(temperature=0.701)}
REDRAWN = "redrawn = the pruned search with other draws of the model (temperature 0.701): what chance alone changes"


def agreeing(what: str, figure: str, share: float) -> Claim:
    return Claim(
        f"Pruned and No-Pruning choose chains of equally many {what} in {100 * share:g} % of the questions",
        "DecEx-RAG, section 4.2",
        ARMS,
        [same(figure, "pruned", "no_pruning", share), same(figure, "pruned", "redrawn")],
        figures=("em", figure),
        remark=REDRAWN,
    )


ROUNDS = agreeing("rounds", "rounds", 0.85)
RETRIEVALS = agreeing("retrievals", "searches", 0.87)
