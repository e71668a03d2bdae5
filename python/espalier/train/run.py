"""Training itself, once its options and rows have been read: all that needs torch."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers

from ..errors import Error
from ..io.files import write_text
from ..runs.progress import ProgressView
from .adapters import merged, with_adapters
from .card import card
from .checkpoints import newest, synchronise, why_unwritten
from .curve import draw_curve
from .data import Data
from .folder import CHECKPOINTS, RECORD, json_text, record_of
from .job import Setup, Stage, Trained, versions
from .memory import check_before_loading
from .options import TrainOptions
from .policy import load_policy
from .source import Source
from .trainer import METRICS, Watch, metrics


def run(
    stage: Stage[Any, Any],
    options: TrainOptions,
    source: Source,
    data: Data[Any],
    template: str,
    out: Path,
    next_files: Path,
    say: Callable[[str], None],
    view: ProgressView | None,
) -> Trained:
    """Trains, and writes the files of the folder into `next_files`."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.threads:
        torch.set_num_threads(options.threads)
    transformers.set_seed(options.seed)
    check_before_loading(source, full=not options.lora)
    texts = lambda: [stage.texts(row.record) for row in data.rows]  # noqa: E731
    policy = load_policy(source, texts, seed=options.seed, template=template, context=options.max_length)
    policy.model = stage.model(policy)
    if options.gguf:
        from .gguf_file import check_gguf

        check_gguf(policy.model, policy.tokenizer.loaded)
    if options.lora:
        policy.model = with_adapters(policy.model, options.lora)
    rate = options.lr or stage.rate(source, options)
    setup = Setup(options, data, source, policy, out / CHECKPOINTS, rate, say)
    trainer = stage.trainer(setup)
    trainer.decay = options.decay
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.add_callback(Watch(out, view or ProgressView()))
    try:
        trainer.train(resume_from_checkpoint=resumed(setup.folder, say))
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, (MemoryError, torch.OutOfMemoryError)) and "can't allocate" not in str(error):
            raise
        raise Error(
            f"too little memory for a batch: a smaller option 'batch_tokens' ({options.batch_tokens}) helps"
        ) from error
    trainer.check_weights()
    if trainer.eval_dataset and not any(
        line["step"] == trainer.state.global_step and "eval_loss" in line for line in trainer.state.log_history
    ):
        trainer.evaluate()
    lines = metrics(out / METRICS)
    record = {
        "stage": stage.name,
        "steps": trainer.state.global_step,
        "loss": last(lines, "loss"),
        "eval_loss": last(lines, "eval_loss"),
        "tokens": trainer.state.num_input_tokens_seen,
        "model": {"name": source.name, "kind": source.kind, "hash": source.hash},
        "options": {**options.plan, "lr": rate},
        "rows": [one.described for one in data.inputs],
        "prompts": data.prompts,
        "simulated": any(one.simulated for one in data.inputs),
        "versions": versions(),
        **setup.notes,
    }
    if trainer.is_world_process_zero():
        try:
            (stage.save or save_policy)(trainer, setup, next_files)
            draw_curve(next_files / "curve.png", lines)
            write_text(next_files / "README.md", card(record))
            write_text(next_files / RECORD, json_text(record))
            for file in next_files.glob("*.safetensors"):  # its library makes files that only their owner may read
                shutil.copymode(next_files / RECORD, file)
            synchronise(next_files)
        except Error:
            raise
        except Exception as error:  # safetensors and tokenizers have errors of their own for a full disk
            raise Error(f"{out}: the trained model cannot be written ({why_unwritten(error, out)})") from error
    return Trained(out, record["steps"], record["loss"], record["eval_loss"])


def finish(out: Path) -> None:
    """Takes away what only an unfinished training needs."""
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)


def recognised(out: Path) -> Trained:
    """A training that had been finished."""
    record = record_of(out)
    return Trained(out, record["steps"], record["loss"], record["eval_loss"], recognised=True)


def resumed(folder: Path, say: Callable[[str], None]) -> str | None:
    """The checkpoint to go on from."""
    found = newest(folder)
    if found is not None:
        say(f"going on from {found}")
    return None if found is None else str(found)


def last(lines: list[dict[str, Any]], name: str) -> float | None:
    return next((float(line[name]) for line in reversed(lines) if name in line), None)


def save_policy(trainer: Any, setup: Setup[Any, Any], folder: Path) -> None:
    """Writes model, tokenizer and, where it is asked for, a GGUF file. Adapters are merged into the model."""
    write_model(whole_model(trainer), setup, folder)


def whole_model(trainer: Any) -> Any:
    """The trained model, adapters merged."""
    return merged(trainer.accelerator.unwrap_model(trainer.model))


def write_model(model: Any, setup: Setup[Any, Any], folder: Path) -> None:
    model = model.to(device="cpu", dtype=setup.policy.dtype)
    model.config.use_cache = True  # trainers switch it off
    model.save_pretrained(folder)
    setup.policy.tokenizer.loaded.save_pretrained(folder)
    if setup.options.gguf:
        from .gguf_file import write_gguf

        write_gguf(folder / "model.gguf", model, setup.policy.tokenizer.loaded, setup.options.gguf)
