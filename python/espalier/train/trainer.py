"""The loop of training: that of transformers, with whole checkpoints, batches by length, and a stop at a bad loss."""

import json
import math
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from ..errors import Error
from ..local.transformers import chosen_device
from ..runs.progress import ProgressView, eta
from .adapters import merged
from .batches import Batch, LengthBatches
from .examples import Examples, Measured
from .folder import METRICS, PART, place, why_unwritten
from .gguf_file import write_gguf
from .options import TrainOptions
from .stage import Setup


class WholeCheckpoints(transformers.Trainer):  # type: ignore[misc]
    """A trainer whose checkpoints appear whole or not at all, and which stops at a loss that is no number.

    It is mixed into other trainers of transformers and TRL, before them.
    """

    decay = 0.5
    """The share of the steps, at the end, in which the learning rate falls to 0."""
    control: Any
    _saving: Path | None = None

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        falling = int(self.decay * num_training_steps)
        self.args.lr_scheduler_kwargs = {"num_decay_steps": falling, "decay_type": "linear"}
        return super().create_scheduler(num_training_steps, optimizer)

    def _get_output_dir(self, trial: Any = None) -> str:
        return str(self._saving or self.args.output_dir)

    def _save_checkpoint(self, model: Any, trial: Any = None) -> None:
        folder = Path(self.args.output_dir)
        step = self.state.global_step
        self.check_weights()
        self._saving = folder / PART
        try:
            shutil.rmtree(self._saving, ignore_errors=True)
            transformers.Trainer._save_checkpoint(self, model, trial)
            place(self._saving / f"checkpoint-{step}", folder)
        except Exception as error:  # safetensors and torch have errors of their own for a full disk
            why = why_unwritten(error, folder)
            shutil.rmtree(self._saving, ignore_errors=True)
            raise Error(f"{folder}: the checkpoint of step {step} cannot be written ({why})") from error
        finally:
            self._saving = None

    def training_step(self, *args: Any, **kwargs: Any) -> Any:
        loss = super().training_step(*args, **kwargs)
        if not torch.isfinite(loss):
            raise self._diverged(f"the loss of step {self.state.global_step + 1} is {float(loss)}")
        return loss

    def check_weights(self) -> None:
        """Raises Error where a weight is no number, so that no such model is ever written."""
        if not all(bool(torch.isfinite(one).all()) for one in self.model.parameters() if one.requires_grad):
            raise self._diverged(f"the weights after step {self.state.global_step} are no numbers any more")

    def _diverged(self, what: str) -> Error:
        return Error(f"{what}: a lower option 'lr' ({self.args.learning_rate:g}) helps, with --overwrite")

    def in_batches(self, examples: Any, lengths: Sequence[int], options: TrainOptions) -> Any:
        """A loader of examples of these lengths."""
        batches = LengthBatches(lengths, options.batch_tokens, options.seed)
        return self.accelerator.prepare(
            torch.utils.data.DataLoader(examples, batch_sampler=batches, collate_fn=self.data_collator)
        )

    def write(self, setup: Setup[Any, Any], folder: Path) -> None:
        """Writes model, tokenizer and, where it is asked for, a GGUF file. Adapters are merged into the model."""
        write_model(merged(self.accelerator.unwrap_model(self.model)), setup, folder)


def write_model(model: Any, setup: Setup[Any, Any], folder: Path) -> None:
    model = model.to(device="cpu", dtype=setup.policy.dtype)
    model.config.use_cache = True  # trainers switch it off
    model.save_pretrained(folder)
    setup.policy.tokenizer.loaded.save_pretrained(folder)
    if setup.options.gguf:
        write_gguf(folder / "model.gguf", model, setup.policy.tokenizer.loaded, setup.options.gguf)


