"""The backends that a run gets as objects: what stands in a setting in place of a URL.

A setting may hold a part of espalier or a Python function. `gguf:FILE` and `hf:FOLDER` become such objects here. The
name beside it (`model_name`, `retriever_name` ...) is a function's fingerprint.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, NamedTuple

from .. import _core
from ..local.engine import LlamaEngine
from ..local.llama_cpp import LlamaCpp, client, encoder_engine, encoder_name, model_engine, model_revision
from ..local.sources import Source, encoder_source_of, source_of
from .settings_table import addressed

NAMES = {"retriever": "retriever_name", "encoder": "encoder_name", "values": "value_name"}
"""Settings that hold a backend, with the one that names it."""
NOWHERE = "http://replayed.invalid/v1"  # the name that is reserved for hosts that do not exist: nothing is ever sent


class Backend(NamedTuple):
    """A backend for the compiled part."""

    backend: Any
    fingerprint: str | None
    """None = that of the part; a function without one is asked again by every process."""
    label: str
    begin: Callable[[], object] | None = None
    """Called before the first request."""
    takes_grammar: bool = False


_shared: dict[str, tuple[Any, int]] = {}
"""The models of the runs under way, with the number of their users."""


@contextmanager
def shared(key: str, make: Callable[[], Any]) -> Iterator[Any]:
    """One object for all users of a key. It is closed after the last."""
    model, users = _shared[key] if key in _shared else (make(), 0)
    _shared[key] = model, users + 1
    try:
        yield model
    finally:
        model, users = _shared.pop(key)
        if users > 1:
            _shared[key] = model, users - 1
        else:
            model.close()


@contextmanager
def given(settings: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The settings for the compiled part, with their backends ready to be opened. What was loaded for them is freed at
    the end of the block. Raises InputError for a bad file."""
    with ExitStack() as stack:
        yield _Resolved(settings, stack).plain


def checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same for a check of the settings, which opens nothing. Raises InputError for a file without a model."""
    return _Resolved(settings, None).plain


def others_of(models: Any) -> dict[str, tuple[Any, str]]:
    """The model and its name for each purpose. Empty for anything of another shape, which the compiled part refuses."""
    if not isinstance(models, Mapping):
        return {}
    pairs = {p: found if isinstance(found, (tuple, list)) else (found, "") for p, found in models.items()}
    right = all(isinstance(p, str) and len(pair) == 2 and isinstance(pair[1], str) for p, pair in pairs.items())
    return {p: (pair[0], pair[1]) for p, pair in pairs.items()} if right else {}


def check_tools(options: Mapping[str, Any], *models: object) -> None:
    """Raises ValueError if calls of tools are to be asked of what is told of none."""
    if options.get("protocol") == "tools" and not all(isinstance(model, _core.Model) for model in models):
        raise ValueError("option 'protocol' cannot be tools beside a function or hf: as model: it is told of none")


class _Resolved:
    """The settings of one run, with names in place of objects."""

    def __init__(self, settings: Mapping[str, Any], stack: ExitStack | None) -> None:
        self.plain: dict[str, Any] = addressed(settings)
        self._stack = stack
        self._backends: dict[str, Backend] = {}
        plain = self.plain
        if plain.get("model") is not None:
            plain["model"], plain["model_name"] = self._model("", plain["model"], plain.get("model_name") or "")
        if plain.get("models") and (others := others_of(plain["models"])):
            plain["models"] = {purpose: self._model(purpose, *found) for purpose, found in others.items()}
        for setting, named in NAMES.items():
            found = plain.get(setting)
            if isinstance(found, os.PathLike):
                found = plain[setting] = os.fspath(found)
            if setting == "encoder" and (source := encoder_source_of(found)):
                plain[setting], plain[named] = "given", self._encoder(source, plain.get(named) or "")
                continue
            if setting != "encoder" and source_of(found):
                raise ValueError(f"setting '{setting}' cannot be {found}: only models and encoders run in this process")
            if found is not None and not isinstance(found, str):
                name = plain.get(named)
                plain[named] = self._object(setting, found, "" if name in (None, "", "default") else name)
                plain[setting] = "given"
        given: dict[str, Any] = {key: tuple(backend) for key, backend in self._backends.items()}
        if not isinstance(plain.get("prune") or "", str):
            given["prune"] = plain.pop("prune")
        if given:
            plain["given"] = given

    def _model(self, purpose: str, found: Any, name: str) -> tuple[str, str]:
        """What stands in the settings for a model, and its name."""
        key, setting = (f"model:{purpose}", f"given:{purpose}") if purpose else ("model", "given")
        if not isinstance(found, str):
            if not purpose and not name and hasattr(found, "revision"):
                self.plain["model_revision"] = found.revision
            return setting, self._object(key, found, name)
        if (source := source_of(found)) is None:
            return found, name
        self._check_beside(key, source)
        if self._stack is None:
            source.check()
            self._backends[key] = Backend(_core.OpenAi(NOWHERE, "-"), None, "-", takes_grammar=True)
            return setting, name or source.name
        if source.kind == "hf":
            return setting, self._transformers(key, source, name)
        return setting, self._llama_cpp(key, purpose, source, name or source.name)

    def _object(self, key: str, found: Any, name: str) -> str:
        """Takes an object. Returns its name."""
        if not getattr(getattr(found, "engine", None), "is_open", True) and not self.plain.get("replay"):
            raise ValueError(f"option '{key.partition(':')[0]}': {getattr(found, 'name', 'this part')} was closed")
        if key.startswith("model") and not self.plain.get("replay"):
            if option := next(filter(self._chosen, ("thinking", "finish_reasons")), ""):
                raise ValueError(f"option '{option}' is not allowed beside a function or a part as model")
            check_tools(dict(self.plain.get("set") or {}), found)
        if key == "model" and isinstance(found, LlamaCpp):
            self.plain["open_questions"] = self.plain.get("open_questions") or found.engine.slots
        fingerprint, grammar = name or getattr(found, "fingerprint", None), getattr(found, "takes_grammar", False)
        shown = fingerprint or getattr(found, "name", None) or getattr(found, "__name__", None) or type(found).__name__
        self._backends[key] = Backend(found, fingerprint, shown, takes_grammar=bool(grammar))
        return str(shown)

    def _chosen(self, option: str) -> str:
        """A search option that says how a model is asked. Those that annotate a run are not the one that it is for."""
        chosen = {} if self.plain.get("with") else dict(self.plain.get("set") or {})
        return str(chosen.get(option, ""))

    def _check_beside(self, key: str, source: Source) -> None:
        if hf := source.kind == "hf":
            check_tools(dict(self.plain.get("set") or {}), source)
        for option in ("extra_body", "model_revision", "server") if hf else ("model_revision",):
            if key == "model" and self.plain.get(option) not in (None, "", "auto", {}):
                why = "which asks no server" if hf else "whose revision is the file's content"
                raise ValueError(f"option '{option.replace('_', '-')}' is not allowed beside {source.kind}:, {why}")

    def _transformers(self, key: str, source: Source, name: str) -> str:
        from ..local.transformers import Transformers

        assert self._stack is not None
        device, batch = source.options.get("device", ""), source.number("batch")
        thinking, chat = self._chosen("thinking"), (self.plain.get("api") or "chat") == "chat"
        make = partial(Transformers, source.path, device=device, batch=batch, thinking=thinking, chat=chat, load=False)
        model = self._stack.enter_context(shared(f"{source.key} {thinking} {chat}", make))
        if name:
            name += model.manner
        self._backends[key] = Backend(model, name or model.fingerprint, name or model.name, model.load, True)
        return name or str(model.fingerprint)

    def _llama_cpp(self, key: str, purpose: str, source: Source, name: str) -> str:
        plain = self.plain
        assert self._stack is not None
        engine: LlamaEngine = self._stack.enter_context(
            shared(source.key, lambda: model_engine(source, plain.get("in_flight") or 0))
        )
        revision = model_revision(engine.revision, source.number("context"))
        if purpose:
            name = f"{name}@{revision}"
        else:
            plain["model_revision"] = revision
            plain["open_questions"] = plain.get("open_questions") or engine.slots  # each has a slot that knows it
        given = {option: plain[option] for option in ("timeout", "deadline") if plain.get(option) is not None}
        part = _core.OpenAi(
            engine.url,
            name,
            revision=plain.get("model_revision") or "",
            api=plain.get("api") or "chat",
            thinking=self._chosen("thinking"),
            finish_reasons=self._chosen("finish_reasons"),
            extra_body=body if isinstance(body := plain.get("extra_body") or "", str) else json.dumps(body),
            **{**client(engine), **given},
        )
        self._backends[key] = Backend(part, None, name, engine.load, True)
        return name

    def _encoder(self, source: Source, name: str) -> str:
        """Takes an encoder in this process. Returns its name, in which the file's content stands."""
        plain = self.plain
        name = name or source.name
        begin: Callable[[], object] | None = None
        connection: dict[str, Any] = {}
        url = NOWHERE
        if self._stack is None:
            source.check_encoder()
        else:
            model = shared(f"encoder:{source.key}", lambda: encoder_engine(source))
            engine: LlamaEngine = self._stack.enter_context(model)
            name = encoder_name(name, engine.revision, source.options.get("pooling", ""))
            url, begin, connection = engine.url, engine.load, client(engine, encodes=True)
        part = _core.HttpEncoder(url, name, profile=plain.get("encoder_profile") or "none", **connection)
        self._backends["encoder"] = Backend(part, None, name, begin)
        return name
