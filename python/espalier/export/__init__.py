"""Training data of a recorded run, in the formats of trainers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from .. import gone
from ..errors import InputError, did_you_mean, needed
from ..io.files import file_of, read_object, record_of, write_text
from .card import Exported, card
from .files import merge_dataset_info, write_rows
from .format import STYLES, Choices, Columns, Format
from .formats import FORMATS
from .lengths import differs, length_report
from .reader import PRODUCTS, read_product, why_none
from .records import Pair, Record, reversed_pairs
from .tokenizer import Tokenizer
from .traces.advantages import ADVANTAGES, check_beta
from .traces.sampled import kept_tokens

__all__ = ["FORMATS", "Exported", "export"]


def export(
    run: str | os.PathLike[str],
    formats: str | Sequence[str],
    *,
    out: str | os.PathLike[str],
    product: str | None = None,
    style: str = "conversational",
    threshold: float | None = None,
    margin: bool = False,
    data_source: str = "espalier",
    tokenizer: str | None = None,
    max_length: int | None = None,
    advantage: str = "outcome",
    beta: float = 0.3,
    licences: Sequence[str] = (),
) -> list[Exported]:
    """Writes a run's rows in one or more formats, a file each, with a data card (README.md) and, for LLaMA-Factory,
    dataset_info.json. All is read and checked before anything is written.

    With `style` "conversational" rows are lists of messages, with "standard" they are texts, where a format has both.
    With "tools" their actions are calls of tools.

    `product` names the file of the run to take (sft, rft, dpo, ...) where a format can be made of several. With a
    `tokenizer` the card counts the rows that trainers would cut or drop, under their own limits or `max_length`. Pairs
    with their reverse are left out, and so are those whose sides are equal within `max_length` tokens.

    Formats of traces take `advantage`: "outcome", "tree" (also within the trees that begin with the same step) or
    "process" (with the steps' process rewards, weighed by `beta`, which ProRAG and ReasonRAG have).
    """
    run, out = Path(run), Path(out)
    chosen = [known(name) for name in dict.fromkeys([formats] if isinstance(formats, str) else formats)]
    if not chosen:
        raise ValueError(f"no format is named, allowed: {', '.join(FORMATS)}")
    if style not in STYLES:
        raise ValueError(f"style is '{style}', allowed: {', '.join(STYLES)}")
    if style == "tools":
        for format in chosen:
            if not format.tools:
                allowed = ", ".join(name for name, other in FORMATS.items() if other.tools)
                raise ValueError(f"format '{format.name}' has no style 'tools', formats with it: {allowed}")
        chosen = [format.with_tools() for format in chosen]
    if max_length is not None and max_length < 1:
        raise ValueError(f"max_length is {max_length}, allowed: 1 or more")
    if advantage not in ADVANTAGES:
        raise ValueError(f"advantage is '{advantage}', allowed: {', '.join(ADVANTAGES)}")
    check_beta(beta)
    for format in chosen:
        if format.needs_tokenizer and tokenizer is None:
            raise ValueError(f"format '{format.name}' writes token ids and needs a tokenizer")
    if any(format.schema for format in chosen):
        needed("pyarrow", "a Parquet file", "pyarrow.parquet")
    described, summary = record_of(run), read_object(file_of(run, "summary.json"))
    coder = Tokenizer(tokenizer) if tokenizer is not None else None
    if coder is not None and style == "tools" and any("trl" in format.trainers for format in chosen):
        coder.need_tools()
    sampled = kept_tokens(run) if "sft.tokens" in (format.name for format in chosen) else None
    choices = Choices(style, threshold, margin, data_source, coder, advantage, beta, sampled)

    read = cache(lambda name, how: list(read_product(run, name, how(run) if how else None)))
    made: list[tuple[Format, Exported, list[Columns]]] = []
    for format in chosen:
        source, records = records_for(run, format, product, read)
        against = reversed_pairs(records)
        kept = [record for record in records if not isinstance(record, Pair) or record.sides not in against]
        lost = Counter({"another pair says the reverse": len(records) - len(kept)})
        choices.lost.clear()
        rows = [row for record in kept for row in format.rows(record, choices)]
        lost += choices.lost
        if coder and max_length and format.record is Pair:
            differing = [row for row in rows if differs(row, coder, max_length)]
            lost[f"the sides are equal within {max_length:,} tokens"] = len(rows) - len(differing)
            rows = differing
        lengths = length_report(format, rows, coder, max_length) if coder else []
        file = Exported(out / format.file_name, format.name, source, len(rows), format.trainers, lengths, dict(+lost))
        made.append((format, file, rows))

    out.mkdir(parents=True, exist_ok=True)
    for format, file, rows in made:
        write_rows(file.path, format, rows)
    files = [file for _, file, _ in made]
    info = {file.path: format.dataset_info for format, file, _ in made}
    merge_dataset_info(out / "dataset_info.json", info)
    write_text(out / "README.md", card(described, summary, files, choices, licences))
    return files


def known(name: str) -> Format:
    if name not in FORMATS:
        if gone.instead_of(name) or did_you_mean(name, FORMATS):
            raise ValueError(gone.unknown(name, FORMATS, "format"))
        raise ValueError(f"format is '{name}', allowed: {', '.join(FORMATS)}")
    return FORMATS[name]


def records_for(
    run: Path, format: Format, product: str | None, read: Callable[[str, Any], list[Record]]
) -> tuple[str, list[Record]]:
    """The records of which a format is made, and the file that holds them: the first of the format's that has any."""
    if product is not None and product not in format.products:
        raise ValueError(f"format '{format.name}' is not made of {product}.jsonl, but of: {', '.join(format.products)}")
    found = []
    for name in format.products if product is None else (product,):
        if (run / f"{name}.jsonl").exists():
            records = read(name, format.read)
            if records and all(isinstance(record, format.record) for record in records):
                return name, records
            found.append(f"{name}.jsonl has " + ("rows of another sort" if records else f"no rows ({why_none(run)})"))
    others = [f"{name}.jsonl" for name in PRODUCTS if name != "trees" and (run / f"{name}.jsonl").exists()]
    has = f"but {', '.join(others)}" if others else "and no other rows (`espalier methods` says what `expand` makes)"
    what = "; ".join(found) or f"it has no {' or '.join(f'{name}.jsonl' for name in format.products)}, {has}"
    raise InputError(f"{run}: nothing to make '{format.name}' of: {what}")
