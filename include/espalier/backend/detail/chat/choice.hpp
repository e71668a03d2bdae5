#pragma once

#include <espalier/backend/detail/chat/tools.hpp>
#include <espalier/backend/detail/http/server_error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::backend::detail {

/// Adds the id of a token. One that cannot be becomes -1.
inline void add_id(const auto& told, std::vector<std::int32_t>& ids) {
  std::int64_t id = 0;
  const bool fits = !told.get(id) && id >= 0 && id <= std::numeric_limits<std::int32_t>::max();
  ids.push_back(fits ? static_cast<std::int32_t>(id) : -1);
}

/// The natural log-probabilities of a text's tokens as a reply lists them.
struct LogprobSum {
  double sum = 0;
  std::uint64_t tokens = 0;
  std::vector<Completion::TokenLogprob> each{};  ///< fewer than `tokens` where the reply does not name them all
  Completion::Sampled sampled{};  ///< all of them, with NaN for those without, and ids where the list has them
  bool scored = true;             ///< every token has its log-probability
  bool whole = false;             ///< known to hold all tokens of the text up to its stop string, and no others

  void add(std::optional<double> logprob, std::optional<std::string_view> text) {
    scored = scored && logprob;
    sum += logprob.value_or(0);
    sampled.logprobs.push_back(logprob.value_or(std::numeric_limits<double>::quiet_NaN()));
    ++tokens;
    if (text) each.push_back({std::string(*text), logprob.value_or(0)});
  }
  /// Takes out what the list cannot name, and cuts it behind the last token that begins before the text's first stop
  /// string, which only some servers list. Nothing is cut without one, or if the tokens do not spell the text.
  void finish(std::string_view text, const std::vector<std::string>& stops) {
    if (each.size() != tokens) each.clear();
    std::size_t end = std::string_view::npos;
    for (const std::string& stop : stops) end = std::min(end, text.find(stop));
    if (end == std::string_view::npos) return;
    std::size_t at = 0, kept = 0;
    double before = 0;
    for (; at < end && kept < each.size(); ++kept) {
      const std::string& token = each[kept].text;
      if (text.substr(at, token.size()) != token) return;
      at += token.size();
      before += each[kept].logprob;
    }
    if (at < end) return;
    each.resize(kept);
    sum = before;
    tokens = kept;
    whole = true;
  }
};

/// One choice of a reply, or what the pieces of a streamed one add up to.
class Choice {
 public:
  std::string text;
  std::string thought;                ///< where it stands apart from the text
  std::string refusal;                ///< OpenAI's models say there that they do not reply
  std::string foreign;                ///< the sort of the first part that is no text, such as "image_url", "" = none
  std::optional<std::string> finish;  ///< why it ended
  std::optional<std::string> stop;    ///< the stop string that ended it, where the server reports it
  bool end_token = false;             ///< the server reports that a token ended it
  bool chat = false;                  ///< a message, and no plain completion
  std::map<std::uint64_t, ToolCall> calls;
  std::optional<LogprobSum> logprobs;
  std::uint64_t counted = 0;  ///< its number of tokens where the server counts each choice apart

  /// Adds a choice or a piece of it, or a line of Ollama's (no piece). Throws BackendError for an error in it.
  void add(simdjson::dom::element part, bool piece) {
    throw_if_error(part);
    simdjson::dom::element message = part;
    chat = !part[piece ? "delta" : "message"].get(message) || chat;
    const std::size_t before = text.size();
    add_message(message);
    if (text.size() > before && finish) throw BackendError("a choice that goes on after its end");
    add_calls(message, piece);
    for (const char* name : {"finish_reason", "done_reason"})
      if (simdjson::dom::element told; !part[name].get(told) && !told.is_null()) {
        const std::string reason = text_or_json(told);
        if (!reason.empty() && (!finish || reason != "stop")) finish = reason;  // no later "stop" undoes another end
      }
    static constexpr std::string_view stopped[] = {"stop_reason", "matched_stop"};
    if (!stop) stop = first_field<std::string_view>(part, stopped);
    end_token = end_token || first_field<std::int64_t>(part, stopped);
    add_logprobs(part, piece);
    add_sampled(part);
  }
  /// The number of its tokens, as it was told or from its token ids or log-probabilities. 0 = not given.
  [[nodiscard]] std::uint32_t listed() const {
    if (counted > 0) return static_cast<std::uint32_t>(counted);
    return static_cast<std::uint32_t>(!sampled_.ids.empty() || !logprobs ? sampled_.ids.size() : logprobs->tokens);
  }
  /// What was sampled, as far as told. `all`: all tokens have log-probabilities. `doubt` says what is left out.
  [[nodiscard]] Completion::Sampled sampled(bool all, std::string& doubt) const {
    Completion::Sampled found = sampled_;
    if (found.ids.empty() && logprobs && (all || logprobs->whole)) found = logprobs->sampled;
    if (found.logprobs.empty() && logprobs) found.logprobs = logprobs->sampled.logprobs;
    const bool told = !found.ids.empty();
    if (told && !found.possible()) doubt = "token ids or log-probabilities that cannot be: they are left out";
    return told && found.possible() ? found : Completion::Sampled();
  }

