"""Runs that read files and leave a folder."""

from .._core import Progress
from .job import RunResult
from .progress import progress_view
from .settings import RunSettings

__all__ = ["Progress", "RunResult", "RunSettings", "progress_view"]
