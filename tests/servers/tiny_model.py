"""Writes a tiny language model with seeded random weights as a GGUF file: the same seed gives the same bytes.

Its vocabulary is SentencePiece-like: bytes, a few words of the methods' protocols, chat marks. What it writes is noise
in clean text, and that is enough to see a server's habits.
"""

from __future__ import annotations

import sys
from pathlib import Path

import gguf
import numpy as np

CONTEXT = 16384
WIDTH, HEADS, KV_HEADS, LAYERS, INNER = 64, 4, 2, 2, 128
WORDS = [
    *("the", "a", "of", "and", "in", "is", "was", "not", "who", "what", "where", "when", "so", "then", "first", "I"),
    *("question", "answer", "search", "think", "city", "river", "film", "king", "born", "north", "author", ".", ","),
    *("<answer>", "</answer>", "<search>", "</search>", "<question>", "</question>"),
]
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def vocabulary() -> tuple[list[str], list[float], list[int]]:
    """Tokens with their scores and types; a merge needs every prefix of a word as a piece of its own."""
    kinds = gguf.TokenType
    special = ["<unk>", "<s>", "</s>"]
    tokens = [*special, *(f"<0x{byte:02X}>" for byte in range(256))]
    types = [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * 256]
    pieces = {"▁"}
    for word in WORDS:
        for form in (word, "▁" + word):
            pieces.update(form[: end + 1] for end in range(len(form)))
            pieces.update(form)
    ordered = sorted(pieces, key=lambda piece: (len(piece), piece))
    tokens += ordered
    types += [kinds.NORMAL] * len(ordered)
    scores = [0.0] * 259 + [float(len(piece)) for piece in ordered]
    marks = ["<|im_start|>", "<|im_end|>"]
    return tokens + marks, scores + [0.0] * len(marks), [int(kind) for kind in types + [kinds.CONTROL] * len(marks)]


def write_model(path: Path, seed: int = 1) -> None:
    random = np.random.default_rng(seed)
    tokens, scores, types = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types(types)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_unk_token_id(0)
    writer.add_add_bos_token(True)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(CHAT_TEMPLATE)

    def draw(*shape: int, scale: float = 0.3) -> np.ndarray:
        return random.standard_normal(shape, dtype=np.float32) * np.float32(scale)

    # The first number of each embedding is the same, and no layer writes it: the first column of the output matrix is
    # then a bias of each token. Whole words are likely; bytes and control tokens, but for the end, are not.
    embeddings = draw(len(tokens), WIDTH, scale=1)
    embeddings[:, 0] = 4
    writer.add_tensor("token_embd.weight", embeddings)
    output = draw(len(tokens), WIDTH, scale=0.2)
    words = {"▁" + word for word in WORDS}
    output[:, 0] = [2.0 if token in words else -2.0 for token in tokens]
    output[len(tokens) - 1, 0] = 0.8
    writer.add_tensor("output.weight", output)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, dtype=np.float32))
    for layer in range(LAYERS):
        closing = {"attn_output": draw(WIDTH, WIDTH, scale=0.05), "ffn_down": draw(WIDTH, INNER, scale=0.05)}
        for values in closing.values():
            values[0] = 0
        tensors = {
            "attn_norm": np.ones(WIDTH, dtype=np.float32),
            "attn_q": draw(WIDTH, WIDTH),
            "attn_k": draw(KV_HEADS * WIDTH // HEADS, WIDTH),
            "attn_v": draw(KV_HEADS * WIDTH // HEADS, WIDTH),
            "ffn_norm": np.ones(WIDTH, dtype=np.float32),
            "ffn_gate": draw(INNER, WIDTH),
            "ffn_up": draw(INNER, WIDTH),
            **closing,
        }
        for name, values in tensors.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    write_model(Path(sys.argv[1]))
