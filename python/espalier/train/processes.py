"""The processes of one training: one, or several that `torchrun` or `accelerate launch` has started."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


def count() -> int:
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_first() -> bool:
    """Whether this process writes the files and speaks for all."""
    return int(os.environ.get("RANK", "0")) == 0


def of_first(found: Callable[[], T], *, on_gpu: bool) -> T:
    """What the first process finds. The others wait for it, so that it may also make files that they read then."""
    if count() == 1:
        return found()
    from accelerate import PartialState
    from accelerate.utils import broadcast_object_list

    PartialState(cpu=not on_gpu)
    shared: list[Any] = [found() if is_first() else None]
    broadcast_object_list(shared)
    value: T = shared[0]
    return value
