"""A method of one's own, whole: prompts, steps, reward, selection, search, inference and data, as own_method.cpp is.

It looks things up for some rounds, then answers; it is searched by MCTS, and its policy alone answers questions.
"""

import random
import re
from typing import NamedTuple

import espalier as esp
from espalier.problem import Proposal, mcts

LOOK_UP, ANSWER = 0, 1
PROMPTS = ["What should be looked up next?", "Answer from what was found, in a few words."]


class Path(NamedTuple):
    """A state: the question, the queries so far with what they found, and the answer at the end."""

    question: esp.Question
    queries: tuple[str, ...] = ()
    found: tuple[esp.Passage, ...] = ()
    answer: str | None = None


class Scout:
    """Which steps are legal, and how they are drawn and taken: one call of a backend for all that waits."""

    def __init__(self, model, retriever, rounds):
        self.model, self.retriever, self.rounds = model, retriever, rounds

    def kinds(self, paths):
        return [[] if p.answer else [LOOK_UP if len(p.queries) < self.rounds else ANSWER] for p in paths]

    def propose(self, paths, kinds, counts, seeds):
        prompts = []
        for path, kind, n, seed in zip(paths, kinds, counts, seeds, strict=True):
            lines = [PROMPTS[kind], path.question.text, *(passage.text for passage in path.found)]
            prompts += [esp.Prompt("\n".join(lines), temperature=0.7, seed=seed, sample=i) for i in range(n)]
        texts = iter(self.model(prompts))
        return [[Proposal((kind, next(texts)), 1 / n) for _ in range(n)] for kind, n in zip(kinds, counts, strict=True)]

    def step(self, paths, actions):
        results = iter(self.retriever([esp.Query(text, 3) for kind, text in actions if kind == LOOK_UP]))
        return [
            path._replace(queries=(*path.queries, text), found=(*path.found, *next(results)))
            if kind == LOOK_UP
            else path._replace(answer=text)
            for path, (kind, text) in zip(paths, actions, strict=True)
        ]

    def finish(self, paths, seeds):
        """The policy alone, one sample per step, to the answers. What `answer` does, and what rollouts are."""
        paths = list(paths)
        while growing := [i for i, kinds in enumerate(self.kinds(paths)) if kinds]:
            now = [paths[i] for i in growing]
            kinds = [kind for [kind] in self.kinds(now)]
            drawn = self.propose(now, kinds, [1] * len(now), [seeds[i] for i in growing])
            for i, path in zip(growing, self.step(now, [one.action for [one] in drawn]), strict=True):
                paths[i] = path
        return paths


def right_and_short(path):
    """A right answer, the more so the shorter it is."""
    return (path.answer in path.question.gold) / (1 + 0.01 * len(path.answer))


def least_visited(N, Q, P):
    return -N


def names(prompts):
    """A stand-in for a language model: any name that it reads. A server: [c.text for c in esp.OpenAi(...)(prompts)]."""
    found = [sorted(set(re.findall(r"[A-Z]\w{4,}(?: [A-Z]\w+)*", p.text))) for p in prompts]
    return [random.Random(p.seed + p.sample).choice(some) for p, some in zip(prompts, found, strict=True)]


def main():
    world = esp.World(passages=200, questions=10, max_hops=2)
    scout = Scout(names, esp.Bm25(world.passages), rounds=2)

    def rollouts(paths, seeds):
        return [right_and_short(path) for path in scout.finish(paths, seeds)]

    roots = [Path(question) for question in world.questions]
    trees = mcts(scout, roots, rollouts, select=least_visited, simulations=200, width=12)
    for tree in trees:  # the data: queries on the way to the best answer
        best = max((n for n in tree.nodes if n.state.answer), key=lambda n: n.value)
        path = [best.state.question.text, *best.state.queries, best.state.answer]
        print(f"{best.value:f} (simulated, oracle)", *path, sep=" -> ")
    alone = scout.finish(roots, seeds=range(len(roots)))
    print(f"right: {sum(p.answer in p.question.gold for p in alone)} of {len(alone)} by the policy alone (simulated)")


if __name__ == "__main__":
    main()
