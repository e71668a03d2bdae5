"""The model that is trained, and its tokenizer, whatever they are made from."""

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers
import torch
import transformers

from ..errors import InputError, first_line
from ..export.tokenizer import Tokenizer
from ..local.folder import loaded
from ..local.gguf import read_header
from .gguf_file import split_by
from .micro import new_model, new_tokenizer
from .source import Source


@dataclass
class Policy:
    """A causal model of transformers in 4-byte floats, on the processor."""

    model: Any
    tokenizer: Tokenizer
    """With offsets and a chat template."""
    dtype: torch.dtype
    """What its weights are saved as."""

    @property
    def context(self) -> int:
        """The most tokens of a row."""
        return int(getattr(self.model.config, "max_position_embeddings", 0) or 1 << 30)


def load_policy(source: Source, texts: Callable[[], Sequence[str]], *, seed: int, context: int = 0) -> Policy:
    """The model that a source names. `texts` gives the rows' texts, for a new tokenizer. Raises InputError for a model
    that cannot be loaded, or without a chat template."""
    if source.kind == "micro":
        tokenizer = new_tokenizer(texts())
        model = new_model(source.parameters, tokenizer, seed, context)
        dtype = torch.float32
    else:
        tokenizer, model, dtype = from_gguf(source.path) if source.kind == "gguf" else from_folder(source.path)
    if not tokenizer.chat_template:
        raise InputError(
            f"{source.name}: the model has no chat template; a file chat_template.jinja in its folder gives it one"
        )
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return Policy(model, Tokenizer.of(tokenizer, source.name), dtype)


def from_folder(folder: Path | None) -> tuple[Any, Any, torch.dtype]:
    assert folder is not None
    config = loaded(transformers.AutoConfig, folder)
    model = loaded(transformers.AutoModelForCausalLM, folder, dtype=torch.float32)
    tokenizer = loaded(transformers.AutoTokenizer, folder)
    if len(tokenizer) > (known := model.get_input_embeddings().num_embeddings):
        raise InputError(f"{folder}: the tokenizer has {len(tokenizer)} tokens, the model {known}")
    return tokenizer, model, getattr(config, "dtype", None) or torch.float32


def from_gguf(file: Path | None) -> tuple[Any, Any, torch.dtype]:
    """The weights of a GGUF file as floats. It is read through a folder of its own, because transformers would mix it
    with a tokenizer beside it. Notes of a quantisation are taken away, because with them the model is not saved."""
    assert file is not None
    try:
        with tempfile.TemporaryDirectory() as alone:
            Path(alone, file.name).symlink_to(file.resolve())
            tokenizer = transformers.AutoTokenizer.from_pretrained(alone, gguf_file=file.name)
            model = transformers.AutoModelForCausalLM.from_pretrained(alone, gguf_file=file.name, dtype=torch.float32)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError, ImportError) as error:
        raise InputError(f"{file}: the model cannot be loaded ({first_line(error)})") from None
    tokenizer = as_in_file(tokenizer, file, model.get_input_embeddings().num_embeddings)
    model.hf_quantizer, model.is_quantized = None, False
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    vocabulary = tokenizer.get_vocab()
    if "<|im_end|>" in vocabulary:  # the converted tokenizer names the end of a document as the end of a turn
        tokenizer.eos_token = "<|im_end|>"
        if "<|endoftext|>" in vocabulary:
            tokenizer.pad_token = "<|endoftext|>"
        for config in (model.config, model.generation_config):
            config.eos_token_id, config.pad_token_id = tokenizer.eos_token_id, tokenizer.pad_token_id
    return tokenizer, model, torch.bfloat16


def as_in_file(tokenizer: Any, file: Path, size: int) -> Any:
    """The tokenizer of a GGUF file, as transformers converts it, with what the conversion changes put right: it takes
    every way to split a text for GPT-2's, and adds <|endoftext|> behind the `size` tokens of a file that has none."""
    converted = json.loads(tokenizer.backend_tokenizer.to_str())
    described = {**converted, "added_tokens": [token for token in converted["added_tokens"] if token["id"] < size]}
    fields = read_header(file).fields
    if fields.get("tokenizer.ggml.model") == "gpt2" and (name := fields.get("tokenizer.ggml.pre", "gpt-2")) != "gpt-2":
        try:
            described = split_by(described, name)
        except InputError as error:
            raise InputError(
                f"{file}: the tokenizer cannot be made: {error}; train the folder of transformers"
            ) from None
    if described == converted:
        return tokenizer
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_str(json.dumps(described)),
        chat_template=tokenizer.chat_template,
        **tokenizer.special_tokens_map,
    )
