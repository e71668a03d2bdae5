"""A model of transformers in this process: a tiny one with random weights."""

import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import espalier as esp
import pytest
import torch
from espalier.errors import BackendError, Error, InputError
from espalier.export.byte_tokenizer import byte_tokenizer
from espalier.local.decoding import _minus_log_of_rest, exponential
from transformers import LlamaConfig, LlamaForCausalLM


@pytest.fixture(scope="module")
def network() -> LlamaForCausalLM:
    torch.manual_seed(7)
    small = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = LlamaConfig(vocab_size=259, max_position_embeddings=512, eos_token_id=256, pad_token_id=256, **small)
    network = LlamaForCausalLM(config).double().eval()
    with torch.no_grad():
        network.lm_head.weight.mul_(20)  # so that tokens differ in probability
    return network


@pytest.fixture(scope="module")
def model(network: LlamaForCausalLM) -> esp.Transformers:
    return esp.Transformers(network, byte_tokenizer(), batch=4)


@pytest.fixture
def folder(network: LlamaForCausalLM, tmp_path: Path) -> Path:
    network.save_pretrained(tmp_path / "tiny")
    byte_tokenizer().save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def logits(network: LlamaForCausalLM, text: str) -> torch.Tensor:
    with torch.no_grad():
        return network(byte_tokenizer()(text, return_tensors="pt")["input_ids"]).logits[0, -1]


def prompt(text: str = "Who?", **more: object) -> esp.Prompt:
    return esp.Prompt(text, **{"temperature": 1.0, "max_tokens": 12, "seed": 3, **more})


def asked(**more: object) -> SimpleNamespace:
    """One token of a bare prompt, with all that an engine may ask for."""
    fields = {"messages": [{"role": "user", "content": "a"}], "temperature": 1.0, "top_k": 0, "top_p": 1.0, "stop": []}
    chances = {"logprobs": False, "token_logprobs": False, "keep_tokens": False}
    return SimpleNamespace(**{**fields, **chances, "max_tokens": 1, "seed": 3, "sample": 0, "grammar": "", **more})


def test_a_sample_is_the_same_in_every_batch(model: esp.Transformers, network: LlamaForCausalLM):
    prompts = [prompt(f"question {'long ' * (i % 3)}{i}", sample=i, max_tokens=8 + i % 2) for i in range(9)]
    together = [answer.text for answer in model(prompts)]
    alone = [esp.Transformers(network, byte_tokenizer(), batch=1)([one])[0].text for one in prompts]
    assert together == alone and len(set(together)) == 9


def test_samples_follow_the_models_probabilities(model: esp.Transformers, network: LlamaForCausalLM):
    n = 2000
    drawn = Counter(a.text for a in esp.Transformers(network, byte_tokenizer(), batch=500, chat=False)(
        [prompt("a", sample=i, max_tokens=1, temperature=0.7) for i in range(n)]
    ))  # fmt: skip
    chances = torch.softmax(logits(network, "a") / 0.7, -1).tolist()
    likely = [i for i in range(256) if chances[i] > 0.02 and byte_tokenizer().decode([i]).isascii()]
    assert len(likely) > 3
    for i in likely:
        p, seen = chances[i], drawn[byte_tokenizer().decode([i])] / n
        assert abs(seen - p) < 5 * math.sqrt(p * (1 - p) / n), (i, p, seen)


def test_a_nucleus_keeps_what_is_unlikely_out(network: LlamaForCausalLM):
    best = byte_tokenizer().decode([int(logits(network, "a").argmax())])
    drawn = [asked(top_p=0.001, sample=i) for i in range(8)]
    assert {a.text for a in esp.Transformers(network, byte_tokenizer(), chat=False)(drawn)} == {best}


