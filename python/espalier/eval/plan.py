"""Which runs an evaluation consists of, and with which settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .. import _core
from ..runs.job import check
from .budget import budget_options, parse_budget


@dataclass(frozen=True)
class PlannedRun:
    """One method on all questions, in the folder runs/NAME."""

    name: str
    method: str
    settings: dict[str, Any]
    point: tuple[str, str] | None = None
    """The option that a sweep varies and its value here; None for the run that stands in the tables."""


@dataclass(frozen=True)
class Plan:
    out: Path
    runs: list[PlannedRun]
    budget: dict[str, float]
    price: tuple[float, float] | None
    """Of a million input and output tokens."""
    baseline: str | None
    refused: dict[str, str] = field(default_factory=dict)
    """Methods of `all` that cannot run under these settings, with the reason."""


def chosen_methods(methods: str | Sequence[str]) -> list[str]:
    """`a,b,c` or `all` as registered names. Raises ValueError that names the nearest method."""
    names = [name.strip() for name in methods.split(",")] if isinstance(methods, str) else list(methods)
    if names == ["all"]:
        return _core.method_names()
    for name in names:
        _core.method_options(name)
    return list(dict.fromkeys(names))


def owned(name: str) -> tuple[str, str]:
    """`METHOD.option` as its parts. The method is '' for an option of all methods."""
    method, dot, option = name.partition(".")
    return (method, option) if dot and method in _core.method_names() else ("", name)


def fault_of(settings: Mapping[str, Any], **more: Any) -> str:
    """Why `answer` refuses these settings, '' = it does not."""
    try:
        check("answer", {**settings, **more})
    except ValueError as error:
        return str(error)
    return ""


def settings_for(method: str, common: Mapping[str, Any], name: str, extra: Mapping[str, str]) -> dict[str, Any]:
    """What `answer` is given for one run: a preset, prompts and models for purposes only if the method knows them."""
    out = Path(common["out"])
    settings = {
        **common,
        "method": method,
        "out": str(out / "runs" / name),
        "journal_file": common.get("journal_file") or str(out / "journal.sqlite"),
    }
    models, preset, prompts = settings.pop("models", {}), settings.pop("preset", None), settings.pop("prompts", None)
    settings["set"] = {}
    if preset and not fault_of(settings, preset=preset):
        settings["preset"] = preset
    settings["models"] = {
        purpose: model for purpose, model in models.items() if not fault_of(settings, models={purpose: model})
    }
    if prompts and (Path(prompts) / method).is_dir():
        settings["prompts"] = str(Path(prompts) / method)
    for option, value in common["set"].items():
        owner, own = owned(option)
        if owner in ("", method):
            settings["set"][own] = value
    settings["set"] |= extra
    return settings


def parse_sweep(text: str) -> tuple[str, str, list[str]]:
    """`METHOD.option=v1,v2` as its parts. Raises ValueError."""
    name, equals, values = text.partition("=")
    method, option = owned(name.strip())
    points = list(dict.fromkeys(value.strip() for value in values.split(",") if value.strip()))
    if not equals or not points:
        raise ValueError(f"--sweep takes METHOD.option=value,value,..., not '{text}'")
    if not method:
        _core.method_options(name.partition(".")[0])  # names the nearest method
    return method, option, points


def make_plan(
    methods: str | Sequence[str],
    settings: Mapping[str, Any],
    *,
    budget: str | None = None,
    baseline: str | None = None,
    sweep: Sequence[str] = (),
) -> Plan:
    """Checks everything that can be checked before the first call of a model. Raises ValueError.

    With `all`, methods that cannot run under the settings are listed separately. If one was named, that is an error.
    """
    for needed in ("questions", "out"):
        if not settings.get(needed):
            raise ValueError(f"setting '{needed}' is missing")
    if settings.get("shard"):
        raise ValueError("setting 'shard' is not for evaluations, which compare runs over all questions")
    names = chosen_methods(methods)
    common = {"set": {}, **settings}
    limits = parse_budget(budget)
    common["set"] = dict(common["set"]) | budget_options(limits, common["set"])
    sweeps = [parse_sweep(text) for text in sweep]
    if baseline is not None and baseline not in names:
        _core.method_options(baseline)
        raise ValueError(f"--baseline {baseline} is not among the methods: {', '.join(names)}")
    for option in common["set"]:
        owner, _ = owned(option)
        if owner and owner not in names and owner not in (method for method, _, _ in sweeps):
            raise ValueError(f"--set {option}: {owner} is not among the methods: {', '.join(names)}")

    runs, refused = [], {}
    for method in names:
        run = PlannedRun(method, method, settings_for(method, common, method, {}))
        if not (fault := fault_of(run.settings)):
            runs.append(run)
        elif methods != "all" or not fault_of(run.settings, set={}):
            raise ValueError(f"{method}: {fault} (METHOD.OPTION sets an option of one method)")
        else:
            refused[method] = fault
    if not runs:
        raise ValueError(f"no method can run: {next(iter(refused.values()))}")
    for method, option, values in sweeps:
        for value in values:
            name = f"{method}@{option}={quote(value, safe='')}"
            run = PlannedRun(name, method, settings_for(method, common, name, {option: value}), (option, value))
            if fault := fault_of(run.settings):
                raise ValueError(f"--sweep {method}: {fault}")
            runs.append(run)
    purposes = {purpose for run in runs for purpose in run.settings["models"]}
    if unknown := sorted(set(common.get("models") or {}) - purposes):
        raise ValueError(f"option 'model-for': none of the methods has a purpose '{unknown[0]}'")
    if common.get("preset") and not any("preset" in run.settings for run in runs):
        raise ValueError(f"option 'preset': none of the methods has '{common['preset']}'")
    prices = [float(common["set"].get(f"price_{side}", 0)) for side in ("in", "out")]
    price = (prices[0], prices[1]) if any(prices) else None
    return Plan(Path(common["out"]), runs, limits, price, baseline, refused)
