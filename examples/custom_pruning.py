"""A pruning policy of one's own that halves the calls of DecEx-RAG: the same program as custom_pruning.cpp.

DecEx-RAG draws k candidates of each kind and values every one of them by rollouts, which is what costs most. This
policy looks at them before that. Samples that agree are one candidate, whose prior is their share.
"""

import espalier as esp
from espalier.search import Verdict


class Agreed:
    """Of each kind the candidate that was sampled most goes on. What all samples know by heart needs no search."""

    def before(self, siblings):
        most = {}
        fresh = [sibling for sibling in siblings if sibling.visits == 0]
        for sibling in fresh:
            if sibling.kind not in most or sibling.prior > most[sibling.kind].prior:
                most[sibling.kind] = sibling
        known = most.get("own_answer")
        certain = known is not None and known.prior > 0.99
        if known is not None and not certain:
            del most["own_answer"]
        return Verdict([sibling.id for sibling in fresh if most.get(sibling.kind) is not sibling], enough=certain)


world = esp.World(passages=2000, questions=100, seed=1)
print("A simulated model, with rewards that see gold answers (oracle).")
print("pruning               right   calls")
for name, policy in (("as published", None), ("and of one's own", Agreed())):
    trees = esp.run(
        esp.DecExRag(k=4, n=4, prune=policy),
        world.questions,
        model=esp.Simulated(world.questions),
        retriever=esp.Bm25(world.passages),
    )
    right = sum(esp.best_answer(tree) in question.gold for question, tree in zip(world.questions, trees, strict=True))
    calls = sum(costs["completions"] for tree in trees for costs in tree.costs.values())
    print(f"{name:20}{right:4} %{calls:8}")
