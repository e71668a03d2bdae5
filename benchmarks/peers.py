"""Tree searches of other libraries beside ours, in one run; each is measured if it is installed.

Usage: peers.py [PATH_OF_BENCH_TIC_TAC_TOE]. open_spiel and ours: UCT with one random playout on tic-tac-toe from the
empty board, simulations a second, best of five. treequest: nodes a second with a free generator, at 300 and 3,000
nodes. mctx: a batch of one, branching 3, as many simulations, after compilation.
"""

import importlib.util
import random
import subprocess
import sys
import time

SIMULATIONS = 100_000


def best(run, times=5):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def open_spiel():
    import pyspiel

    game = pyspiel.load_game("tic_tac_toe")
    bot = pyspiel.MCTSBot(game, pyspiel.RandomRolloutEvaluator(1, 1), 2**0.5, SIMULATIONS, 1000, False, 1, False)
    return SIMULATIONS / best(lambda: bot.mcts_search(game.new_initial_state()))


def ours_from_python():
    from espalier.toy import tic_tac_toe

    return SIMULATIONS / best(lambda: tic_tac_toe(simulations=SIMULATIONS))


def treequest(nodes):
    import treequest as tq

    draw = random.Random(1)

    def run():
        algorithm = tq.StandardMCTS()
        tree = algorithm.init_tree()
        for _ in range(nodes):
            tree = algorithm.step(tree, {"a": lambda parent: (0, draw.random())})

    return nodes / best(run, 1)


def mctx(simulations):
    import jax
    import jax.numpy as jnp
    import mctx as library

    def recurrent(params, key, action, embedding):
        value = jnp.sin(embedding * 12.9898 + action)
        output = library.RecurrentFnOutput(
            reward=jnp.zeros(1), discount=jnp.ones(1), prior_logits=jnp.zeros((1, 3)), value=value
        )
        return output, embedding * 3 + action + 1

    root = library.RootFnOutput(prior_logits=jnp.zeros((1, 3)), value=jnp.zeros(1), embedding=jnp.ones(1))
    search = jax.jit(lambda key: library.muzero_policy({}, key, root, recurrent, simulations).action_weights)
    key = jax.random.PRNGKey(0)
    search(key).block_until_ready()
    return simulations / best(lambda: search(key).block_until_ready())


def main():
    rates = {}
    if len(sys.argv) > 1:
        line = subprocess.run([sys.argv[1], str(SIMULATIONS)], capture_output=True, text=True, check=True).stdout
        rates["espalier, C++"] = float(line.split(" M simulations/s")[0].split()[-1]) * 1e6
    if importlib.util.find_spec("espalier"):
        rates["espalier, from Python"] = ours_from_python()
    if importlib.util.find_spec("pyspiel"):
        rates["open_spiel, C++ bot"] = open_spiel()
    base = rates.get("open_spiel, C++ bot")
    for name, rate in rates.items():
        print(f"{name:24} {rate / 1e6:6.2f} M simulations/s" + (f"  {rate / base:5.2f} x open_spiel" if base else ""))
    for nodes in (300, 3000):
        if importlib.util.find_spec("treequest"):
            print(f"treequest, {nodes} nodes: {treequest(nodes):,.0f} nodes/s")
        if importlib.util.find_spec("mctx"):
            print(f"mctx, {nodes} simulations: {mctx(nodes):,.0f} simulations/s")


if __name__ == "__main__":
    main()
