#pragma once

/// Engines, policies, RAG, the five methods, rewards, BM25, answers and rows of training data. None needs a library.
/// Trees as JSON, the journal, the simulated world, the toys, the baselines and what needs a library are included one
/// by one: <espalier/output/tree_json.hpp>, <espalier/sim/model.hpp>, <espalier/backend/openai.hpp> ... A method's face
/// for runs is <espalier/method/decex/face.hpp> and so on.

#include <espalier/backend/bm25.hpp>
#include <espalier/backend/index/mapped_corpus.hpp>
#include <espalier/llm/scheduler.hpp>
#include <espalier/method/airrag/search.hpp>
#include <espalier/method/airrag/state_scores.hpp>
#include <espalier/method/decex/search.hpp>
#include <espalier/method/decouple/search.hpp>
#include <espalier/method/decouple/value_rows.hpp>
#include <espalier/method/prorag/group_rollouts.hpp>
#include <espalier/method/prorag/process_reward.hpp>
#include <espalier/method/prorag/search.hpp>
#include <espalier/method/prorag/step_rows.hpp>
#include <espalier/method/reasonrag/process_rewards.hpp>
#include <espalier/method/reasonrag/search.hpp>
#include <espalier/output/chain.hpp>
#include <espalier/output/dpo.hpp>
#include <espalier/output/sft.hpp>
#include <espalier/rag/environment.hpp>
#include <espalier/rag/rewards.hpp>
#include <espalier/search.hpp>
#include <espalier/version.hpp>
