"""What `espalier doctor` looks at before a run: each part by a real use of it, as small as can be."""

from .._core import build_info

__all__ = ["build_info"]
