"""How much memory training needs at its peak, estimated before the first backward pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import Error
from ..local.memory import available_memory, gib
from .source import Source

FLOAT = 4
"""Bytes of a weight, of its gradient, and of each of AdamW's two moments."""

LOOP = 70 << 20
"""Bytes that trainings on a processor took beyond all that is counted here: the loop, its buffers, the allocator."""


def resident() -> int:
    """Bytes of this process that are in memory, 0 = unknown."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096
    except (OSError, IndexError):
        return 0


@dataclass(frozen=True)
class Peak:
    """Bytes by what they are for."""

    process: int
    """Of the process with the loaded weights, and LOOP (on a GPU: the weights alone, with those of a reference)."""
    training: int
    """Gradients and AdamW's moments of the weights that are trained."""
    activations: int
    """What the backward pass of the largest batch needs, its logits included."""

    @property
    def total(self) -> int:
        return self.process + self.training + self.activations

    def __str__(self) -> str:
        return (
            f"peak memory about {gib(self.total)}: {gib(self.process)} with the model loaded, {gib(self.training)} of "
            f"gradients and moments, {gib(self.activations)} for a batch"
        )


def activations(config: Any, tokens: int, logits: int, half: bool) -> int:
    """Bytes that a Llama-like model keeps for the backward pass of so many tokens, `logits` of which have logits.

    A layer keeps about 16 rows of its width (inputs of the norms, queries, keys and values before and after rotation,
    the attention's output) and 4 of its network's inner width. Logits stand there three times as floats: themselves,
    their log-probabilities and their gradient.
    """
    width, layers = config.hidden_size, config.num_hidden_layers
    inner = getattr(config, "intermediate_size", 4 * width)
    kept = layers * (16 * width + 4 * inner) * (FLOAT // 2 if half else FLOAT)
    return int(tokens * kept + 3 * logits * config.vocab_size * FLOAT)


def adapters(model: Any, tokens: int, half: bool, on_gpu: bool) -> int:
    """Bytes that LoRA adapters keep besides, 0 without any: `rank` inner numbers of each adapted layer for a token.

    On a processor the sum of a layer's output and its adapter's leaves holes in the heap. Trainings had about one and
    a half times all these outputs in them.
    """
    layers = [one for one in model.modules() if hasattr(one, "lora_A")]
    inner = sum(sum(one.r.values()) for one in layers) * (FLOAT // 2 if half else FLOAT)
    holes = 0 if on_gpu else sum(one.out_features for one in layers) * FLOAT * 3 // 2
    return tokens * (inner + holes)


def tile(config: Any, tokens: int, on_gpu: bool) -> int:
    """Bytes of the loss of TRL's GRPO. It makes the logits of at most 4,096 tokens and 32,768 words of the vocabulary
    at once. On a processor they stand there about seven times."""
    return min(tokens, 4096) * min(int(config.vocab_size), 32768) * FLOAT * (1 if on_gpu else 7)


def peak(model: Any, batch: int, *, on_gpu: bool, copies: int = 1) -> Peak:
    """The estimate for a loaded model whose largest batch takes so many bytes. `copies` is 2 where a reference is
    loaded too."""
    every = sum(one.numel() for one in model.parameters())
    trained = sum(one.numel() for one in model.parameters() if one.requires_grad)
    process = copies * every * FLOAT if on_gpu else resident() + LOOP
    return Peak(process, 3 * FLOAT * trained, batch)


def check_before_loading(source: Source, *, full: bool) -> None:
    """Raises Error where even the weights, their gradients and moments do not fit into the memory that is left. They
    take 16 bytes a parameter, 4 with adapters."""
    left = available_memory()
    need = least_parameters(source) * FLOAT * (4 if full else 1)
    if left is not None and need > left:
        raise Error(f"{source.name}: too little memory: training needs {gib(need)} and more, {gib(left)} are left")


def least_parameters(source: Source) -> int:
    """The parameters of a model that is not loaded: of its files, a parameter takes 4 bytes in a folder (2 where its
    configuration says 16 bits), and at most 2 in a GGUF file."""
    if source.path is None:
        return source.parameters
    if source.kind == "gguf":
        return source.bytes // 2
    config = (source.path / "config.json").read_text(encoding="utf-8")
    return source.bytes // (2 if any(name in config for name in ('"bfloat16"', '"float16"')) else 4)


def say_memory(estimate: Peak, say: Callable[[str], None], on_gpu: bool, smaller: str = "batch_tokens") -> None:
    """Says the estimate. Raises Error that names the option to make smaller where more is needed than is left, by more
    than the estimate may err."""
    import torch

    left = torch.cuda.mem_get_info()[0] if on_gpu else available_memory()
    more = estimate.training + estimate.activations
    say(str(estimate))
    if left is not None and more > 1.1 * left:
        raise Error(
            f"too little memory: {gib(more)} more are needed, {gib(left)} are left: a smaller '{smaller}' helps"
        )
