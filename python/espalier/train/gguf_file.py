"""A trained Llama as one file that llama.cpp reads, and the names of tokenizers in it (`tokenizer.ggml.pre`)."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import InputError, needed

Step = dict[str, Any]
"""A pre-tokenizer as tokenizer.json has it."""

PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
"""That of Llama 3 (with {1,3} in the gap) and of Qwen 2 (with nothing)."""


def isolated(**pattern: str) -> Step:
    return {"type": "Split", "pattern": pattern, "behavior": "Isolated", "invert": False}


def in_turn(*steps: Step) -> Step:
    return {"type": "Sequence", "pretokenizers": list(steps)}


BYTES: Step = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
WORDS: Step = BYTES | {"use_regex": True}
SPLITS: dict[str, Step] = {
    "llama-bpe": in_turn(isolated(Regex=PATTERN % "{1,3}"), BYTES),
    "qwen2": in_turn(isolated(Regex=PATTERN % ""), BYTES),
    "smollm": in_turn({"type": "Digits", "individual_digits": True}, WORDS),
    "gpt-2": WORDS,
}
MICRO = in_turn(isolated(Regex="</?[a-z_]+>"), isolated(String="\n"), WORDS)
"""A micro model's, which is `gpt-2` for llama.cpp, because no merge of its tokens crosses the end of a line."""


def essence(step: Mapping[str, Any] | None) -> tuple[Any, ...]:
    """The steps of a pre-tokenizer without what changes no token."""
    if step is None:
        return ()
    kind = step["type"]
    if kind == "Sequence":
        return tuple(part for one in step["pretokenizers"] for part in essence(one))
    if kind == "Split":
        [pattern] = step["pattern"].values()
        return ((kind, pattern, step["behavior"], step["invert"]),)
    names = {"ByteLevel": ("add_prefix_space", "use_regex"), "Digits": ("individual_digits",)}.get(kind, ())
    return ((kind, *(step[name] for name in names)),)


NAMES = {essence(step): name for name, step in SPLITS.items()} | {essence(MICRO): "gpt-2"}


def name_of_split(described: Mapping[str, Any]) -> str:
    """llama.cpp's name of how the tokenizer of this tokenizer.json splits a text. Raises InputError where it has none.

    llama.cpp leaves out Qwen's NFC normalisation, and takes whole tokens without merges for `llama-bpe` alone.
    """
    name = NAMES.get(essence(described["pre_tokenizer"]), "")
    normaliser = described["normalizer"] and described["normalizer"]["type"]
    whole = bool(described["model"].get("ignore_merges"))
    if not name or whole != (name == "llama-bpe") or normaliser not in (None, "NFC" if name == "qwen2" else None):
        raise InputError(
            f"option 'gguf': the tokenizer splits texts in a way that is unknown here, known are those of "
            f"{', '.join(SPLITS)}"
        )
    return name


def split_by(described: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A tokenizer.json that splits texts in the way of this name. Raises InputError for an unknown one."""
    if name not in SPLITS:
        raise InputError(f"it splits texts by '{name}', which is unknown here, known are {', '.join(SPLITS)}")
    merges = described["model"] | {"ignore_merges": name == "llama-bpe"}
    return {**described, "pre_tokenizer": SPLITS[name], "model": merges}


def check_gguf(model: Any, tokenizer: Any) -> None:
    """Raises InputError for a model that `write_gguf` does not write, and MissingPart."""
    needed("gguf", "--gguf")
    config = model.config
    if config.model_type != "llama":
        raise InputError(f"option 'gguf': only Llama models are written, this one is '{config.model_type}'")
    if not hasattr(model, "lm_head"):
        raise InputError("option 'gguf': only language models are written, this one gives numbers")
    rope = config.rope_parameters.get("rope_type", "default")
    if rope != "default":
        raise InputError(f"option 'gguf': only plain rotary positions are written, this model's are '{rope}'")
    if config.head_dim * config.num_attention_heads != config.hidden_size:
        raise InputError(f"option 'gguf': heads of {config.head_dim} numbers do not make up {config.hidden_size}")
    raw = json.loads(tokenizer.backend_tokenizer.to_str())
    kind = raw["model"]
    if kind["type"] != "BPE" or kind.get("byte_fallback"):
        raise InputError(f"option 'gguf': the tokenizer is no byte-level BPE, but {kind['type']}")
    name_of_split(raw)


def write_gguf(file: Path, model: Any, tokenizer: Any, kind: str) -> None:
    """Writes the model with weights of 16 bits ("f16") or of blocks of 8 bits ("q8_0"). Norms stay floats.

    Raises as `check_gguf` does.
    """
    check_gguf(model, tokenizer)
    import gguf

    config = model.config
    heads, keys = config.num_attention_heads, config.num_key_value_heads
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name(file.parent.name)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(heads)
    writer.add_head_count_kv(keys)
    writer.add_rope_dimension_count(config.hidden_size // heads)
    writer.add_rope_freq_base(float(config.rope_parameters["rope_theta"]))
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    quantised = gguf.GGMLQuantizationType[kind.upper()]
    writer.add_file_type(gguf.LlamaFileType[f"MOSTLY_{kind.upper()}"])
    add_tokenizer(writer, gguf, tokenizer, config.vocab_size)
    for name, values in tensors(gguf, model, heads, keys):
        # Blocks of 8 bits hold 32 numbers, so a row that is no multiple of that stays at 16 bits.
        fits = values.ndim == 2 and (kind == "f16" or values.shape[1] % 32 == 0)
        chosen = quantised if fits else gguf.GGMLQuantizationType.F16 if values.ndim == 2 else None
        if chosen is None:
            writer.add_tensor(name, values)
        else:
            writer.add_tensor(name, gguf.quantize(values, chosen), raw_dtype=chosen)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def tensors(gguf: Any, model: Any, heads: int, keys: int) -> Iterator[tuple[str, Any]]:
    """The weights as arrays of floats, under llama.cpp's names."""
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, model.config.num_hidden_layers)
    for name, tensor in model.state_dict().items():
        if name == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        values = tensor.detach().float().cpu().numpy()
        if ".q_proj." in name or ".k_proj." in name:
            values = rotated(values, heads if ".q_proj." in name else keys)
        yield names.get_name(name, try_suffixes=(".weight", ".bias")), values


def rotated(values: Any, heads: int) -> Any:
    """Rows in llama.cpp's order: transformers rotates the two halves of a head, llama.cpp rotates neighbours."""
    return (
        values.reshape(heads, 2, values.shape[0] // heads // 2, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape)
    )


def add_tokenizer(writer: Any, gguf: Any, tokenizer: Any, size: int) -> None:
    """A byte-level BPE tokenizer."""
    raw = json.loads(tokenizer.backend_tokenizer.to_str())
    by_id = {number: token for token, number in tokenizer.get_vocab().items()}
    special = {one["id"] for one in raw["added_tokens"] if one["special"]}
    added = {one["id"] for one in raw["added_tokens"]}
    types = gguf.TokenType
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(name_of_split(raw))
    writer.add_token_list([by_id.get(i, f"<unused{i}>") for i in range(size)])
    writer.add_token_types(
        [
            types.CONTROL if i in special else types.USER_DEFINED if i in added else types.NORMAL
            if i in by_id
            else types.UNUSED
            for i in range(size)
        ]
    )  # fmt: skip
    merges = raw["model"]["merges"]
    writer.add_token_merges([one if isinstance(one, str) else " ".join(one) for one in merges])
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_add_bos_token(False)
    writer.add_chat_template(tokenizer.chat_template)
