"""The options that name an encoder, and the retrievers that an index and an encoder make."""

import argparse

from ..._core import HttpEncoder, Hybrid, Index, Retriever
from ...local.llama_cpp import opened_encoder
from ...local.sources import encoder_source_of
from ...runs.settings_table import addressed
from .run_options import add_setting

RETRIEVERS = ("bm25", "dense", "hybrid")
ANALYZERS = ("simple", "english-lucene")


def add_encoder_options(parser: argparse.ArgumentParser) -> None:
    what = "an embeddings server, up to /v1, or in this process gguf:FILE"
    add_setting(parser, "encoder", what)
    add_setting(parser, "wait")


def add_retriever_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--retriever", choices=RETRIEVERS, default="bm25", help="what searches (bm25). dense and hybrid need --encoder"
    )


def encoder_of(arguments: argparse.Namespace) -> HttpEncoder | None:
    """The encoder that the command line names."""
    if arguments.encoder is None:
        return None
    chosen = addressed({"encoder": arguments.encoder})
    address = chosen["encoder"]
    name, profile = chosen.get("encoder_name", ""), chosen.get("encoder_profile", "none")
    if source := encoder_source_of(address):
        return opened_encoder(source, name, profile)
    return HttpEncoder(address, name, profile=profile, wait=arguments.wait or 0.0)


def retriever_over(index: Index, arguments: argparse.Namespace) -> Retriever:
    """What the command line chooses of an index."""
    encoder = encoder_of(arguments)
    if arguments.retriever == "bm25":
        if encoder is not None:
            raise ValueError("option 'encoder' belongs to --retriever dense or hybrid")
        return index
    if encoder is None:
        raise ValueError(f"option 'retriever' is {arguments.retriever}, which needs --encoder")
    dense = index.dense(encoder)
    return dense if arguments.retriever == "dense" else Hybrid([index, dense])
