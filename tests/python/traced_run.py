"""Runs with a tree written by hand, and their traces by a tokenizer with a token a byte."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conftest import rows
from espalier.export import export
from espalier.export.byte_tokenizer import byte_tokenizer
from exported_run import RUN, SUMMARY

END = "<|endoftext|>"


def write_run(folder: Path, tree: Mapping[str, Any], prompts: Mapping[str, str], **run: Any) -> Path:
    """A run of one tree, whose prompts have these texts."""
    (folder / "prompts").mkdir()
    for purpose, text in prompts.items():
        (folder / "prompts" / f"{purpose}.txt").write_text(text)
    described = {**RUN, "method": tree["method"], "noted": {"prompts": str(folder / "prompts")}, **run}
    (folder / "run.json").write_text(json.dumps(described))
    (folder / "summary.json").write_text(json.dumps(SUMMARY))
    (folder / "trees.jsonl").write_text(json.dumps(tree) + "\n")
    return folder


def ids(text: str) -> list[int]:
    return list(byte_tokenizer()(text, add_special_tokens=False)["input_ids"])


def exported(run: Path, format: str, tokenizer: str, **options: Any) -> list[dict[str, Any]]:
    [file] = export(run, format, out=run / "out", tokenizer=tokenizer, style="standard", **options)
    return list(rows(file.path))
