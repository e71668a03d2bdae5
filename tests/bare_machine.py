"""A Python function as model, in a package built with a compiler and Python alone. For tools/test_machine.sh."""

import espalier as esp

world = esp.World(passages=100, questions=2, seed=1)
simulated = esp.Simulated(world.questions)
asked = 0


def model(prompts: list[esp.Prompt]) -> list[object]:
    global asked
    asked += len(prompts)
    return simulated(prompts)


trees = esp.run(esp.DecExRag(k=2, n=2, T_max=2), world.questions, model=model, retriever=esp.Bm25(world.passages))
assert asked and all(len(tree) > 1 for tree in trees)
assert esp.doctor.build_info()["parts"]["dense"] is None
print(f"{asked} prompts, {sum(map(len, trees))} nodes")
