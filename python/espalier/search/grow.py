"""Growing trees in memory."""

from __future__ import annotations

import os
from collections.abc import Iterable

from .. import _core
from .._core import Question, Search, Tree
from ..errors import whole
from ..protocols import LanguageModelLike, RetrieverLike, RewardLike


def run(
    search: Search,
    questions: Iterable[Question],
    *,
    model: LanguageModelLike,
    retriever: RetrieverLike | None = None,
    reward: RewardLike | None = None,
    seed: int = 1,
    in_flight: int = 64,
    open_questions: int | None = None,
    journal: str | os.PathLike[str] | None = None,
    fingerprint: str | None = None,
    retriever_fingerprint: str | None = None,
) -> list[Tree]:
    """Grows a tree for each question and returns them in order.

    Functions used as backends are called once for all waiting requests of all trees. `in_flight` is the largest batch
    of such a function, or the number of outstanding requests of a server. `open_questions` limits the live trees
    (default 4 `in_flight`). Neither changes a tree. `reward` replaces the search's own.

    With a `journal` the responses are kept in that file and are not requested again. The model then needs an identity,
    which servers have and functions get by `fingerprint`. A retriever is journaled if it is a server or has a
    `retriever_fingerprint`.

    Raises BackendError if a backend failed for good. Its `trees` holds the trees that could still be finished.
    """
    file = "" if journal is None else os.fspath(journal)
    session = _core.open_session(
        search, list(questions), model, retriever, reward, seed, in_flight, file, fingerprint, retriever_fingerprint
    )
    try:
        session.run(4 * in_flight if open_questions is None else open_questions)
        return whole(session.trees, session.errors)
    finally:
        del session  # closes the journal; a traceback would keep it
