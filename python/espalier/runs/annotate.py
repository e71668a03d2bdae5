"""What a model has to say about recorded trees."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .._core import Progress
from ..errors import InputError
from ..gone import instead_of, said
from .given import NOWHERE
from .job import RunResult, run_job, told
from .progress import warning
from .rescore import recorded, unknown

PURPOSES = {"judge": ("judge",), "prm": ("process_reward",), "cold_start": ("cold_start",)}
"""Annotations of a language model by name, with the purposes whose model is asked."""
CONSTRAIN = {"off": "off", "always": "on", "draft": "draft"}
"""Whether replies follow a grammar, and how a purpose's option calls that."""


def annotate(
    run: str | Path,
    with_: Mapping[str, Any],
    *,
    out: str | Path | None = None,
    constrain: str = "",
    progress: Callable[[Progress], None] | None = None,
    **settings: Any,
) -> RunResult:
    """Adds a model's annotations to a recorded run's trees and writes its data again. No search is made.

    `with_` maps "judge" (pairs of siblings), "prm" (a process reward for every step) or "cold_start" (gold chains told
    as steps) to the model to ask, as (URL or "simulated", name), (a function, its fingerprint) or "gguf:FILE", or to
    None for the run's own. It maps "embedding" (how well answers agree) to an encoder, as (URL, name), "gguf:FILE" or
    (a function, its fingerprint). An annotation replaces an earlier one of its name. Answers go to the run's journal.
    The run's files are replaced unless a question is left open, or the folder `out` gets them all. `constrain` (off,
    always or draft) says whether the replies follow a grammar (as in the run). Further settings are those of `expand`
    that change no result, such as in_flight, and `set`, whose options replace those of the run.

    Raises InputError if `run` holds no run that grew trees, ValueError for an unknown annotation or a missing model.
    """
    return told(run_job("annotate", annotation(run, with_, out, constrain, **settings), warning(progress)))


def annotation(
    run: str | Path, with_: Mapping[str, Any], out: str | Path | None = None, constrain: str = "", **settings: Any
) -> dict[str, Any]:
    """The settings of the job that `annotate` does."""
    if constrain not in ("", *CONSTRAIN):
        raise ValueError(f"option 'constrain': {constrain} is not allowed, must be {', '.join(CONSTRAIN)}")
    folder = Path(run)
    chosen = recorded(folder)
    if chosen.pop("task") != "expand" or not (folder / "trees.jsonl").exists():
        raise InputError(f"{folder / 'trees.jsonl'}: there are no trees of `expand` in this folder")
    for name, model in with_.items():
        if name == "embedding":
            if model is None:
                raise ValueError("embedding needs an encoder: give embedding=URL,NAME or embedding=gguf:FILE")
            chosen["encoder"], chosen["encoder_name"] = model if isinstance(model, (tuple, list)) else (model, "")
        elif name not in PURPOSES:
            instead = instead_of(name, "annotation")
            allowed = f"unknown annotation '{name}', allowed: {', '.join(PURPOSES)}, embedding"
            raise ValueError(said(f"annotation '{name}'", instead) if instead else allowed)
        elif model is not None:
            chosen["models"] |= dict.fromkeys(PURPOSES[name], model)
        elif chosen["models"].get(PURPOSES[name][0], (chosen["model"], ""))[0] in (NOWHERE, unknown):
            raise ValueError(f"the run does not say where its model is: give {name}=URL,NAME")
    purposes = [purpose for name in with_ for purpose in PURPOSES.get(name, ()) if constrain]
    chosen["set"] |= {f"sampling.{purpose}.constrain": CONSTRAIN[constrain] for purpose in purposes}
    chosen["set"] |= dict(settings.pop("set", {}))
    chosen |= {"with": list(with_), "trees": str(folder / "trees.jsonl"), "out": str(folder if out is None else out)}
    return {**chosen, **settings}
