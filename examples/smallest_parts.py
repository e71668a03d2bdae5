"""The smallest part of each kind that a user can bring, and searches that use them: smallest_parts.cpp in Python."""

import espalier as esp
from espalier.problem import layered, mcts
from espalier.search import Keep, Mcts, Rollout


# LanguageModel, Retriever, Encoder: functions of a list, called once for all that waits in all trees.
def model(prompts):
    return ["<answer> hello </answer>"] * len(prompts)


def retriever(queries):
    return [[] for query in queries]


def encoder(texts):
    return [[1.0, 0.0] for text in texts]


# RewardFunction: of the states in which a search over questions ends.
def answered(states):
    return [1.0 if state.answer else 0.0 for state in states]


# Environment: count down to 0 by steps of 1 to 3.
class Countdown:
    def kinds(self, states):
        return [[0] if left > 0 else [] for left in states]

    def propose(self, states, kinds, counts):
        return [list(range(1, min(left, 3) + 1)) for left in states]

    def step(self, states, actions):
        return [left - taken for left, taken in zip(states, actions, strict=True)]


# Evaluator: of any states.
def nearness(states):
    return [1 / (1 + left) for left in states]


# SelectionPolicy, PruningPolicy, Backup.
def least_visited(N, Q, P):
    return -N


def oldest_only(siblings):
    return [one.id for one in siblings[1:]]


def last_value(value, N, W):
    return value * N


[tree] = mcts(Countdown(), [20], nearness, select=least_visited, backup=last_value, simulations=50, width=3)
[layers] = layered(Countdown(), [20], nearness, prune=Keep(oldest_only), width=3)
print(f"{len(tree)} nodes by MCTS, {len(layers)} by layers")

search = Mcts(Rollout(answered, n=1), simulations=4)
[tree] = esp.run(search, [esp.Question("What do people say?")], model=model, retriever=retriever)
print(esp.best_answer(tree))
[[passage]] = esp.Dense([esp.Passage("1", "Greetings", "Hello.")], encoder)([esp.Query("hello")])
print(passage.title)
