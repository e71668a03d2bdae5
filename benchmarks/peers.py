"""Tree searches of other libraries beside ours, interleaved in one run. Each is measured if it is installed.

Usage: peers.py [PATH_OF_BENCH_TIC_TAC_TOE]. The best of three rounds, in simulations (or nodes) per CPU second, because
machines are shared. Each library is driven as its own documentation recommends:

- open_spiel: its C++ bot, with its own random playouts, 100,000 simulations per search, no solver, like ours: UCT on
  tic-tac-toe from the empty board.
- treequest: `StandardMCTS.step(..., inplace=True)`, which copies no tree, with a generator that costs nothing.
- mctx: one compiled search over a batch of 64, which is what it is made for, and over a batch of one, branching 3.
"""

import importlib.util
import random
import subprocess
import sys
import time

SIMULATIONS, ROUNDS = 100_000, 3


def open_spiel():
    import pyspiel

    game = pyspiel.load_game("tic_tac_toe")
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 1), 2**0.5, SIMULATIONS, 1000, False, 1, False)
    return lambda: bot.mcts_search(game.new_initial_state())


def treequest(nodes):
    import treequest as tq

    draw = random.Random(1)

    def run():
        algorithm = tq.StandardMCTS()
        tree = algorithm.init_tree()
        for _ in range(nodes):
            tree = algorithm.step(tree, {"a": lambda parent: (0, draw.random())}, inplace=True)

    return run


def mctx(simulations, batch):
    import jax
    import jax.numpy as jnp
    import mctx as library

    def recurrent(params, key, action, embedding):
        value = jnp.sin(embedding * 12.9898 + action)
        output = library.RecurrentFnOutput(
            reward=jnp.zeros(batch), discount=jnp.ones(batch), prior_logits=jnp.zeros((batch, 3)), value=value
        )
        return output, embedding * 3 + action + 1

    root = library.RootFnOutput(
        prior_logits=jnp.zeros((batch, 3)), value=jnp.zeros(batch), embedding=jnp.arange(1.0, batch + 1)
    )
    search = jax.jit(lambda key: library.muzero_policy({}, key, root, recurrent, simulations).action_weights)
    key = jax.random.PRNGKey(0)
    search(key).block_until_ready()  # compiles
    return lambda: search(key).block_until_ready()


def seconds_of(run):
    start = time.process_time()
    run()
    return time.process_time() - start


def main():
    runs = {}
    if importlib.util.find_spec("pyspiel"):
        runs["open_spiel, C++ bot"] = SIMULATIONS, open_spiel()
    for nodes in (300, 1000, 3000):
        if importlib.util.find_spec("treequest"):
            runs[f"treequest, {nodes} nodes"] = nodes, treequest(nodes)
        for batch in (1, 64) if importlib.util.find_spec("mctx") else ():
            runs[f"mctx, {nodes} simulations, batch of {batch}"] = nodes * batch, mctx(nodes, batch)
    rates = {}
    for _ in range(ROUNDS):
        if len(sys.argv) > 1:
            line = subprocess.check_output([sys.argv[1], str(SIMULATIONS), "1"], text=True)
            rates.setdefault("espalier", []).append(float(line.split(" M simulations/s")[0].split()[-1]) * 1e6)
        for name, (count, run) in runs.items():
            rates.setdefault(name, []).append(count / seconds_of(run))
    for name, found in rates.items():
        print(f"{name:40} {max(found):12,.0f} per CPU second")
    if {"espalier", "open_spiel, C++ bot"} <= rates.keys():
        print(f"espalier beside open_spiel: {max(rates['espalier']) / max(rates['open_spiel, C++ bot']):.2f} times")


if __name__ == "__main__":
    main()
