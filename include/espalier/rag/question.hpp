#pragma once

#include <espalier/version.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace espalier::rag {

/// A question as a search may see it. No gold answer is in this type, so no prompt can leak one.
struct Question {
  std::string id;
  std::string text;
};

/// The accepted answers, the data set's main one first. Empty = unknown. For rewards and outputs only.
using Gold = std::vector<std::string>;

/// One step of a question's gold chain: its question, its answer, and where the answer is found.
struct ChainStep {
  std::string question;  ///< "#1" stands for the answer of step 1, as in MuSiQue
  std::string answer;
  std::string support_title;   ///< may be empty
  std::string support_id;      ///< passage id, may be empty
  std::string support_text{};  ///< the passage's text, may be empty
};

/// A row of a data set: a question and what is known about it.
struct Example {
  Question question;
  Gold gold;
  std::vector<ChainStep> chain{};                ///< the gold chain, empty if the data set has none
  std::vector<std::string> supporting_titles{};  ///< titles of gold passages
  std::uint32_t hops = 0;                        ///< 0 = unknown
  std::string type{};                            ///< the data set's own label, such as "bridge"
};

}  // namespace espalier::rag
