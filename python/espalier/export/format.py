"""What a format is: rows of a record, and the file that takes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .reader import Reader
from .records import Record

if TYPE_CHECKING:
    from .tokenizer import Tokenizer

Columns = Mapping[str, Any]
STYLES = ("conversational", "standard", "tools")


@dataclass(frozen=True)
class Choices:
    """What a user may choose about rows."""

    style: str = "conversational"
    """conversational (lists of messages) or standard (texts), where a format has both. tools: actions are calls of
    tools, in formats that name trainers for it."""
    threshold: float | None = None
    """Least value of a good step; None = the product's own."""
    margin: bool = False
    """A column with the difference of the two sides' rewards, for reward models."""
    data_source: str = "espalier"
    tokenizer: Tokenizer | None = None
    advantage: str = "outcome"
    """How traces weigh their branches: a name of `traces.advantages`."""
    beta: float = 0.3
    """Weight of the process advantage, for `process`."""
    kept: Mapping[str, Any] | None = None  # what was sampled in the run's trees, None = unknown
    lost: Counter[str] = field(default_factory=Counter)
    """What a format leaves out, by reason."""


@dataclass(frozen=True)
class Format:
    name: str
    trainers: tuple[str, ...]
    products: tuple[str, ...]
    """Files of a run, without .jsonl, of which it can be made; the first that holds such records is."""
    record: type[Record]
    rows: Callable[[Any, Choices], Iterable[Columns]]
    suffix: str = "jsonl"
    """jsonl, json (one list) or parquet."""
    schema: Callable[[], Any] | None = None
    """The pyarrow schema of a Parquet file."""
    dataset_info: Columns = field(default_factory=dict)
    """LLaMA-Factory's entry for the file, but for its name."""
    needs_tokenizer: bool = False
    read: Callable[[Path], Reader] | None = None
    """How it reads a line of this run's file, if in a way of its own."""
    tools: tuple[str, ...] = ()
    """The trainers that take its rows in the style `tools`, which have a column for them. Without any it lacks it."""

    def with_tools(self) -> Format:
        """The format in the style `tools`."""
        info: Columns = {}
        if "llamafactory" in self.tools:
            info = {**self.dataset_info, "columns": {**self.dataset_info["columns"], "tools": "tools"}}
        return replace(self, trainers=self.tools, dataset_info=info)

    @property
    def file_name(self) -> str:
        return f"{self.name.replace('.', '_')}.{self.suffix}"
