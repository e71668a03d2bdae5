"""LoRA adapters: small matrices that are trained in place of a model's weights, and are merged into them at the end."""

from typing import Any

import peft

HEADS = ("value_heads", "score")
"""New parts of a model, which are trained whole."""


def with_adapters(model: Any, rank: int) -> Any:
    """The model with adapters on all its linear layers but the output. Its heads, if it has any, stay whole."""
    heads = [name for name in HEADS if hasattr(model, name)]
    return peft.get_peft_model(
        model,
        peft.LoraConfig(
            r=rank,
            lora_alpha=2 * rank,
            target_modules="all-linear",
            exclude_modules=rf"({'|'.join(heads)})(\..*)?" if heads else None,
            modules_to_save=heads or None,
            task_type=None if "score" in heads else "CAUSAL_LM",
        ),
    )


def without_adapters(model: Any) -> Any:
    """The model itself, within which adapters, if it has any, do their work."""
    return model.get_base_model() if isinstance(model, peft.PeftModel) else model


def merged(model: Any) -> Any:
    """The model with its adapters, if it has any, added to its weights."""
    return model.merge_and_unload() if isinstance(model, peft.PeftModel) else model
