#pragma once

#include <espalier/method/baselines/baseline.hpp>

namespace espalier::method::baselines::detail {

/// The marks of Self-Ask and of the systems derived from it.
inline std::vector<Protocol::Tag> follow_up_tags() {
  return {{"question", "Follow up:", "\n"},
          {"sub_question", "Follow up:", "\n"},
          {"search", "Let's search:", "\n"},
          {"information", "Context:", "\n"},
          {"sub_answer", "Intermediate answer:", "\n"},
          {"answer", "So the final answer is:", "\n"}};
}

inline const std::string next_text =
    "You answer a question by asking simpler follow-up questions. If something is still missing, write the next one "
    "on a line after Follow up:\nOtherwise write the answer on a line after So the final answer is:\n" +
    words::brief + words::question + words::history + "\n### Next\n";
inline const std::string conclude_text =
    "You answer a question by asking simpler follow-up questions. Answer the last follow-up from its context, in one "
    "sentence, on a line after Intermediate answer:\n" +
    words::question + words::history + "\n### Intermediate answer\n";
inline const std::string final_text =
    "No more follow-up questions can be asked. Give the best answer to the question, on a line after So the "
    "final answer is:\n" +
    words::brief + words::question + words::history + "\n### Final answer\n";

}  // namespace espalier::method::baselines::detail
