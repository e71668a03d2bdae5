"""A run by workers of Ray on many machines, in virtual time: where the time goes, and what the driver costs.

Usage: cluster.py [WORKERS] [QUESTIONS] [SHARDS ...]. The driver and its queue are those of the product. Ray, workers,
leases and the clock are simulated. A question makes 100 calls of 2 s in the mean, five at a time, so a worker of 64
slots has 12 questions under way. Prints a line for each number of shards.
"""

import heapq
import random
import sys
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace

from espalier.runs import ray_driver, ray_units
from espalier.runs.leases import BEAT, Lease
from espalier.runs.ray_units import Unit
from espalier.runs.ray_worker import Outcome, Place

SLOTS, AT_ONCE = 64, 5
QUESTION = 100 * 2.0 / AT_ONCE
"""Mean seconds of a question (log-normal, sigma 0.5)."""
BEGIN = 6.0
"""Seconds until a worker has begun."""
LIFE = 24 * 3600.0
"""Mean seconds until a worker is lost."""
NOTICED = 30.0
"""Seconds until Ray says so."""
READ_QUESTION = 1.5e-6
"""Seconds to read one question. Each shard reads the file of all."""
READ_LEASE = 1e-3
"""Seconds of the driver to read a lease from a shared file system."""


class RayError(Exception):
    pass


@dataclass(eq=False)
class Job:
    """What a worker does: it begins, or works on a shard. It is its own ref."""

    actor: int
    begun: float
    ends: float
    fails: bool = False
    unit: str = ""
    attempt: int = 0


class Cluster:
    """Ray with a clock of its own."""

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=type("RayTaskError", (RayError,), {}))

    def __init__(self, questions, shards, seed=1):
        self.now, self.draw, self.questions = 0.0, random.Random(seed), questions
        self.left = {
            str(part): self.pool(questions // shards + (part <= questions % shards)) for part in range(1, shards + 1)
        }
        self.useful = sum(work for work, _ in self.left.values())
        self.spent = dict.fromkeys(("beginning", "reading", "tails", "lost"), 0.0)
        self.working, self.numbers, self.reads = {}, count(), 0
        self.dies = {}

    def pool(self, questions):
        """The seconds of a worker's slots that a shard needs, and how long it takes with its tail."""
        lanes = [0.0] * (SLOTS // AT_ONCE)
        work = 0.0
        for _ in range(questions):
            seconds = QUESTION * self.draw.lognormvariate(-0.125, 0.5)
            work += seconds / len(lanes)
            heapq.heapreplace(lanes, lanes[0] + seconds)
        return work, max(lanes)

    def remote(self, made):
        return self

    def options(self, **_):
        return SimpleNamespace(remote=self.actor)

    def actor(self):
        number = next(self.numbers)
        self.dies[number] = self.now + self.draw.expovariate(1 / LIFE)
        return SimpleNamespace(
            number=number,
            begin=SimpleNamespace(remote=lambda *_: self.begin(number)),
            work=SimpleNamespace(remote=lambda task, settings, lease, attempt: self.work(number, settings, attempt)),
        )

    def begin(self, actor):
        self.spent["beginning"] += BEGIN
        return Job(actor, self.now, self.now + BEGIN)

    def work(self, actor, settings, attempt):
        part = settings["shard"].partition("/")[0]
        work, lasts = self.left[part]
        reading = self.questions * READ_QUESTION
        self.spent["reading"] += reading
        job = Job(actor, self.now, self.now + reading + lasts, unit=part, attempt=attempt)
        if job.ends > self.dies[actor]:
            done = max(0.0, self.dies[actor] - self.now - reading)
            share = done / lasts
            self.left[part] = work * (1 - share), lasts - done
            self.spent["lost"] += NOTICED
            self.spent["tails"] += done - work * share
            job.ends, job.fails = self.dies[actor] + NOTICED, True
        else:
            self.spent["tails"] += lasts - work
        self.working[part] = job
        return job

    def wait(self, jobs, num_returns, timeout):
        first = min(job.ends for job in jobs)
        self.now = max(self.now, min(first, self.now + timeout))
        return [job for job in jobs if job.ends <= self.now][:num_returns], []

    def get(self, job):
        if job.fails:
            raise RayError("the node died")
        return Outcome() if job.unit else Place("node", "host", ray_driver._core.build_info()["version"])

    def kill(self, actor):
        pass

    def lease(self, file):
        self.now += READ_LEASE
        self.reads += 1
        job = self.working.get(Path(file).stem.rpartition("-")[2])
        if job is None:
            return Lease()
        return Lease(attempt=job.attempt, beat=int((self.now - job.begun) / BEAT) + 1, questions=1)


def main(workers, questions, shards):
    cluster = Cluster(questions, shards)
    ray_driver.read_lease = ray_units.read_lease = cluster.lease
    ray_driver.time = SimpleNamespace(monotonic=lambda: cluster.now)
    units = [Unit(part, Path(f"shard-{part}"), False, False, Lease()) for part in range(1, shards + 1)]
    settings = {"constrain": "off"}
    driver = ray_driver.Driver(cluster, "expand", settings, units, questions, lambda at: None)
    start = time.process_time()
    driver.drive(workers, 0)
    own = time.process_time() - start
    assert all(unit.finished for unit in units)
    whole = cluster.now * workers
    parts = {"useful": cluster.useful, **cluster.spent}
    parts["waiting"] = whole - sum(parts.values())
    shares = ", ".join(f"{name} {100 * seconds / whole:.1f} %" for name, seconds in parts.items())
    print(
        f"{workers:,} workers, {questions:,} questions, {shards:,} shards: {cluster.now / 60:.0f} min: {shares}; "
        f"{sum(unit.lost for unit in units)} workers lost; driver {own:.0f} s of CPU, {cluster.reads:,} leases read"
    )


numbers = [int(text) for text in sys.argv[1:]]
for shards in numbers[2:] or (4_000, 16_000, 64_000):
    main(numbers[0] if numbers else 1000, numbers[1] if len(numbers) > 1 else 1_000_000, shards)