def test_only_the_k_likeliest_tokens_are_drawn_and_the_nucleus_is_one_of_them(network: LlamaForCausalLM):
    """Of the three likeliest tokens with the chances a > b > c, top_p leaves a and b where a < top_p (a + b + c)."""
    a, b, c = torch.topk(torch.softmax(logits(network, "a") / 3, -1), 3).values.tolist()
    model = esp.Transformers(network, byte_tokenizer(), chat=False, batch=256)

    def drawn(top_k: int, top_p: float) -> set[int]:
        shown = {"temperature": 3.0, "logprobs": True, "token_logprobs": True}
        rows = [asked(**shown, top_k=top_k, top_p=top_p, sample=i) for i in range(200)]
        return {round(1e6 * answer.logprob) for answer in model(rows)}

    best = [round(1e6 * one) for one in torch.log_softmax(logits(network, "a"), -1).topk(3).values.tolist()]

    def near(found: set[int]) -> set[int]:
        return {min(best, key=lambda one: abs(one - value)) for value in found}

    assert near(drawn(1, 1.0)) == set(best[:1]) and len(drawn(3, 1.0)) == 3
    assert near(drawn(3, 1.0)) == set(best) and len(drawn(0, 1.0)) > 3
    assert near(drawn(3, (a + b / 2) / (a + b + c))) == set(best[:2])


def test_greedy_replies_stop_behind_the_stop_string_and_count_tokens(model: esp.Transformers):
    [whole] = model([prompt(temperature=0.0)])
    assert whole.finish == "length" and whole.completion_tokens == 12
    stop = whole.text[3:5]
    [cut] = model([prompt(temperature=0.0, stop=[stop, "never there"])])
    assert cut.text == whole.text[: whole.text.index(stop) + 2] and cut.finish == "stop"
    template = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n"
    assert cut.prompt_tokens == whole.prompt_tokens == len(byte_tokenizer()(template)["input_ids"])


def test_a_begun_answer_goes_on(network: LlamaForCausalLM):
    [begun] = esp.Transformers(network, byte_tokenizer())([prompt(temperature=0.0, prefill="<think>")])
    text = "<|im_start|>user\nWho?<|im_end|>\n<|im_start|>assistant\n<think>"
    [bare] = esp.Transformers(network, byte_tokenizer(), chat=False)([prompt(text, temperature=0.0)])
    assert (begun.text, begun.prompt_tokens) == (bare.text, bare.prompt_tokens)


def test_an_end_of_text_ends_the_reply(network: LlamaForCausalLM):
    bias = network.lm_head.weight.detach().clone()
    try:
        with torch.no_grad():
            network.lm_head.weight.zero_()  # all tokens alike: argmax is the first, id 0
            network.generation_config.eos_token_id = 0
        [answer] = esp.Transformers(network, byte_tokenizer())([prompt(temperature=0.0)])
        assert (answer.text, answer.finish, answer.completion_tokens) == ("", "stop", 1)
    finally:
        network.generation_config.eos_token_id = 256
        with torch.no_grad():
            network.lm_head.weight.copy_(bias)


def test_bad_parts_are_named(network: LlamaForCausalLM):
    bare = byte_tokenizer()
    bare.chat_template = None
    with pytest.raises(ValueError, match="chat=False"):
        esp.Transformers(network, bare)
    with pytest.raises(ValueError, match="'batch': -1"):
        esp.Transformers(network, byte_tokenizer(), batch=-1)


def test_a_search_runs_on_it(model: esp.Transformers):
    world = esp.World(passages=50, questions=2, seed=1)
    trees = esp.run(esp.Method("direct", set={"max_tokens": 16}, answer=True), world.questions, model=model)
    assert [tree.question.id for tree in trees] == [q.id for q in world.questions]


def test_noise_is_equal_to_the_bit_in_every_batch():
    seeds = torch.arange(7) * 12345
    together = exponential(seeds, torch.full_like(seeds, 5), 1001)
    for i, seed in enumerate(seeds):
        assert torch.equal(exponential(seed[None], torch.tensor([5]), 1001)[0], together[i])
    assert not torch.equal(together, exponential(seeds, torch.full_like(seeds, 6), 1001))


