"""All claims by name, in the order of the table."""

from . import (
    airrag_scaling,
    airrag_selection,
    decex_chains,
    decex_cost,
    decex_training,
    decouple_beam,
    prorag_guided,
    prorag_training,
)
from .frame import Claim

CLAIMS: dict[str, Claim] = {
    "decex_cost": decex_cost.CLAIM,
    "decex_factor": decex_cost.FACTOR,
    "decex_rounds": decex_chains.ROUNDS,
    "decex_retrievals": decex_chains.RETRIEVALS,
    "decex_quality": decex_training.QUALITY,
    "decex_selection": decex_training.SELECTION,
    "decex_stages": decex_training.STAGES,
    "decex_pairs": decex_training.PAIRS,
    "decex_outcome": decex_training.OUTCOME,
    "decouple_beam": decouple_beam.BEAM,
    "decouple_widths": decouple_beam.WIDTHS,
    "decouple_plans": decouple_beam.PLANS,
    "decouple_cause": decouple_beam.CAUSE,
    "decouple_searches": decouple_beam.SEARCHES,
    "decouple_plan_values": decouple_beam.PLAN_VALUES,
    "decouple_search_values": decouple_beam.SEARCH_VALUES,
    "airrag_sequences": airrag_scaling.SEQUENCES,
    "airrag_rollouts": airrag_scaling.ROLLOUTS,
    "airrag_documents": airrag_scaling.DOCUMENTS,
    "airrag_actions": airrag_scaling.SPENT,
    "airrag_variety": airrag_scaling.VARIETY,
    "airrag_summary": airrag_selection.SUMMARY,
    "airrag_reward": airrag_selection.REWARD,
    "airrag_agreement": airrag_selection.AGREEMENT,
    "prorag_guided": prorag_guided.GUIDED,
    "prorag_stages": prorag_training.STAGES,
    "prorag_outcome": prorag_training.OUTCOME,
    "prorag_beta": prorag_training.BETA,
}
