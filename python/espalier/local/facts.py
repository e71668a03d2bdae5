"""What a model in this process is and needs, told before it is loaded."""

from typing import NamedTuple

from ..io.files import read_object
from . import folder
from .engine import has_gpu, library
from .llama_cpp import encoder_engine, model_engine
from .memory import available_memory, gib
from .sources import Source
from .transformers import check_memory, chosen_device, libraries


class Facts(NamedTuple):
    """A model that could be loaded now."""

    architecture: str
    context: int
    """Tokens of prompt and reply together, 0 = unknown."""
    device: str
    needed: int
    """Bytes of memory."""
    left: int | None
    """Bytes of memory that are left, None = unknown."""

    def __str__(self) -> str:
        said = [self.architecture]
        said += [f"{self.context:,} tokens of context"] if self.context else []
        left = "" if self.left is None else f", {gib(self.left)} left"
        return f"{', '.join(said)}; {gib(self.needed)} of memory needed on {self.device}{left}"


def facts_of(source: Source, in_flight: int = 0, *, encodes: bool = False) -> Facts:
    """Raises InputError for a file or folder without a model, MissingPart without its library, ValueError for bad
    options and Error for too little memory."""
    if source.kind == "hf":
        return _of_folder(source)
    engine = encoder_engine(source) if encodes else model_engine(source, in_flight)
    engine.close()  # its port
    if has_gpu(library()):
        return Facts(engine.header.architecture, engine.context, "the GPU", engine.needed, None)
    engine.check_memory()
    return Facts(engine.header.architecture, engine.context, "cpu", engine.needed, available_memory())


def _of_folder(source: Source) -> Facts:
    folder.check_folder(source.path)
    config = read_object(source.path / "config.json")
    torch, _ = libraries()
    device = chosen_device(torch, source.options.get("device", ""))
    needed, left = check_memory(torch, source.path, device)
    context, architecture = config.get("max_position_embeddings"), config.get("model_type")
    known = architecture if isinstance(architecture, str) else "an unknown architecture"
    return Facts(known, context if isinstance(context, int) else 0, str(device), needed, left)
