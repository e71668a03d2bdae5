"""What this process may still use of the machine."""

import os
from pathlib import Path

GROUP = Path("/sys/fs/cgroup")
OWN = Path("/proc/self/cgroup")


def _groups() -> list[tuple[int | None, int | None]]:
    """(limit, used) in bytes of the groups of processes that this one belongs to, the inner ones last."""
    found = [(_number(GROUP / "memory.max"), _number(GROUP / "memory.current"))]
    try:
        rows = [row.split(":", 2) for row in OWN.read_text(encoding="utf-8").splitlines()]
    except OSError:
        rows = []
    for _, controllers, path in rows:
        if controllers == "":  # version 2
            folder = GROUP
            for part in Path(path).parts[1:]:
                folder /= part
                found.append((_number(folder / "memory.max"), _number(folder / "memory.current")))
        elif "memory" in controllers.split(","):  # version 1
            folder = GROUP / "memory" / path.lstrip("/")
            found.append((_number(folder / "memory.limit_in_bytes"), _number(folder / "memory.usage_in_bytes")))
    return found


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def available_memory() -> int | None:
    """Bytes that can still be used: of the machine, and of the container if that has a limit. None = unknown."""
    found = []
    try:
        rows = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        found += [int(row.split()[1]) * 1024 for row in rows if row.startswith("MemAvailable:")]
    except (OSError, ValueError):
        pass
    found += [max(0, most - used) for most, used in _groups() if most is not None and used is not None]
    return min(found, default=None)


def available_cores() -> int:
    """Cores that this process may use: those it may run on, and no more than the container's share of time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = (GROUP / "cpu.max").read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):
        return cores


def default_threads() -> int:
    """Threads for llama.cpp where nobody says how many: half of the cores.

    Its threads wait for each other after every operation, in loops that keep their cores busy. One that has to share
    its core holds up all the others, and this process needs a core itself.
    """
    return max(1, available_cores() // 2)


def gib(size: int) -> str:
    return f"{size / 2**30:.1f} GiB"
