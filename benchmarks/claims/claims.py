"""All claims by name, in the order of the table."""

from . import airrag_scaling, airrag_selection, decex_chains, decex_cost, decex_training, decouple_beam, prorag_guided
from .frame import Claim

CLAIMS: dict[str, Claim] = {
    "decex_cost": decex_cost.CLAIM,
    "decex_factor": decex_cost.FACTOR,
    "decex_chains": decex_chains.CLAIM,
    "decex_quality": decex_training.QUALITY,
    "decex_selection": decex_training.SELECTION,
    "decex_stages": decex_training.STAGES,
    "decex_pairs": decex_training.PAIRS,
    "decex_outcome": decex_training.OUTCOME,
    "decouple_ablation": decouple_beam.ABLATION,
    "decouple_plans": decouple_beam.PLANS,
    "decouple_searches": decouple_beam.SEARCHES,
    "decouple_values": decouple_beam.VALUES,
    "airrag_sequences": airrag_scaling.SEQUENCES,
    "airrag_rollouts": airrag_scaling.ROLLOUTS,
    "airrag_documents": airrag_scaling.DOCUMENTS,
    "airrag_actions": airrag_scaling.SPENT,
    "airrag_selection": airrag_selection.CLAIM,
    "prorag_guided": prorag_guided.GUIDED,
    "prorag_stages": prorag_guided.STAGES,
    "prorag_outcome": prorag_guided.OUTCOME,
    "prorag_beta": prorag_guided.BETA,
}
