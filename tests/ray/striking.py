"""A run by tasks of Ray whose workers, nodes and driver are killed at random moments."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cluster import SMALL, Counted, workers
from conftest import start
from ray.cluster_utils import Cluster


@dataclass
class Strikes:
    """What was killed, and how the run ended."""

    kills: Counter[str] = field(default_factory=Counter)
    returncode: int = 0
    err: str = ""
    """Of the last driver."""

    def lost(self, workers: int, in_flight: int) -> int:
        """Requests that these kills may have lost. A driver takes all workers with it."""
        return in_flight * (self.kills["worker"] + self.kills["node"] + workers * self.kills["driver"])


def strike(
    cluster: Cluster,
    line: Sequence[object],
    counted: Counted,
    kills: Mapping[str, int],
    *,
    every: int,
    seed: int,
) -> Strikes:
    """Does the command of a line, and starts it again until no driver is killed any more. After about `every` requests
    each it kills a "worker", a "node" or the "driver", so many as `kills` says, in an order that the seed decides."""
    moments = random.Random(seed)
    left = sorted(Counter(kills).elements())
    moments.shuffle(left)
    struck = Strikes()
    lost: list[object] = []
    """Nodes that are still to be replaced."""

    def worker() -> bool:
        if alive := workers():
            os.kill(moments.choice(alive), signal.SIGKILL)
        return bool(alive)

    def node() -> bool:
        if not lost:
            chosen = moments.choice(sorted(cluster.worker_nodes, key=str))
            cluster.remove_node(chosen, allow_graceful=False)
            lost.append(chosen)
            return True
        return False

    def driver() -> bool:
        alive = process.poll() is None
        process.kill()
        return alive

    def once() -> None:
        """All requests wait meanwhile. Where there is nothing to kill, the next one tries again."""
        time.sleep(moments.random() * 0.01)
        hit = {"worker": worker, "node": node, "driver": driver}[left[-1]]()
        if hit:
            struck.kills[left.pop()] += 1
        if left:
            counted.at(moments.randrange(1, 2 * every) if hit else 1, once)

    counted.at(moments.randrange(1, 2 * every), once)
    while True:
        with start(*line) as process:
            while process.poll() is None:
                time.sleep(0.05)
                if lost:  # Ray starts a node in the main thread alone
                    cluster.add_node(num_cpus=1, **SMALL)
                    lost.clear()
            _, struck.err = process.communicate()
        struck.returncode = process.returncode
        if struck.returncode != -signal.SIGKILL:
            return struck
