"""Kills a run at random moments until it has been killed 200 times, lets it finish, and counts what it paid twice.

Usage: kills.py [KILLS]. A job over loopback servers that answer at once: a model and a retriever, 8 requests in flight
at each.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "python"))

import espalier as esp
from conftest import ModelServer, contents, espalier, inputs
from killing import everything, kill_until_done

IN_FLIGHT = 8


def main(kills):
    with tempfile.TemporaryDirectory() as folder, ModelServer(everything) as server:
        out = Path(folder)
        esp.write_world(out / "world", passages=2000, questions=max(12, kills // 2), seed=5)
        retriever = ["--retriever", server.url.replace("/v1", "/retrieve"), "--retriever-name", "canned"]
        command = ["expand", *inputs(out / "world")[:2], "--model-name", "m", *retriever]
        whole = espalier(*command, "--model", server.url, "--in-flight", 64, "--out", out / "whole")
        assert whole.returncode == 0, whole.stderr
        asked = len(server.requests)
        every = max(2, asked * 2 // (3 * kills))
        tally = kill_until_done(command, out / "killed", server, kills=kills, every=every, seed=1, in_flight=IN_FLIGHT)
        same = contents(out / "killed") == contents(out / "whole")
    print(f"{tally.kills} kills, {tally.lives} processes; {asked} requests unbroken, {tally.asked} in this run")
    print(f"asked again after a kill: {tally.again}, at most {tally.most_again} after one (in flight: {2 * IN_FLIGHT})")
    print(f"asked twice by one process: {tally.twice_in_one_life}")
    print(f"final bytes {'equal' if same else 'DIFFER'}")
    return 0 if same and tally.most_again <= 2 * IN_FLIGHT and not tally.twice_in_one_life else 1


sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 200))
