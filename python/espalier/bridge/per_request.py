"""Functions that are called once per request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

R_co = TypeVar("R_co", covariant=True)


class PerRequest(Generic[R_co]):
    """An `async def` function of one request, in place of a function of a list of requests.

        @PerRequest
        async def model(prompt): ...

    Every waiting request of any tree is its own task. Up to `in_flight` tasks run side by side, on the event loop that
    awaits the run (`espalier.aio`), otherwise on a loop in a thread of Espalier. The function returns one item of the
    list, or an exception. A BackendError that is not permanent is retried, up to three attempts in total. After
    `deadline` seconds for all attempts a request is cancelled, as a backend failure. In a class it makes a method.
    """

    def __init__(self, function: Callable[..., Awaitable[R_co]], *, deadline: float = 600.0) -> None:
        if not callable(function):
            raise TypeError(f"PerRequest takes an async function, not {type(function).__name__}")
        if not deadline > 0:
            raise ValueError(f"option 'deadline': {deadline} is not allowed, must be above 0")
        self.function = function
        self.deadline = deadline

    def __call__(self, *request: Any) -> Awaitable[R_co]:
        return self.function(*request)

    def __get__(self, owner: Any, kind: type | None = None) -> PerRequest[R_co]:
        if owner is None or not hasattr(self.function, "__get__"):
            return self
        return PerRequest(self.function.__get__(owner, kind), deadline=self.deadline)
