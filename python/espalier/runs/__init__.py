"""Runs that read files and leave a folder."""

from .._core import Progress
from ..notebook.progress import progress_view
from .job import RunResult

__all__ = ["Progress", "RunResult", "progress_view"]
