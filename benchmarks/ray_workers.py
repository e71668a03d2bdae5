"""Calls per second of a run by 1, 2 and 4 workers of Ray on this machine, and what a lease costs.

Usage: ray_workers.py [QUESTIONS]. A shard has four questions. The model is a server on the loopback that answers after
50 ms. A worker has 4 requests in flight, so 80 calls per second are its bound. The rate counts from the first request
to the last.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))
os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}

import espalier as esp
import ray
from conftest import ModelServer
from espalier.runs.leases import BEAT, HeldLease
from killing import everything

LATENCY = 0.05
IN_FLIGHT = 4
BEATS = 200


def main(questions):
    times = []

    def respond(request):
        times.append(time.monotonic())
        time.sleep(LATENCY)
        return everything(request)

    ray.init(num_cpus=4, include_dashboard=False, object_store_memory=100 << 20, log_to_driver=False)
    with tempfile.TemporaryDirectory() as folder, ModelServer(respond) as server:
        out = Path(folder)
        esp.write_world(out, passages=300, questions=questions, seed=5)
        data = {name: out / f"{name}.jsonl" for name in ("questions", "corpus")}
        settings = {**data, "model": server.url, "model_name": "m", "constrain": "off", "in_flight": IN_FLIGHT}
        trees = set()
        for workers in (1, 2, 4):
            times.clear()
            start = time.monotonic()
            done = esp.ray_run("expand", workers=workers, shards=questions // 4, **settings, out=out / str(workers))
            seconds = times[-1] - times[0]
            trees.add((done.out / "trees.jsonl").read_bytes())
            print(
                f"{workers} workers: {len(times)} calls, {len(times) / seconds:.0f} per second "
                f"({len(times) / seconds / (workers * IN_FLIGHT / LATENCY):.2f} of the bound), "
                f"{time.monotonic() - start:.1f} s with start and merge, load {os.getloadavg()[0]:.1f}"
            )
        lease = HeldLease(out / "lease", 1)
        start = time.process_time()
        for _ in range(BEATS):
            lease._write()
        each = (time.process_time() - start) / BEATS
        print(f"a heartbeat: {each * 1e6:.0f} us of CPU time every {BEAT:.0f} s, {each / BEAT:.2%}")
    ray.shutdown()
    print(f"final bytes {'equal' if len(trees) == 1 else 'DIFFER'}")
    return 0 if len(trees) == 1 else 1


sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 128))
