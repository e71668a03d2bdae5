"""Calls of user functions that serve as model, retriever and so on."""

import logging
import re
import threading
import time
import traceback
from collections.abc import Callable
from functools import cache
from inspect import iscoroutinefunction
from types import CoroutineType
from typing import Any

from ..errors import BackendError

DEADLINE = 600.0
"""Seconds that a request may take; an `async` call may take that for each of its requests."""

ASKED = {"model": "prompt", "retriever": "query", "reward": "state", "encoder": "request", "reranker": "request"}
"""What each item of the list is that a function of this role gets."""

log = logging.getLogger("espalier")
_under_way: dict[object, tuple[float, str, int]] = {}
"""Since when, whose role, how many requests."""


def call(function: Callable[[list[Any]], Any], requests: list[Any], role: str) -> Any:
    """Calls the function and returns its result, awaited if necessary.

    An `async` function is cancelled when its time is over. Other functions cannot be stopped, so the log reports them.
    """
    _watch()
    key = object()
    _under_way[key] = time.monotonic(), role, len(requests)
    try:
        reply = function(requests)
        if isinstance(reply, CoroutineType):
            from .background import wait

            reply = wait(reply, role, DEADLINE * len(requests))
        if role in ASKED and isinstance(reply, (str, int, float)):
            came = f"the {role} must return a list of {len(requests)}, but it returned {type(reply).__name__}"
            raise BackendError(f"{came}: {asked_at_once(role, function)}", permanent=True)
        return reply
    except (AttributeError, TypeError) as error:
        depth = len(traceback.extract_tb(error.__traceback__))  # 1: the call itself failed, 2: the function's own line
        of_list = getattr(error, "obj", None) is requests or (depth == 2 and re.search(r"\blist\b", str(error)))
        if role in ASKED and (of_list or depth == 1):
            raise TypeError(f"{error}: {asked_at_once(role, function)}") from error
        raise
    finally:
        del _under_way[key]


def asked_at_once(role: str, function: Callable[..., Any]) -> str:
    """What to say of a function that takes one request."""
    one = ASKED[role]
    many = one.replace("query", "querie") + "s"
    each = f"lambda {many}: [f({one}) for {one} in {many}]"
    write = "espalier.aio.PerRequest(f)" if iscoroutinefunction(function) else each
    return f"the {role} is called with a list of {many}, write {role}={write}"


@cache
def _watch() -> None:
    threading.Thread(target=_look_on, name="espalier-calls", daemon=True).start()


def _look_on() -> None:
    told: dict[object, float] = {}
    while True:
        time.sleep(DEADLINE / 10)
        told = _tell(told)


def _tell(told: dict[object, float]) -> dict[object, float]:
    """Reports calls that were not reported for a while. Returns the times of reports, of calls under way."""
    now = time.monotonic()
    under_way = dict(_under_way)
    when = {key: told.get(key, since) for key, (since, _, _) in under_way.items()}
    for key, (since, role, requests) in under_way.items():
        if now - when[key] >= DEADLINE:
            when[key] = now
            log.warning("the %s has not returned for %.0f s; it was asked for %d", role, now - since, requests)
    return when
