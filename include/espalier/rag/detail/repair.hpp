#pragma once

#include <espalier/llm/prompt.hpp>

#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::rag::detail {

/// A bound of a score's range: "-1", "0.5".
inline std::string shown_bound(double number) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr};
}

/// What a model has to write for a role, in words.
inline std::string wanted_words(std::string_view role, const Protocol::ScoreForm& scores) {
  if (role == "score") {
    const std::string range = " from " + shown_bound(scores.low) + " to " + shown_bound(scores.high);
    return scores.count == 1 ? "one number" + range
                             : std::to_string(scores.count) + " numbers" + range + ", separated by commas,";
  }
  static constexpr std::pair<std::string_view, const char*> words[] = {
      {"search", "one query"},
      {"question", "one question"},
      {"answer", "the answer, as short as it can be,"},
      {"sub_answer", "one sentence"},
      {"thought", "one thought"},
      {"queries", "the queries, one a line,"},
      {"verdict", "yes or no"},
      {"choice", "one letter"},
      {"preference", "the number of the better candidate, the word over and the number of the worse one (or none)"},
      {"trajectory", "all steps"}};
  for (const auto& [known, text] : words)
    if (known == role) return text;
  return std::string(role);
}

/// Where it has to stand. A tag without marks is the whole reply. `tools`: one with marks is called as a tool.
inline std::string wanted_place(const Protocol::Tag& tag, bool tools) {
  if (tag.open.empty()) return "and nothing else";
  if (tools) return "in a call of the tool " + tag.name;
  if (tag.close == "\n") return "on a line after " + tag.open;
  return (tag.close.empty() ? "after " : "inside ") + tag.open + tag.close;
}

/// The line that asks again after a reply that could not be read. It names the tags of the purpose, or its `tools`.
inline std::string repair_line(const Protocol& protocol, const Protocol::Purpose& purpose, bool tools) {
  if (purpose.returns.empty()) return "Your reply could not be read. Write again: one line, without any tags.";
  std::string marks, wanted;
  for (const std::string& role : purpose.returns) {
    const Protocol::Tag& tag = *protocol.tag(role);
    const std::string mark = tools ? tag.name : tag.open + (tag.close == "\n" ? "" : tag.close);
    if (!tag.open.empty()) marks += (marks.empty() ? "" : " or ") + mark;
    wanted += (wanted.empty() ? "" : ", or ") + wanted_words(role, purpose.scores) + ' ' + wanted_place(tag, tools);
  }
  const std::string missed =
      marks.empty() ? "could not be read" : (tools ? "had no call of " : "had no ") + marks + " that could be read";
  return "Your reply " + missed + ". Write again: " + wanted + '.';
}

/// The request that follows a reply which could not be read: the prompt, the reply and the line above. An empty reply
/// is no message, so the line then stands at the end of the prompt.
inline std::shared_ptr<const PromptBody> repair(const PromptBody& asked, const std::string& reply, Sampling sampling) {
  PromptBody body = asked;
  std::string line = repair_line(*asked.protocol, *asked.protocol->purpose(asked.purpose), sampling.tools);
  body.sampling = std::move(sampling);
  if (reply.find_first_not_of(" \t\r\n") == std::string::npos) {
    body.messages.back().content += '\n' + std::move(line);
  } else {
    body.messages.push_back(PromptBody::Message{"assistant", reply});
    body.messages.push_back(PromptBody::Message{"user", std::move(line)});
    body.after += 2;
  }
  return std::make_shared<const PromptBody>(std::move(body));
}

}  // namespace espalier::rag::detail
