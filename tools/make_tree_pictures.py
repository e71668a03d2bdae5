"""Draws the tree on each method's page: docs/trees/METHOD.svg, grown over a generated world with the simulated model.

Run by hand when a method or the picture changes: python tools/make_tree_pictures.py (needs the installed package).
"""

from pathlib import Path

import espalier as esp

FOLDER = Path(__file__).resolve().parent.parent / "docs/trees"
OPTIONS: dict[str, dict[str, object]] = {
    "decex": {},
    "decouple": {"simulations": 8},
    "airrag": {"rollouts": 4, "n_say": 2, "n_qt": 2, "q_div": True},
    "prorag": {"simulations": 8, "samples": 3},
    "reasonrag": {"simulations": 12},
}
MOST = 16
"""Nodes in a picture."""


def right(tree: esp.Tree) -> bool:
    return esp.best_answer(tree) in tree.question.gold


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    world = esp.World(passages=300, questions=40, seed=1, max_hops=2)
    questions = [question for question in world.questions if question.hops == 2]
    for method, options in OPTIONS.items():
        trees = esp.run(
            esp.Method(method, set=options),
            questions,
            model=esp.Simulated(questions),
            retriever=esp.Bm25(world.passages),
        )
        tree = min(filter(right, trees), key=lambda tree: abs(len(tree) - MOST))
        picture = tree.plot(most=MOST)
        label = ", ".join([method, "simulated model", *(f"{name} = {value}" for name, value in options.items())])
        picture.figure.text(0, 1, label, fontsize=7, va="bottom")
        picture.save(FOLDER / f"{method}.svg")


if __name__ == "__main__":
    main()
