"""Kills workers, nodes and the driver of a run by workers of Ray at random moments, and counts what was paid twice.

Usage: ray_kills.py [KILLS] [SEED]. Of 20 kills 14 are workers, 3 nodes and 3 drivers. The cluster is a head and three
nodes, as processes of this machine. Model and retriever are a server on the loopback that answers at once.
"""

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "ray"))

import espalier as esp
from cluster import IN_FLIGHT, Counted, command, made
from conftest import contents, espalier
from striking import strike

WORKERS = 3


def main(number=20, seed=17):
    some = number * 3 // 20
    kills = {"worker": number - 2 * some, "node": some, "driver": some}
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        esp.write_world(out / "world", passages=300, questions=max(12, 2 * number), seed=5)
        whole, counted = Counted(), Counted()
        with whole.server:
            done = espalier(*command(out / "world", whole.server, limit=0), "--out", out / "whole")
            assert done.returncode == 0, done.stderr
        asked = sum(whole.asked.values())
        cluster = made(out / "ray", WORKERS)
        try:
            start = time.monotonic()
            with counted.server:
                line = command(out / "world", counted.server, limit=0)
                line += ["--out", out / "many", "--ray", cluster.address, "--workers", WORKERS]
                every = max(2, asked * 2 // (3 * number))
                struck = strike(cluster, line, out / "many/shards", counted, kills, every=every, seed=seed)
                assert struck.returncode == 0, struck.err
                seconds, paid = time.monotonic() - start, sum(counted.asked.values())
                again = espalier(*line)
                assert again.returncode == 0, again.stderr
            more = sum(counted.asked.values()) - paid
        finally:
            cluster.shutdown()
        same = contents(out / "many") == contents(out / "whole")
    lost = struck.lost(WORKERS, IN_FLIGHT)
    print(f"killed: {', '.join(f'{count} {what}' for what, count in sorted(struck.kills.items()))}; {seconds:.0f} s")
    print(f"{asked} requests unbroken, {paid} in this run; asked again {counted.again}, in flight at the kills {lost}")
    print(f"asked by the finished run when started again: {more}")
    print(f"final bytes {'equal' if same else 'DIFFER'}")
    return 0 if same and struck.kills == kills and counted.again <= lost and not more else 1


sys.exit(main(*map(int, sys.argv[1:])))
