"""Training itself, once its options and rows have been read: all that needs torch."""

import logging
import math
import shutil
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
import transformers

from ..errors import Error, InputError
from ..io.files import working, write_text
from ..local.memory import available_memory, gib
from ..local.transformers import chosen_device
from ..runs.progress import ProgressView
from .adapters import with_adapters
from .data import Data
from .folder import CHECKPOINTS, RECORD, begin, card, json_text, newest, recognised, synchronise, why_unwritten
from .gguf_file import check_gguf
from .options import TrainOptions
from .policy import load_policy
from .source import Source
from .stage import Setup, Stage, Trained
from .stages.dpo import DPO
from .stages.grpo import GRPO
from .stages.prm import PRM
from .stages.sft import SFT
from .stages.value import VALUE
from .trainer import Watch

log = logging.getLogger("espalier")
STAGES: dict[str, Stage[Any, Any]] = {"sft": SFT, "dpo": DPO, "value": VALUE, "prm": PRM, "grpo": GRPO}


def run(
    options: TrainOptions, source: Source, data: Data[Any], versions: dict[str, str], view: ProgressView | None
) -> Trained:
    """Trains, unless that has been done already. Raises as `job.train`."""
    say = view.say if view else log.info
    out = Path(options.out)
    if source.path is not None and out.resolve() == source.path.resolve():
        raise InputError(f"option 'out': {out} is the model that the training begins with: name another folder")
    folder = working(out, f"train {options.stage}", shared=True)
    with warnings.catch_warnings(), folder as next_files, view or nullcontext():
        # peft and TRL use the old names of transformers for what is not asked for here.
        warnings.filterwarnings("ignore", "`(is_)?gradient_checkpointing` is deprecated", FutureWarning)
        plan = {"stage": options.stage, **options.plan, "model": source.name, "weights": source.hash}
        plan["data"] = [one.hash for one in data.inputs]
        chosen_device(torch, options.device)  # a wrong one is named before anything is written
        if begin(out, plan, overwrite=options.overwrite):
            say(f"{out}: this training is finished")
            return recognised(out)
        record = trained(options, source, data, out, next_files, versions, say, view)
    shutil.rmtree(out / CHECKPOINTS, ignore_errors=True)  # only an unfinished training needs them
    return Trained(out, record["steps"], record["loss"], record["eval_loss"])


def trained(
    options: TrainOptions,
    source: Source,
    data: Data[Any],
    out: Path,
    next_files: Path,
    versions: dict[str, str],
    say: Callable[[str], None],
    view: ProgressView | None,
) -> dict[str, Any]:
    """Trains, writes the files of the folder into `next_files`, and returns the content of training.json."""
    stage = STAGES[options.stage]
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    if options.threads:
        torch.set_num_threads(options.threads)
    transformers.set_seed(options.seed)
    check_memory(source, full=not options.lora)
    policy = load_policy(
        source, lambda: [stage.texts(row.record) for row in data.rows], seed=options.seed, context=options.max_length
    )
    policy.model = stage.model(policy)
    if options.gguf:
        check_gguf(policy.model, policy.tokenizer.loaded)
    if options.lora:
        policy.model = with_adapters(policy.model, options.lora)
    setup = Setup(options, data, source, policy, out / CHECKPOINTS, stage.rate(source, options), say)
    trainer = stage.trainer(setup)
    trainer.decay = options.decay
    trainer.remove_callback(transformers.PrinterCallback)
    trainer.add_callback(Watch(out, view or ProgressView()))
    if (last := newest(setup.folder)) is not None:
        say(f"going on from {last}")
    try:
        trainer.train(resume_from_checkpoint=last and str(last))
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, (MemoryError, torch.OutOfMemoryError)) and "can't allocate" not in str(error):
            raise
        smaller = "group_questions" if options.stage == "grpo" else "batch_tokens"
        raise Error(
            f"too little memory for a batch: a smaller option '{smaller}' ({getattr(options, smaller)}) helps"
        ) from error
    trainer.check_weights()
    state = trainer.state
    if trainer.eval_dataset and not any(
        line["step"] == state.global_step and "eval_loss" in line for line in state.log_history
    ):
        trainer.evaluate()
    losses: dict[str, float | None] = {"loss": None, "eval_loss": None}
    for line in state.log_history:  # the last of each
        losses |= {name: line[name] for name in losses if math.isfinite(line.get(name, math.nan))}
    record = {
        "stage": options.stage,
        "steps": state.global_step,
        **losses,
        "tokens": state.num_input_tokens_seen,
        "model": {"name": source.name, "kind": source.kind, "hash": source.hash},
        "options": {**options.plan, "lr": setup.rate},
        "rows": [one.described for one in data.inputs],
        "prompts": next((one.prompts for one in data.inputs if one.run), ""),
        "simulated": any(one.simulated for one in data.inputs),
        "versions": versions,
        **setup.notes,
    }
    try:
        trainer.write(setup, next_files)
        write_text(next_files / "README.md", card(record))
        write_text(next_files / RECORD, json_text(record))
        for file in next_files.glob("*.safetensors"):  # its library makes files that only their owner may read
            shutil.copymode(next_files / RECORD, file)
        synchronise(next_files)
    except Error:
        raise
    except Exception as error:  # safetensors and tokenizers have errors of their own for a full disk
        raise Error(f"{out}: the trained model cannot be written ({why_unwritten(error, out)})") from error
    return record


def check_memory(source: Source, *, full: bool) -> None:
    """Raises Error where even the weights, their gradients and AdamW's moments do not fit into the memory that is left.
    They take 16 bytes a parameter, 4 with adapters."""
    left = available_memory()
    need = source.least_parameters * 4 * (4 if full else 1)
    if left is not None and need > left:
        raise Error(f"{source.name}: too little memory: training needs {gib(need)} and more, {gib(left)} are left")
