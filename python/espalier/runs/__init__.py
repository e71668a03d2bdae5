"""Runs that read files and leave a folder."""

from typing import TYPE_CHECKING

from ..gone import absent

if not TYPE_CHECKING:
    __getattr__ = absent(__name__)
