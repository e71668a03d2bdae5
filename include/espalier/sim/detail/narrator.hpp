#pragma once

#include <espalier/sim/detail/request.hpp>
#include <espalier/sim/detail/wording.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim::detail {

/// The gold chain that a prompt shows, told as steps with thoughts.
inline std::string narrated(const Request& request, const Prompt& prompt) {
  const auto said = [&](std::string_view phrase, const std::string& content) {
    std::string thought = request.told({}, phrase, content);
    thought.pop_back();
    return thought;
  };
  std::vector<std::string> answers;
  std::string told, open;
  const std::string_view text = prompt.body().shown();
  for (const PromptBody::Span& span : prompt.body().spans) {
    const std::string shown(text.substr(span.begin, span.end - span.begin));
    if (span.name == "gold question") {
      open = shown;
      for (std::size_t k = answers.size(); k > 0; --k)
        for (const std::string mark = '#' + std::to_string(k); open.find(mark) != std::string::npos;)
          open.replace(open.find(mark), mark.size(), answers[k - 1]);
      told += request.reply(said("I have to find out this next.", need(open)), "search", open) + '\n';
    } else if (span.name == "gold step") {
      answers.push_back(shown);
      const std::string conclusion = "The answer to \"" + open + "\" is " + shown + '.';
      told += request.reply(said("The passage says it.", conclusion), "sub_answer", conclusion) + '\n';
    }
  }
  const std::string gold(prompt.slot("gold").value_or("unknown"));
  return told +
         request.reply(said("Now everything is known.", statement(request.question) + gold + '.'), "answer", gold);
}

}  // namespace espalier::sim::detail
