"""Exports of the recorded runs, and what their rows say."""

import json
from pathlib import Path
from typing import Any

from espalier.export import Exported, export
from espalier.export.lengths import Report


def exported(run: Path, format: str, tokenizer: str, style: str = "conversational", **more: Any) -> Exported:
    """A file of the run decex, or of `method`."""
    method = more.pop("method", "decex")
    out = run / "out" / "_".join([method, format, style, *more])
    [file] = export(run / method, format, out=out, tokenizer=tokenizer, style=style, **more)
    return file


def foretold(file: Exported, trainer: str) -> Report:
    """The length report of the trainer whose name begins so."""
    return next(report for report in file.lengths if report.trainer.startswith(trainer))


def json_rows(path: Path) -> list[Any]:
    text = path.read_text()
    return json.loads(text) if path.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def load(file: Path) -> Any:
    """A file as the datasets library reads it."""
    import datasets

    kind = "parquet" if file.suffix == ".parquet" else "json"
    return datasets.load_dataset(kind, data_files=str(file), split="train", keep_in_memory=True)
