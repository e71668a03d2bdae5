"""How five servers speak: the shapes of their replies and errors, and where they differ."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]


def encode(reply: object) -> bytes:
    return json.dumps(reply, ensure_ascii=False).encode()


class Refused(Exception):
    """The server refuses a request."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        super().__init__(message)
        self.status, self.code = status, code


@dataclass(frozen=True)
class Dialect:
    """One server's habits. `error` gives the body of an error from (status, message, code)."""

    error: Callable[[int, str, str], Json]
    owner: str  # of its models
    native_n: bool = True
    stop_field: str = ""  # where a choice names the stop string that ended it
    logprobs: str = "openai"  # "chat": the chat shape on /completions too; "": none
    knows_models: bool = True  # an unknown model is refused
    prompt_lists: bool = True  # lists of prompts and prompts as token ids
    cuts_prompts: bool = False  # a prompt beyond the context is cut without a word
    most_stops: int = 1000
    refused_fields: tuple[str, ...] = ()
    token_ids: bool = False  # sends each choice's token ids where they are asked for


def _openai_error(status: int, message: str, code: str) -> Json:
    kind = code if code == "insufficient_quota" else "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": code or None}}


def _vllm_error(status: int, message: str, code: str) -> Json:
    names = {400: "BadRequestError", 404: "NotFoundError", 422: "BadRequestError"}
    return {"error": {"message": message, "type": code or names.get(status, "ServerError"), "code": status}}


def _sglang_error(status: int, message: str, code: str) -> Json:
    kind = code or ("BadRequestError" if status < 500 else "InternalServerError")
    return {"object": "error", "message": message, "type": kind, "param": None, "code": status}


def _llama_cpp_error(status: int, message: str, code: str) -> Json:
    names = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
    kind = code or names.get(status, "unavailable_error" if status == 503 else "server_error")
    return {"error": {"code": status, "message": message, "type": kind}}


DIALECTS: Mapping[str, Dialect] = {
    "vllm": Dialect(_vllm_error, "vllm", stop_field="stop_reason", token_ids=True),
    "sglang": Dialect(_sglang_error, "sglang", stop_field="matched_stop"),
    "llama.cpp": Dialect(_llama_cpp_error, "llamacpp", logprobs="chat", knows_models=False),
    "ollama": Dialect(
        lambda _, message, code: {"error": f"{message} ({code})" if code else message},
        "library",
        native_n=False,
        logprobs="",
        prompt_lists=False,
        cuts_prompts=True,
    ),
    "openai": Dialect(_openai_error, "system", most_stops=4, refused_fields=("top_k", "min_p")),
}

MODEL = "m"
CONTEXT = 100_000  # tokens; in a prompt, a word is a token
TOKENS = 8  # that each text counts as where the client hears of a message's sum alone, which it splits evenly


def prompt_of(request: Json) -> str:
    if "messages" in request:
        return "\n".join(str(message["content"]) for message in request["messages"])
    return str(request["prompt"])


def check(dialect: Dialect, request: Json) -> None:
    """Raises Refused as the server would."""
    if dialect.knows_models and request["model"] != MODEL:
        raise Refused(404, f"The model `{request['model']}` does not exist.")
    for name in dialect.refused_fields:
        if name in request:
            raise Refused(400, f"Unrecognized request argument supplied: {name}")
    if len(settings(request).get("stop") or []) > dialect.most_stops:
        raise Refused(400, f"At most {dialect.most_stops} stop sequences are allowed.")
    if isinstance(request.get("prompt"), list) and not dialect.prompt_lists:
        raise Refused(400, "invalid prompt: a string is wanted")
    if len(prompt_of(request).split()) > CONTEXT and not dialect.cuts_prompts:
        raise Refused(400, "the prompt is longer than the context", "context_length_exceeded")


def settings(request: Json) -> Json:
    """The sampling fields, wherever a server has them."""
    return {**request, **request.get("options", {})}


def written(request: Json, sample: int, golds: Mapping[str, str]) -> str:
    """What the model writes: a function of prompt, stop strings, temperature and seed. The tags follow from the stop
    strings; half of the answers are right where `golds` has the question."""
    prompt, fields = prompt_of(request), settings(request)
    stops, seed = sorted(fields.get("stop") or []), fields["seed"] + sample if "seed" in fields else 0
    key = json.dumps([prompt, stops, seed, fields["temperature"]])
    draw = int(hashlib.sha256(key.encode()).hexdigest(), 16)
    if not stops:
        return f"query {draw % 3}"
    stop = stops[draw % len(stops)]
    known = next((gold for question, gold in golds.items() if question in prompt), None)
    right = stop == "</answer>" and known is not None and draw // 8 % 2 == 0
    return f"I think so. {stop.replace('/', '')} {known if right else f'thing {draw // 16 % 4}'} {stop}"


def cut(request: Json, text: str) -> tuple[str, str | None]:
    """The text up to its first stop string, and that string."""
    stops = [stop for stop in settings(request).get("stop") or [] if stop in text]
    stop = min(stops, key=text.index, default=None)
    return (text[: text.index(stop)], stop) if stop else (text, None)


def tokens_of(dialect: Dialect, text: str) -> int:
    return len(text.split()) if dialect.token_ids else TOKENS


def _logprobs(dialect: Dialect, request: Json, text: str) -> Json | None:
    if not request.get("logprobs") or not dialect.logprobs:
        return None
    tokens = text.split()
    if "messages" in request or dialect.logprobs == "chat":
        return {"content": [{"token": token, "logprob": -0.5, "bytes": None, "top_logprobs": []} for token in tokens]}
    return {"tokens": tokens, "token_logprobs": [-0.5] * len(tokens), "top_logprobs": None, "text_offset": []}


def reply_to(dialect: Dialect, request: Json, golds: Mapping[str, str]) -> Json:
    """The whole reply on OpenAI's two routes. Raises Refused."""
    check(dialect, request)
    chat, choices, made = "messages" in request, [], 0
    for index in range(request.get("n", 1) if dialect.native_n else 1):
        text, stop = cut(request, written(request, index, golds))
        choice: Json = {"index": index, "finish_reason": "stop", "logprobs": _logprobs(dialect, request, text)}
        choice |= {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
        tokens = tokens_of(dialect, text)
        if dialect.token_ids and request.get("return_token_ids"):
            choice["token_ids"] = list(range(tokens))
        made += tokens
        choices.append(choice | ({dialect.stop_field: stop} if dialect.stop_field else {}))
    read = len(prompt_of(request).split())
    return {
        "id": "cmpl-1",
        "object": "chat.completion" if chat else "text_completion",
        "created": 1,
        "model": request["model"],
        "choices": choices,
        "usage": {"prompt_tokens": read, "completion_tokens": made, "total_tokens": read + made},
    }


def ollama_reply_to(request: Json, golds: Mapping[str, str]) -> Json:
    """The whole reply on Ollama's own two routes. Raises Refused."""
    check(DIALECTS["ollama"], request)
    text, _ = cut(request, written(request, 0, golds))
    return {
        "model": request["model"],
        **({"message": {"role": "assistant", "content": text}} if "messages" in request else {"response": text}),
        "done": True,
        "done_reason": "stop",
        "prompt_eval_count": len(prompt_of(request).split()),
        "eval_count": TOKENS,
    }
