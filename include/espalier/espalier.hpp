#pragma once

/// The engines, the policies, the RAG layer and the parts that need no library beside the standard one. Backends and
/// outputs that need a library are included one by one: <espalier/backend/openai.hpp>, <espalier/output/tree_json.hpp> ...

#include <espalier/backend/bm25.hpp>
#include <espalier/backend/index/corpus_writer.hpp>
#include <espalier/core/concepts.hpp>
#include <espalier/core/scheduler.hpp>
#include <espalier/method/baseline.hpp>
#include <espalier/method/decex_rag.hpp>
#include <espalier/output/search_rewards.hpp>
#include <espalier/policy/backup.hpp>
#include <espalier/policy/diversity.hpp>
#include <espalier/policy/prune.hpp>
#include <espalier/policy/score_prior.hpp>
#include <espalier/policy/select.hpp>
#include <espalier/policy/sequential_halving.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/run/world.hpp>
#include <espalier/search/beam.hpp>
#include <espalier/search/best_first.hpp>
#include <espalier/search/best_of_n.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/exploration.hpp>
#include <espalier/search/hierarchical_beam.hpp>
#include <espalier/search/layered.hpp>
#include <espalier/search/mcts.hpp>
#include <espalier/search/reroot.hpp>
#include <espalier/search/rollout.hpp>
#include <espalier/search/self_consistency.hpp>
#include <espalier/sim/model.hpp>
#include <espalier/sim/world.hpp>
#include <espalier/version.hpp>
