"""A cluster of Ray whose nodes are processes of this machine, and a run over a loopback server that it does."""

import os
import sys
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "python"))
os.environ |= {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "RAY_agent_register_timeout_ms": "100000"}

from conftest import ModelServer, inputs
from ray.cluster_utils import Cluster

IN_FLIGHT = 4
SMALL = {"object_store_memory": 100 << 20, "include_dashboard": False, "include_log_monitor": False}


def made(folder: Path, nodes: int) -> Cluster:
    """A head without a processor for workers, and nodes with one each."""
    head = {"num_cpus": 0, "temp_dir": str(folder), "no_monitor": True, **SMALL}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    for _ in range(nodes):
        cluster.add_node(num_cpus=1, **SMALL)
    return cluster


def command(files: Path, server: ModelServer, limit: int = 8) -> list[object]:
    """A run whose model and retriever are the server. Each request follows from question and replies."""
    retriever = ["--retriever", server.url.replace("/v1", "/retrieve?name=canned")]
    model = ["--model", server.url, "--model-name", "m", "--constrain", "off", "--in-flight", IN_FLIGHT]
    return ["expand", *inputs(files)[:2], "--limit", limit, "--set", "n=2", *model, *retriever]


def workers() -> list[int]:
    """The processes that are at a shard."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if line.read_bytes().startswith(b"ray::do_shard"):
                found.append(int(line.parent.name))
    return found
