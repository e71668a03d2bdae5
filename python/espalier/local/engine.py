"""llama.cpp in this process: its server on a loopback port, for our own client."""

from __future__ import annotations

import atexit
import os
import secrets
import socket
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import Error, InputError, MissingPart, needed
from ..export.template import check_templates
from ..io.terminal import say
from .gguf import Header, content_hash, read_header
from .memory import available_memory, default_threads, gib

SLOTS = 8
CONTEXT = 4096
"""Tokens of a slot by default, or what the model was trained on if that is less."""
POOLING = {"mean": 1, "cls": 2, "last": 3}
"""How an encoder makes one vector of its tokens', with llama.cpp's numbers."""
LIMITS = {"slots": (1, 4096), "context": (16, 1 << 30), "threads": (1, 512)}
RANK = 4  # llama.cpp's number for rerankers
OVERHEAD = 256 << 20
"""Bytes that llama.cpp needs beside the weights and the cache."""
HOST = "127.0.0.1"
KEY = "ESPALIER_LOCAL_KEY"
"""The environment variable of this process with the key of its servers."""
_loading = threading.Lock()
_loaded: set[LlamaEngine] = set()
"""The engines that answer. Parts of the compiled code ask them without holding them."""


@atexit.register
def _close_all() -> None:
    for engine in list(_loaded):
        engine.close()


def key_variable() -> str:
    """Gives this process its random key, and returns the name of the variable that holds it."""
    os.environ.setdefault(KEY, secrets.token_urlsafe(24))
    return KEY


def bypass_proxy() -> None:
    """Keeps requests of this process to its own loopback away from a proxy that the environment names."""
    exempt = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
    if exempt != "*" and HOST not in exempt.split(","):
        os.environ["no_proxy"] = f"{exempt},{HOST}" if exempt else HOST


def pooling_of(file: Path, header: Header, chosen: str) -> str:
    """How this file's encoder pools: as chosen, or as its header says. Raises InputError where it gives no embeddings,
    and ValueError for an unknown name."""
    if chosen and chosen not in POOLING:
        raise ValueError(f"option 'pooling': {chosen} is not allowed, must be mean, cls or last")
    written = header.number("pooling_type")
    if written == RANK:
        raise InputError(f"{file}: gives no embeddings: it is a reranker")
    named = chosen or next((name for name, number in POOLING.items() if number == written), "")
    if not named:
        raise InputError(
            f"{file}: gives no embeddings by itself: its header names no pooling; choose one by the option 'pooling': "
            "mean, cls or last"
        )
    return named


