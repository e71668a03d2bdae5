#pragma once

/// The search library: all engines and policies, over any problem. It knows nothing of language.

#include <espalier/core/concepts.hpp>
#include <espalier/core/scheduler.hpp>
#include <espalier/policy/backup.hpp>
#include <espalier/policy/diversity.hpp>
#include <espalier/policy/moments.hpp>
#include <espalier/policy/prior.hpp>
#include <espalier/policy/prune.hpp>
#include <espalier/policy/select.hpp>
#include <espalier/search/beam.hpp>
#include <espalier/search/best_first.hpp>
#include <espalier/search/best_of_n.hpp>
#include <espalier/search/budget.hpp>
#include <espalier/search/hierarchical_beam.hpp>
#include <espalier/search/layered.hpp>
#include <espalier/search/mcts_task.hpp>
#include <espalier/search/rollout.hpp>
#include <espalier/search/trajectories.hpp>
#include <espalier/version.hpp>