def test_the_logarithm_of_noise_is_near_the_true_one():
    x = torch.rand(100_000, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    v = torch.cat([x, 1 - x * 2.0**-20, x * 2.0**-20, x * 2.0**-31]).clamp(2.0**-32, 1 - 2.0**-24).float()
    exact = -torch.log1p(-v.double())
    assert ((_minus_log_of_rest(v) - exact).abs() <= 1e-5 * exact).all()
    assert torch.isfinite(_minus_log_of_rest(torch.ones(1))).all()


def test_noise_is_exponential():
    drawn = exponential(torch.arange(200), torch.zeros(200, dtype=torch.long), 1000)
    least = drawn.sort(1).values
    assert (least[:, 0] > 0).all() and (least[:, 0] < least[:, 1]).all()
    n, numbers = drawn.numel(), drawn.double().flatten()
    assert abs(numbers.mean() - 1) < 5 / math.sqrt(n) and abs(numbers.var() - 1) < 5 * math.sqrt(8 / n)
    for level in (0.001, 0.1, 1.0, 5.0):  # the share above it is exp(-level)
        p = math.exp(-level)
        assert abs((numbers > level).double().mean() - p) < 5 * math.sqrt(p * (1 - p) / n)


def test_noises_of_tokens_rows_and_steps_are_independent():
    seeds = torch.arange(300) * 12345
    u = torch.exp(-exponential(seeds, torch.full_like(seeds, 5), 1000)).double() - 0.5  # uniform, variance 1/12
    later = torch.exp(-exponential(seeds, torch.full_like(seeds, 6), 1000)).double() - 0.5
    for a, b in ((u[:, 1:], u[:, :-1]), (u[1:], u[:-1]), (u, later)):
        assert abs((a * b).mean()) * 12 < 5 / math.sqrt(a.numel())
    first = exponential(torch.arange(2000), torch.zeros(2000, dtype=torch.long), 10_000).argmin(1)
    assert abs(len(first.unique()) - 1812.7) < 5 * 12  # 10,000 (1 - exp(-1/5)), with its standard deviation


def test_the_samples_of_a_prompt_share_its_reading(network: LlamaForCausalLM):
    read = []
    handle = network.model.register_forward_pre_hook(
        lambda module, args, named: read.append(named["input_ids"].shape), with_kwargs=True
    )
    try:
        esp.Transformers(network, byte_tokenizer(), batch=8)([prompt(sample=i) for i in range(8)])
    finally:
        handle.remove()
    assert read[0][0] == 1 and {rows for rows, _ in read[1:]} <= set(range(1, 9)) and read[1][0] == 8


def test_log_probabilities_are_the_models_own(network: LlamaForCausalLM):
    one = asked(temperature=0.5, seed=1, logprobs=True, token_logprobs=True)
    [answer] = esp.Transformers(network, byte_tokenizer(), chat=False)([one])
    [(text, logprob)] = answer.tokens
    raw = torch.log_softmax(logits(network, "a"), -1)
    [token] = byte_tokenizer()(text)["input_ids"] if text.isascii() and text else [None]
    if token is not None:
        assert logprob == pytest.approx(raw[token].item(), abs=1e-5)
    assert answer.logprob == logprob


def test_a_grammar_is_kept(network: LlamaForCausalLM):
    pytest.importorskip("llguidance")
    model = esp.Transformers(network, byte_tokenizer(), chat=False)
    assert model.takes_grammar
    kept = {"max_tokens": 12, "seed": 1, "grammar": 'root ::= ("yes" | "no") " " [0-9]'}
    replies = model([*(asked(**kept, sample=i) for i in range(8)), asked(max_tokens=12, seed=1)])
    assert all(len(r.text) in (4, 5) and r.text.split()[0] in ("yes", "no") and r.finish == "stop" for r in replies[:8])
    assert len({r.text for r in replies[:8]}) > 1 and replies[8].finish == "length"
    [bad] = model([asked(grammar="root ::= (")])
    assert isinstance(bad, BackendError) and bad.permanent


def test_a_prompt_that_is_too_long_fails_alone(model: esp.Transformers):
    long, good = model([prompt("x" * 600), prompt()])
    assert long.finish == "too_long" and good.completion_tokens == 12
    assert long.text == f"the prompt has {long.prompt_tokens} tokens and the model's context 512: give shorter prompts"


def test_a_folder_is_a_model(network: LlamaForCausalLM, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = tmp_path / "tiny"
    with pytest.raises(InputError, match=r"config\.json is missing"):
        esp.Transformers(folder)
    network.save_pretrained(folder)
    with pytest.raises(InputError, match="no tokenizer"):
        esp.Transformers(folder)
    byte_tokenizer().save_pretrained(folder)
    with pytest.raises(ValueError, match="'device'"):
        esp.Transformers(folder, device="tpu")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="0 CUDA devices"):
            esp.Transformers(folder, device="cuda")
    with esp.Transformers(folder, device="cpu") as model:
        [reply] = model([prompt(temperature=0.0)])
        assert reply.completion_tokens > 0 and model.fingerprint.startswith("tiny@")
    bare = byte_tokenizer()
    bare.chat_template = None
    bare.save_pretrained(folder)
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    with pytest.raises(InputError, match="no chat template"):
        esp.Transformers(folder, device="cpu")
    monkeypatch.setattr("espalier.local.transformers.available_memory", lambda: 1000)
    with pytest.raises(Error, match="too little memory"):
        esp.Transformers(folder, device="cpu", chat=False)


def test_a_damaged_folder_is_named(folder: Path):
    whole = {name: (folder / name).read_bytes() for name in ("model.safetensors", "tokenizer.json", "config.json")}
    parts = [whole["model.safetensors"][:2000], b"{", b'{"model_type": "foo"}']
    for name, part, said in zip(whole, parts, ("AutoModelForCausalLM: ", "AutoTokenizer: ", ""), strict=True):
        (folder / name).write_bytes(part)
        with pytest.raises(InputError, match=rf"tiny: the model cannot be loaded \(.*{said}"):
            esp.Transformers(folder, device="cpu")
        (folder / name).write_bytes(whole[name])
    esp.Transformers(folder, device="cpu").close()


def test_a_folder_runs_by_its_name(folder: Path, tmp_path: Path):
    esp.write_world(tmp_path / "world", passages=50, questions=2)
    settings = {
        "method": "direct", "model": f"hf:{folder}?device=cpu&batch=2", "set": {"max_tokens": 8},
        "questions": tmp_path / "world/questions.jsonl", "corpus": tmp_path / "world/corpus.jsonl",
    }  # fmt: skip
    first = esp.answer(**settings, out=tmp_path / "out")
    before = (tmp_path / "out/trees.jsonl").read_bytes()
    assert first.open == 0 and esp.answer(**settings, out=tmp_path / "out").recognised
    for option, value in {"extra_body": '{"a": 1}', "model_revision": "mine", "server": "vllm"}.items():
        with pytest.raises(ValueError, match=f"option '{option.replace('_', '-')}' is not allowed beside hf:"):
            esp.answer(**settings, **{option: value}, out=tmp_path / "refused")
    mixed = {**settings, "model": "http://127.0.0.1:9/v1", "model_name": "m", "models": {"answer": settings["model"]}}
    assert esp.answer(**mixed, server="vllm", out=tmp_path / "mixed").open == 0  # they are of the main model
    (folder / "chat_template.jinja").unlink(missing_ok=True)
    bare = byte_tokenizer()
    bare.chat_template = None
    bare.save_pretrained(folder)
    with pytest.raises(InputError, match="no chat template; option 'api' as completions"):
        esp.answer(**settings, out=tmp_path / "chat")
    assert esp.answer(**settings, out=tmp_path / "bare", api="completions").open == 0
    byte_tokenizer().save_pretrained(folder)
    esp.answer(**settings, out=tmp_path / "out", replay=True)
    assert (tmp_path / "out/trees.jsonl").read_bytes() == before
