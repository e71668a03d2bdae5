"""What searches cost whose parts are written in Python: functions of lists, async functions of lists, functions asked
request by request; beside treequest, if it is installed. CPU time of the whole process.

Usage: python_parts.py. Mcts of `espalier.problem` with three trivial actions a state and a trivial value: a simulation
adds three nodes and makes eight requests (propose, three step, three kinds, value). All trees go forward together, so
that a batch is as large as there are trees.
"""

import importlib.util
import random
import time

import espalier as esp
from espalier import problem

TREES = 64
RUNS = 5  # the best counts


class Problem:
    """Three moves a state, without end."""

    def __init__(self):
        self.requests = self.calls = 0

    def count(self, batch):
        self.calls += 1
        self.requests += len(batch)

    def kinds(self, states):
        self.count(states)
        return [[0]] * len(states)

    def propose(self, states, kinds, counts):
        self.count(states)
        return [[1, 2, 3]] * len(states)

    def step(self, states, actions):
        self.count(states)
        return [state + action for state, action in zip(states, actions, strict=True)]

    def value(self, states):
        self.count(states)
        return [(state * 7 % 10) / 10 for state in states]


class AsyncProblem(Problem):
    async def kinds(self, states):
        return super().kinds(states)

    async def propose(self, states, kinds, counts):
        return super().propose(states, kinds, counts)

    async def step(self, states, actions):
        return super().step(states, actions)

    async def value(self, states):
        return super().value(states)


class SingleProblem(Problem):
    @esp.aio.PerRequest
    async def kinds(self, state):
        self.requests += 1
        return [0]

    @esp.aio.PerRequest
    async def propose(self, state, kind, count):
        self.requests += 1
        return [1, 2, 3]

    @esp.aio.PerRequest
    async def step(self, state, action):
        self.requests += 1
        return state + action

    @esp.aio.PerRequest
    async def value(self, state):
        self.requests += 1
        return (state * 7 % 10) / 10


def search(part, trees, simulations):
    """CPU seconds."""
    start = time.process_time()
    grown = problem.mcts(part, range(trees), part.value, simulations=simulations, width=3)
    seconds = time.process_time() - start
    assert all(tree.root.visits == simulations for tree in grown)
    return seconds


def treequest(nodes):
    """CPU seconds for so many nodes of one tree."""
    from treequest import StandardMCTS

    draw = random.Random(1)
    algorithm = StandardMCTS()
    start = time.process_time()
    state = algorithm.init_tree()
    for _ in range(nodes):
        state = algorithm.step(state, {"a": lambda parent: ((parent or 0) + 1, draw.random())}, inplace=True)
    return time.process_time() - start


def main():
    print("µs a request")
    for name, make in (("list", Problem), ("async, list", AsyncProblem), ("async, PerRequest", SingleProblem)):
        row = []
        for trees in (1, 16, 256):
            part = make()
            seconds = min(search(part, trees, max(4, 4000 // trees)) for _ in range(RUNS))
            row.append(f"batches of {trees}: {seconds / (part.requests / RUNS) * 1e6:.2f}")
        print(f"  {name:18}", ", ".join(row))
    print(f"simulations a CPU second over {TREES} trees, functions of lists")
    for simulations in (1_000, 10_000, 100_000):
        part = Problem()
        seconds = min(search(part, TREES, -(-simulations // TREES)) for _ in range(RUNS))
        calls = part.calls / (RUNS * simulations)
        print(f"  {simulations:7,}: {simulations / seconds:,.0f}, {calls:.3f} calls of Python a simulation")
    if importlib.util.find_spec("treequest"):
        for nodes in (100, 300, 1000):
            print(f"treequest, {nodes} nodes: {nodes / treequest(nodes):,.0f} a CPU second")


if __name__ == "__main__":
    main()
