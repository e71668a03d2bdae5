#pragma once

#include <espalier/sim/request.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim {

/// The gold chain that a prompt shows, told as steps with thoughts.
inline std::string narrated(const Request& request, const Prompt& prompt) {
  std::vector<std::string> answers;
  std::string told, open;
  const std::string_view text = prompt.text();
  for (const Span& span : prompt.body().spans) {
    const std::string shown(text.substr(span.begin, span.end - span.begin));
    if (span.name == "gold question") {
      open = shown;
      for (std::size_t k = answers.size(); k > 0; --k)
        for (const std::string mark = '#' + std::to_string(k); open.find(mark) != std::string::npos;)
          open.replace(open.find(mark), mark.size(), answers[k - 1]);
      told += request.reply("I have to find out this next.", "search", open) + '\n';
    } else if (span.name == "gold step") {
      answers.push_back(shown);
      told += request.reply("The passage says it.", "sub_answer", "The answer to \"" + open + "\" is " + shown + '.') +
              '\n';
    }
  }
  return told +
         request.reply("Now everything is known.", "answer", std::string(prompt.slot("gold").value_or("unknown")));
}

}  // namespace espalier::sim
