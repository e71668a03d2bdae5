"""Grows DecEx-RAG trees over a small generated world with a simulated model: the same program as first_tree.cpp."""

import espalier as esp

world = esp.World(passages=500, questions=8, seed=1)
trees = esp.run(
    esp.DecExRag(k=3, n=4),
    world.questions,
    model=esp.Simulated(world.questions),
    retriever=esp.Bm25(world.passages),
)
for question, tree in zip(world.questions, trees, strict=True):
    print(f"{question.text} -> {esp.best_answer(tree)} (simulated)")
    calls = sum(costs["completions"] for costs in tree.costs.values())
    print(f"  {len(tree)} nodes, {calls} calls")
