"""Two heads over a model's last hidden state, and their file.

The file is `value_heads.safetensors`: `plan.weight` [1, d], `plan.bias` [1], `search.weight` [1, d] and `search.bias`
[1] as 4-byte floats, d = the width of the model. The C++ value head (`--values FILE`) reads it too.
"""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from ..errors import InputError
from .adapters import without_adapters

FILE = "value_heads.safetensors"
NAMES = ("plan", "search")


class ValueHeads(torch.nn.Module):  # type: ignore[misc]
    """tanh(weight . hidden + bias), each in [-1, 1] (DecoupleRAG, section 3.3)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.plan = torch.nn.Linear(width, 1)
        self.search = torch.nn.Linear(width, 1)

    def value(self, name: str, hidden: torch.Tensor) -> torch.Tensor:
        """[N] values of hidden states [N, d], by the head of this name."""
        head = self.plan if name == "plan" else self.search
        return torch.tanh(head(hidden.float())).squeeze(-1)

    def save(self, folder: Path) -> None:
        tensors = {name: one.detach().float().cpu().contiguous() for name, one in self.state_dict().items()}
        save_file(tensors, folder / FILE, metadata={"format": "pt"})


def load_heads(folder: Path, width: int) -> ValueHeads:
    """The heads in a folder, for a model of this width. Raises InputError that names the file and its tensors."""
    heads = ValueHeads(width)
    try:
        heads.load_state_dict(load_file(folder / FILE))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise InputError(f"{folder / FILE}: cannot be read ({' '.join(str(error).split())})") from None
    return heads


def hidden_states(model: Any, ids: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """[B, T, d]: the last hidden states of token ids [B, T]."""
    body = without_adapters(model).base_model
    states: torch.Tensor = body(input_ids=ids, attention_mask=mask, use_cache=False).last_hidden_state
    return states
