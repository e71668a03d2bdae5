"""Every format, a family of them a file."""

from ..format import Format
from .pairs import PAIRS
from .rl import RL
from .sft import SFT

FORMATS: dict[str, Format] = {one.name: one for one in (*SFT, *PAIRS, *RL)}