class LlamaEngine:
    """A model's file and the server that answers for it. It listens on the loopback only and asks for a key.

    An engine that `encodes` gives embeddings and nothing else. `pooling` is for such a one, '' = as the header says.
    Nothing is loaded before `load`. Raises InputError for a bad file and ValueError for bad options.
    """

    def __init__(
        self,
        file: str | os.PathLike[str],
        *,
        slots: int = 0,
        context: int = 0,
        threads: int = 0,
        encodes: bool = False,
        pooling: str = "",
    ) -> None:
        for (name, (least, most)), value in zip(LIMITS.items(), (slots, context, threads), strict=True):
            if value and not least <= value <= most:
                raise ValueError(f"option '{name}': {value} is not allowed, must be {least} to {most}, or 0 = default")
        self.file = Path(file)
        self.header = read_header(self.file)
        self.pooling = pooling_of(self.file, self.header, pooling) if encodes else ""
        trained = self.header.trained_context
        if trained and context > trained:
            raise ValueError(f"option 'context': {context} is not allowed, {self.file} was trained on {trained} tokens")
        self.slots = slots or SLOTS
        self.context = context or min(trained or CONTEXT, CONTEXT)
        self.threads = threads or default_threads()
        self._key = os.environ[key_variable()]
        bypass_proxy()
        self._server: Any = None
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        self._reserved.bind((HOST, 0))
        self.url = f"http://{HOST}:{self._reserved.getsockname()[1]}/v1"
        self._end = weakref.finalize(self, self._reserved.close)

    @property
    def name(self) -> str:
        return self.file.stem

    @cached_property
    def revision(self) -> str:
        """The hash of the model's content."""
        return content_hash(self.file)

    @property
    def needed(self) -> int:
        """Bytes of memory: weights, cache and what llama.cpp adds."""
        return self.header.bytes + self._cache + OVERHEAD

    @property
    def _cache(self) -> int:
        return self.header.cache_bytes * self.context * self.slots

    def check_memory(self) -> None:
        """Raises Error where the weights and the cache do not fit into the memory that is left."""
        left = available_memory()
        if left is not None and self.needed > left:
            raise Error(
                f"{self.file}: too little memory: {gib(self.needed)} needed ({gib(self.header.bytes)} weights, "
                f"{gib(self._cache)} for {self.slots} slots of {self.context} tokens), {gib(left)} left; take fewer "
                "slots, a shorter context or a smaller file"
            )

    def load(self) -> None:
        """Loads the model and starts to listen. Does nothing if that was done."""
        if self._server is not None:
            return
        llama = library()
        if not has_gpu(llama):
            self.check_memory()
        parameters = self._parameters(llama)
        fields = self.header.fields.items()
        check_templates({name: text for name, text in fields if name.startswith("tokenizer.chat_t")}, self.file)
        log: list[str] = []
        with _loading:
            try:
                with _standard_error_into(log):
                    self._server = llama.Server(parameters)
            except RuntimeError as error:
                raise InputError(f"{self.file}: llama.cpp cannot load it: {_reason(log) or error}") from None
        self._reserved.close()
        self._server.handle_metrics()  # its loop runs now: llama.cpp hangs if it is freed before that
        _loaded.add(self)

    def _parameters(self, llama: Any) -> Any:
        p = llama.CommonParams()
        p.model.path = str(self.file)
        p.model_alias = {self.name}
        p.hostnames, p.port, p.reuse_port = [HOST], int(self.url.rpartition(":")[2].partition("/")[0]), True
        p.api_keys = [self._key]
        p.n_parallel, p.n_ctx, p.cont_batching = self.slots, self.slots * self.context, True
        p.cpuparams.n_threads = p.cpuparams_batch.n_threads = self.threads
        if self.pooling:
            p.embedding, p.pooling_type = True, llama.llama_pooling_type(POOLING[self.pooling])
            p.n_batch = p.n_ubatch = self.context  # a text is encoded in one piece
            p.kv_unified = True  # else texts of unequal lengths are cut into pieces, and only the last one is pooled
        p.endpoint_metrics = True
        p.use_jinja = True  # the model's own template, which knows tools and thinking
        p.ui = False
        p.cache_ram_mib = 0  # it would keep up to 8 GiB of earlier prompts
        p.fit_params = has_gpu(llama)
        p.verbosity = 1  # errors
        return p

    @property
    def is_open(self) -> bool:
        """Whether the model is loaded."""
        return self._server is not None

    def close(self) -> None:
        """Frees the model. Replies under way are lost."""
        self._end()
        self._server = None
        _loaded.discard(self)


def library() -> Any:
    """llama.cpp. Raises MissingPart that names all packages that are not there."""
    if absent := " ".join(name for name in ("xllamacpp", "jinja2") if find_spec(name) is None):
        raise MissingPart(f"a GGUF file needs {absent.replace(' ', ' and ')}: pip install {absent}")
    return needed("xllamacpp", "a GGUF file")


def has_gpu(llama: Any) -> bool:
    """Whether llama.cpp computes on a GPU, whose memory it shares out itself."""
    kinds = llama.ggml_backend_dev_type
    gpus = (kinds.GGML_BACKEND_DEVICE_TYPE_GPU, kinds.GGML_BACKEND_DEVICE_TYPE_IGPU)
    return any(device["type"] in gpus for device in llama.get_device_info())


@contextmanager
def _standard_error_into(lines: list[str]) -> Iterator[None]:
    """Keeps what the process writes to standard error, where llama.cpp says why. Shown unless the block raises."""
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as kept:
        os.dup2(kept.fileno(), 2)
        try:
            yield
        except BaseException:
            time.sleep(0.1)  # its log has a thread of its own
            kept.seek(0)
            lines += kept.read().decode(errors="replace").splitlines()
            raise
        finally:
            os.dup2(before, 2)
            os.close(before)
        kept.seek(0)
        say(*kept.read().decode(errors="replace").splitlines(), to=sys.stderr)  # it quotes the model's file


def _reason(log: list[str]) -> str:
    """What llama.cpp's log says first of an error."""
    told = [line.partition(" E ")[2] for line in log if " E " in line]
    named = [line.partition("error loading model: ")[2] for line in told if "error loading model: " in line]
    return (named or told or [""])[0].strip()
