"""Questions in Parquet with what Search-R1's rewards and tools in verl ask for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..format import Choices, Columns, Format
from ..records import Asked


def rows(asked: Asked, choices: Choices) -> Iterator[Columns]:
    truth = {"target": list(asked.answers)}
    created = {"ground_truth": truth, "question": asked.question, "data_source": choices.data_source}
    yield {
        "data_source": choices.data_source,
        "prompt": [{"role": "user", "content": asked.question}],
        "ability": "fact-reasoning",
        "reward_model": {"style": "rule", "ground_truth": truth},
        "extra_info": {
            "index": asked.origin.id,
            "split": choices.split,
            "question": asked.question,
            "need_tools_kwargs": True,
            "tools_kwargs": {"search": {"create_kwargs": created}},
        },
    }


def schema() -> Any:
    import pyarrow as pa

    from ..parquet import messages

    text = pa.string()
    truth = pa.struct([("target", pa.list_(text))])
    created = pa.struct([("ground_truth", truth), ("question", text), ("data_source", text)])
    extra = [
        ("index", text),
        ("split", text),
        ("question", text),
        ("need_tools_kwargs", pa.bool_()),
        ("tools_kwargs", pa.struct([("search", pa.struct([("create_kwargs", created)]))])),
    ]
    return pa.schema(
        [
            ("data_source", text),
            ("prompt", messages()),
            ("ability", text),
            ("reward_model", pa.struct([("style", text), ("ground_truth", truth)])),
            ("extra_info", pa.struct(extra)),
        ]
    )


FORMAT = Format("rl.verl", ("verl",), ("trees",), Asked, rows, suffix="parquet", schema=schema)
