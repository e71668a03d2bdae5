"""Runs that read files and leave a folder."""

from .._core import Progress
from ..notebook.progress import progress_view
from .job import RunResult
from .settings import RunSettings

__all__ = ["Progress", "RunResult", "RunSettings", "progress_view"]
