#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/llm/prompt.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::testing {

/// What a bad model does, whatever it is shown.
enum class Habit : std::uint8_t {
  repeats,       ///< asks for the same every time
  never_stops,   ///< asks for something else every time, and answers only where nothing else is wanted
  rambles,       ///< thinks to the end of its tokens and never comes to a mark
  says_nothing,  ///< the marks of what is wanted, and nothing between them
  foreign        ///< the right marks around words of another language
};

/// A model with one bad habit, for tests of what methods make of it. Every reply is a function of the request.
class Stubborn {
 public:
  explicit Stubborn(Habit habit) : habit_(habit) {}

  [[nodiscard]] std::vector<Completion> operator()(std::span<const Prompt> prompts) const {
    std::vector<Completion> replies;
    for (const Prompt& prompt : prompts) {
      replies.push_back(Completion(text(prompt)));
      replies.back().prompt_tokens = static_cast<std::uint32_t>(prompt.text().size() / 4 + 1);
      replies.back().completion_tokens = static_cast<std::uint32_t>(replies.back().text.size() / 4 + 1);
      if (habit_ == Habit::rambles) replies.back().finish = Completion::Finish::length;
      if (prompt.sampling().logprobs) replies.back().logprob = -0.1 * replies.back().completion_tokens;
    }
    return replies;
  }
  [[nodiscard]] Hash fingerprint() const {
    return Hasher().add("espalier stubborn model 1").add(std::uint64_t(habit_)).finish();
  }

 private:
  [[nodiscard]] std::string text(const Prompt& prompt) const {
    switch (habit_) {
      case Habit::repeats:
        return marked(prompt, "the same again");
      case Habit::never_stops:
        return marked(prompt, "more about number " + std::to_string(prompt.key().low % 1000000));
      case Habit::says_nothing:
        return marked(prompt, "");
      case Habit::foreign:
        return marked(prompt, "Ich weiß es nicht, 我不知道");
      default:
        break;
    }
    std::string all;
    for (int i = 0; i < std::min(prompt.sampling().max_tokens, 4096) / 4; ++i)
      all += i % 12 == 11 ? "and so on.\n" : "and so on, ";
    return all;
  }
  /// In the marks of the first of these roles that is wanted; a bare text where none is.
  static std::string marked(const Prompt& prompt, const std::string& said) {
    const Protocol* protocol = prompt.body().protocol.get();
    const Protocol::Purpose* purpose = protocol ? protocol->purpose(prompt.purpose()) : nullptr;
    if (!purpose) return said;
    for (const std::string_view role : {"search", "question", "queries", "sub_answer", "thought", "answer", "score",
                                        "verdict", "choice", "preference"})
      if (std::find(purpose->returns.begin(), purpose->returns.end(), role) != purpose->returns.end())
        if (const Protocol::Tag* tag = protocol->tag(role)) return tag->open + said + tag->close;
    return said;
  }
  Habit habit_;
};

}  // namespace espalier::testing