class OwnLoss(WholeCheckpoints):
    """Learns examples by a loss of our own over batches of nearly equal length.

    A step divides the sum of `loss_of` over its batches by that of `amount_of`.
    """

    def __init__(self, setup: Setup[Any, Any], examples: Examples[Any]) -> None:
        self._options, self._notes = setup.options, setup.notes
        self._pad = setup.policy.tokenizer.loaded.pad_token_id
        super().__init__(
            model=setup.policy.model,
            args=arguments(setup.options, setup.folder, setup.rate, evaluates=bool(examples.held_out)),
            train_dataset=list(examples.train),
            eval_dataset=list(examples.held_out) or None,
            data_collator=self.collate,
        )
        self.loss_is_scaled_for_ga = True

    def collate(self, examples: Sequence[Any]) -> Batch:
        """A batch of B rows, padded on the right."""
        raise NotImplementedError

    def loss_of(self, model: Any, batch: Batch) -> torch.Tensor:
        """The undivided loss of a batch, a scalar."""
        raise NotImplementedError

    def amount_of(self, batch: Batch) -> torch.Tensor:
        """What the loss of a step is divided by: the sum of this over its batches. Here the number of rows."""
        return torch.tensor(float(len(batch["input_ids"])), device=batch["input_ids"].device)

    def said_of(self, model: Any, batch: Batch) -> Any:
        """What the model says of a held-out batch, for `note`."""

    def note(self, said: Sequence[Any]) -> None:
        """Notes what the model says of all held-out batches."""

    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """The rate rises from 1/W of the highest in the first of W steps to all of it in the last. That of transformers
        begins at 0, so its first step learns nothing."""
        rising = self.args.get_warmup_steps(num_training_steps)
        falling = int(self.decay * num_training_steps)

        def factor(step: int) -> float:
            left = num_training_steps - step
            return float(min(1, (step + 1) / max(rising, 1), left / max(falling, 1)))

        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer or self.optimizer, factor)
        return self.lr_scheduler

    def _loader(self, examples: Sequence[Measured]) -> Any:
        return self.in_batches(examples, [one.length for one in examples], self._options)

    def get_train_dataloader(self) -> Any:
        return self._loader(self.train_dataset)

    def _get_num_items_in_batch(self, batch_samples: list[Batch], device: Any) -> Any:
        if not batch_samples:
            return None
        return torch.stack([self.amount_of(batch).float() for batch in batch_samples]).sum().to(device)

    def compute_loss(
        self, model: Any, inputs: Batch, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> torch.Tensor:
        divisor = self.amount_of(inputs) if num_items_in_batch is None else num_items_in_batch
        return self.loss_of(model, inputs) / divisor.clamp(min=1e-9)

    def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
        """The loss of all held-out rows together. Also notes what the model says of them."""
        if not self.eval_dataset:
            return {}
        model = self.accelerator.unwrap_model(self.model).eval()
        sums, said = torch.zeros(2, device=self.args.device), []
        with torch.no_grad(), self.compute_loss_context_manager():
            for batch in self._loader(self.eval_dataset):
                batch = self._prepare_inputs(batch)
                sums += torch.stack([self.loss_of(self.model, batch).float(), self.amount_of(batch).float()])
                said.append(self.said_of(model, batch))
        self.note(said)
        total, count = sums.tolist()
        metrics = {"eval_loss": total / max(count, 1e-9)}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _track_num_input_tokens(self, inputs: Batch) -> None:
        self.state.num_input_tokens_seen += int(inputs["input_ids"].numel())

    def floating_point_ops(self, inputs: Any) -> int:
        return 0


class Watch(transformers.TrainerCallback):  # type: ignore[misc]
    """Writes metrics.jsonl and moves the progress bar."""

    def __init__(self, folder: Path, view: ProgressView) -> None:
        self._file, self._view, self._begin, self._first, self._loss = folder / METRICS, view, time.monotonic(), 0, ""

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """The lines of a checkpoint are in the history. Those that came behind it are written again."""
        self._begin, self._first = time.monotonic(), state.global_step
        self._file.write_text("".join(map(line_of, state.log_history)), encoding="utf-8")

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any) -> None:
        if not logs or "train_runtime" in logs:
            return
        state.log_history[-1]["seconds"] = round(time.monotonic() - self._begin, 2)
        try:
            with self._file.open("a", encoding="utf-8") as file:
                file.write(line_of(state.log_history[-1]))
        except OSError as error:
            raise Error(f"{self._file}: cannot be written ({why_unwritten(error, self._file.parent)})") from error
        if "loss" in logs:
            self._loss = f", loss {float(logs['loss']):.4f}"

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        seconds = time.monotonic() - self._begin
        done, of_all = state.global_step, state.max_steps
        control.should_log = control.should_log or done >= of_all  # the last loss is that of the last step
        left = eta(done - self._first, of_all - self._first, seconds)
        self._view.show(done, of_all, seconds, f"step {done:,}/{of_all:,}{self._loss}, ETA {left}")


def line_of(logs: dict[str, Any]) -> str:
    """What transformers logs, as a line of metrics.jsonl: its numbers, by our names."""
    named = {"learning_rate": "lr", "grad_norm": "gradient_norm"}
    numbers = {name: value for name, value in logs.items() if isinstance(value, (int, float)) and math.isfinite(value)}
    first = {name: numbers.pop(name) for name in ("step", "seconds") if name in numbers}
    return json.dumps(first | {named.get(name, name): value for name, value in numbers.items()}) + "\n"


def arguments(
    options: TrainOptions,
    folder: Path,
    rate: float,
    kind: Callable[..., Any] = transformers.TrainingArguments,
    *,
    evaluates: bool,
    **more: Any,
) -> Any:
    """What transformers calls the arguments of training. `kind` makes them, also those of TRL's trainers.

    `evaluates`: whether rows are held out.
    """
    on_gpu = chosen_device(torch, options.device).type == "cuda"
    return kind(
        output_dir=str(folder),
        use_cpu=not on_gpu,
        bf16=on_gpu and torch.cuda.is_bf16_supported(),
        seed=options.seed,
        num_train_epochs=options.epochs,
        max_steps=options.max_steps or -1,
        gradient_accumulation_steps=options.accumulate,
        learning_rate=rate,
        weight_decay=0.0,
        adam_beta2=0.95,
        warmup_steps=options.warmup,
        lr_scheduler_type="warmup_stable_decay",
        logging_steps=options.log_every,
        logging_first_step=True,  # a short training has a curve too
        logging_nan_inf_filter=False,
        save_strategy="steps" if options.save_every else "no",
        save_steps=options.save_every or 500,
        eval_strategy="steps" if evaluates else "no",
        eval_steps=options.save_every or 500,
        disable_tqdm=True,
        report_to="none",
        remove_unused_columns=False,
        **more,
    )