 private:
  void add_message(simdjson::dom::element message) {
    thought += first_field<std::string_view>(message, {"reasoning_content", "reasoning", "thinking"}).value_or("");
    refusal += field<std::string_view>(message, "refusal").value_or("");
    const auto content = first_field<simdjson::dom::element>(message, {"content", "text", "response"});
    if (content && !add_content(*content) && !content->is_null()) throw BackendError("a choice without text");
  }
  /// Adds a `content`: a text, or a list of parts. Texts are joined, thoughts are its thought. False for another value.
  bool add_content(simdjson::dom::element content) {
    std::string_view words;
    if (!content.get(words)) {
      text += words;
      return true;
    }
    simdjson::dom::array parts;
    if (content.get(parts)) return false;
    for (const simdjson::dom::element part : parts) {
      const auto sort = field<std::string_view>(part, "type").value_or("");
      simdjson::dom::element inner;
      if (sort == "thinking" && !part["thinking"].get(inner)) {
        Choice aside;
        aside.add_content(inner);
        thought += aside.text;
      } else if (const auto refused = field<std::string_view>(part, "refusal")) {
        refusal += *refused;
      } else if (const auto more = field<std::string_view>(part, "text")) {
        text += *more;
      } else if (foreign.empty()) {
        foreign = sort.empty() ? "unknown" : sort;
      }
    }
    return true;
  }
  /// Servers send arguments as a JSON text or, Ollama, as an object. Only pieces are found by their index.
  void add_calls(simdjson::dom::element message, bool piece) {
    simdjson::dom::array parts;
    if (message["tool_calls"].get(parts)) return;
    for (const simdjson::dom::element part : parts) {
      simdjson::dom::element function;
      if (part["function"].get(function)) continue;
      ToolCall& call = calls[piece ? field<std::uint64_t>(part, "index").value_or(0) : calls.size()];
      if (!piece) call.shown = simdjson::minify(part);
      call.name += field<std::string_view>(function, "name").value_or("");
      if (const auto arguments = field<simdjson::dom::element>(function, "arguments"))
        call.arguments += text_or_json(*arguments);
    }
  }
  /// Ids in the form of vLLM, or (log-probability, id, text) in that of SGLang's chats.
  void add_sampled(simdjson::dom::element part) {
    simdjson::dom::array list;
    if (!part["token_ids"].get(list))
      for (const auto id : list) add_id(id, sampled_.ids);
    if (part["meta_info"]["output_token_logprobs"].get(list)) return;
    sampled_ = Completion::Sampled();
    for (const auto token : list) {
      double logprob = 0;
      const bool told = !token.at(0).get(logprob);
      sampled_.logprobs.push_back(told ? logprob : std::numeric_limits<double>::quiet_NaN());
      add_id(token.at(1), sampled_.ids);
    }
  }
  /// In the form of chats, of plain completions or of Ollama. llama.cpp tells the ids here, but in pieces not all.
  void add_logprobs(simdjson::dom::element part, bool piece) {
    simdjson::dom::array tokens, names;
    const auto list = part["logprobs"];
    const bool objects = !list["content"].get(tokens) || !list.get(tokens);
    if (!objects && list["token_logprobs"].get(tokens)) return;
    if (!logprobs) logprobs.emplace();
    const bool named = !objects && !list["tokens"].get(names) && names.size() == tokens.size();
    auto name = named ? names.begin() : tokens.begin();
    for (const auto token : tokens) {
      std::string_view label;
      double logprob = 0;
      if (objects) logprobs->add(field<double>(token, "logprob"), field<std::string_view>(token, "token"));
      else
        logprobs->add(token.get(logprob) ? std::nullopt : std::optional(logprob),
                      !named || (*name).get(label) ? std::nullopt : std::optional(label));
      if (objects && !piece && !token["id"].error()) add_id(token["id"], logprobs->sampled.ids);
      ++name;
    }
  }

  Completion::Sampled sampled_;  ///< what stands beside the log-probabilities
};

}  // namespace espalier::backend::detail
