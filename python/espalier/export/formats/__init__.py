"""Every format, a file each."""

from __future__ import annotations

from ..format import Format
from . import (
    dpo_alpaca_ranking,
    dpo_explicit,
    dpo_sharegpt_ranking,
    prm_pairwise,
    prm_placeholder,
    prm_stepwise,
    rl_prompts,
    rl_verl,
    sft_alpaca,
    sft_messages,
    sft_prompt_completion,
    sft_sharegpt,
    sft_tokens,
    sft_verl,
    traces_prime_rl,
    traces_trl,
    value_dual,
)

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT
    for module in (
        sft_prompt_completion,
        sft_messages,
        sft_tokens,
        sft_sharegpt,
        sft_alpaca,
        sft_verl,
        dpo_explicit,
        dpo_sharegpt_ranking,
        dpo_alpaca_ranking,
        prm_pairwise,
        prm_stepwise,
        prm_placeholder,
        value_dual,
        rl_prompts,
        rl_verl,
        traces_prime_rl,
        traces_trl,
    )
}
