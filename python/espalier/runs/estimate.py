"""Estimates a run's cost from a small simulated one."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import Error
from ..io.files import record_of
from .job import run_job, write_world

COUNTS = ("calls", "prompt_tokens", "completion_tokens", "retrievals")
SAMPLE = 20
"""Questions of the simulated run."""
CARRIED = ("method", "preset", "set", "seed", "prompts")
"""Settings that the simulated run shares with the real one."""


@dataclass(frozen=True)
class Estimate:
    """The cost of a number of questions of some run."""

    source: str
    """Where the figures come from."""
    questions: int
    purposes: dict[str, dict[str, int]]
    """COUNTS by purpose, of all those questions."""
    options: dict[str, Any] = field(default_factory=dict)
    """The search options of that run, with their defaults."""

    def scaled(self, questions: int) -> dict[str, dict[str, float]]:
        """COUNTS by purpose, and `all`, scaled to a number of questions."""
        rate = questions / self.questions
        rows = {name: {count: row[count] * rate for count in COUNTS} for name, row in self.purposes.items()}
        return rows | {"all": {count: sum(row[count] for row in rows.values()) for count in COUNTS}}


def simulated_estimate(task: str, settings: Mapping[str, Any]) -> Estimate | str:
    """An estimate from a run of `settings` over generated questions with the simulated model, or why there is none."""
    chosen = {name: settings[name] for name in CARRIED if settings.get(name) is not None}
    if settings.get("values"):
        return "values of a server or a trained head cannot be simulated"
    with TemporaryDirectory() as folder:
        write_world(folder, passages=300, questions=SAMPLE, seed=1)
        files = {name: str(Path(folder) / f"{name}.jsonl") for name in ("questions", "corpus")}
        try:
            done = run_job(task, {**chosen, **files, "out": str(Path(folder) / "out"), "journal": False})
        except (Error, ValueError) as error:
            return f"the simulated run failed: {error}"
        options = record_of(done.out)["options"]
    source = f"a guess: {SAMPLE} generated questions, the simulated model"
    return Estimate(source, SAMPLE, done.summary["by_purpose"], options)


def usd_of(counts: Mapping[str, float], options: Mapping[str, Any]) -> float | None:
    """The price of the tokens under the search options, None without prices."""
    price_in, price_out = (float(options.get(f"price_{side}") or 0) for side in ("in", "out"))
    if not price_in and not price_out:
        return None
    return (counts["prompt_tokens"] * price_in + counts["completion_tokens"] * price_out) / 1e6
