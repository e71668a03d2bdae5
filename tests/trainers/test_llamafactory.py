"""Files exported from runs, taken by an installed LLaMA-Factory: its loader, its converters, its tokenisation."""

import json
from pathlib import Path
from typing import Any

import pytest
from espalier.export import Exported
from espalier.export.byte_tokenizer import byte_tokenizer
from exporting import exported, foretold, json_rows, load
from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
from llamafactory.hparams import get_train_args

LIMIT = 2048
DIALOGUES = [("sft.messages", "decex")]
DIALOGUES += [(f"sft.{form}", "decouple") for form in ("messages", "sharegpt", "alpaca")]
PAIRS = ["dpo.sharegpt_ranking", "dpo.alpaca_ranking"]


def prepared(file: Path, tokenizer: Any, folder: str, **options: Any) -> Any:
    """The rows as its trainers get them, through the entry of the dataset_info.json beside a file, with the defaults of
    its command line. Its files stay in `folder`."""
    entry = json.loads(file.with_name("dataset_info.json").read_text())[file.stem]
    stage = "rm" if entry.get("ranking") else "sft"
    named = {"stage": stage, "dataset": file.stem, "dataset_dir": str(file.parent), "model_name_or_path": "none"}
    quiet = {"do_train": True, "output_dir": folder, "cache_dir": folder, "use_cpu": True, "report_to": "none"}
    model, data, training, *_ = get_train_args({**named, **quiet, **options})
    template = get_template_and_fix_tokenizer(tokenizer, data)
    return get_dataset(template, model, data, training, stage=stage, tokenizer=tokenizer)["train_dataset"]


def as_trained(file: Exported, folder: Path, **options: Any) -> list[dict[str, Any]]:
    """By the template that writes conversations as our tokenizer's does."""
    return list(prepared(file.path, byte_tokenizer(), str(folder), template="chatml", **options))


def said(labels: list[int]) -> str:
    return byte_tokenizer().decode([label for label in labels if label != -100])


def assistant_turns(row: dict[str, Any]) -> list[str]:
    if "output" in row:
        return [answer for _, answer in row["history"]] + [row["output"]]
    turns = row.get("messages") or row["conversations"]
    return [t.get("content") or t["value"] for t in turns if t.get("role", t.get("from")) in ("assistant", "gpt")]


@pytest.mark.parametrize(("format", "method"), DIALOGUES)
def test_the_answers_alone_are_learned(run: Path, tmp_path: Path, tokenizer: str, format: str, method: str):
    file = exported(run, format, tokenizer, method=method)
    rows = as_trained(file, tmp_path, cutoff_len=1 << 20)
    assert len(rows) == file.rows > 0
    for row, source in zip(rows, json_rows(file.path), strict=True):
        assert said(row["labels"]) == "".join(f"{turn}<|im_end|>\n" for turn in assistant_turns(source))


def as_qwen_says(turn: dict[str, str]) -> str:
    """A turn of the assistant in the template `qwen`."""
    if turn["from"] == "gpt":
        return turn["value"] + "<|im_end|>\n"
    before, marked, text = turn["value"].rpartition("<tool_call>")
    call = json.dumps(json.loads(text.removesuffix("</tool_call>") if marked else text), ensure_ascii=False)
    return f"{before}<tool_call>\n{call}\n</tool_call><|im_end|>\n"


@pytest.mark.parametrize("method", ["decex", "decouple"])
def test_calls_are_learned_and_what_they_bring_is_not(run: Path, tmp_path: Path, tokenizer: str, method: str):
    file = exported(run, "sft.sharegpt", tokenizer, "tools", method=method)
    rows = list(prepared(file.path, byte_tokenizer(), str(tmp_path), template="qwen", cutoff_len=1 << 20))
    assert len(rows) == file.rows > 0
    for row, source in zip(rows, json_rows(file.path), strict=True):
        turns = source["conversations"]
        assert said(row["labels"]) == "".join(as_qwen_says(turn) for turn in turns[1::2])
        text = byte_tokenizer().decode(row["input_ids"])
        assert all(turn["value"] in text for turn in turns[::2])
        assert all(json.dumps(tool, ensure_ascii=False) in text for tool in json.loads(source["tools"]))


@pytest.mark.parametrize(
    ("format", "style"), [*((format, "conversational") for format in PAIRS), ("dpo.sharegpt_ranking", "tools")]
)
def test_both_sides_of_a_pair_are_learned(run: Path, tmp_path: Path, tokenizer: str, format: str, style: str):
    file, template = exported(run, format, tokenizer, style), "qwen" if style == "tools" else "chatml"
    rows = list(prepared(file.path, byte_tokenizer(), str(tmp_path), template=template, cutoff_len=1 << 20))
    assert len(rows) == file.rows > 0
    for row, source in zip(rows, json_rows(file.path), strict=True):
        for side in ("chosen", "rejected"):
            turn = source[side] if isinstance(source[side], dict) else {"from": "gpt", "value": source[side]}
            assert said(row[f"{side}_labels"]) == as_qwen_says(turn)


@pytest.mark.parametrize(("format", "method"), [*DIALOGUES, *((format, "decex") for format in PAIRS)])
def test_rows_are_cut_as_foretold(run: Path, tmp_path: Path, tokenizer: str, format: str, method: str):
    file = exported(run, format, tokenizer, method=method)
    report = foretold(file, "llamafactory")
    sides = ["input_ids"] if format.startswith("sft") else ["chosen_input_ids", "rejected_input_ids"]
    short = as_trained(file, tmp_path)
    whole = as_trained(file, tmp_path, cutoff_len=1 << 20)
    assert len(short) == file.rows
    assert all(len(row[side]) <= LIMIT == report.limit for row in short for side in sides)
    assert report.longest == max(len(row[side]) for row in whole for side in sides)
    assert report.rows["cut"] == sum(
        any(len(a[side]) < len(b[side]) for side in sides) for a, b in zip(short, whole, strict=True)
    )


def test_our_tokens_are_those_of_llamafactory(run: Path, tmp_path: Path, tokenizer: str):
    ours = load(exported(run, "sft.tokens", tokenizer, method="decouple").path)
    theirs = as_trained(exported(run, "sft.messages", tokenizer, method="decouple"), tmp_path, cutoff_len=1 << 20)
    for own, other in zip(ours, theirs, strict=True):
        assert own["input_ids"] == other["input_ids"]
        # the template learns the line break behind the end of a turn too
        assert all(a == b for a, b in zip(own["labels"], other["labels"], strict=True) if a != -100)
