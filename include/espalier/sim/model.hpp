#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/llm/prompt.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/sim/detail/agent.hpp>
#include <espalier/sim/detail/judge.hpp>
#include <espalier/sim/detail/knowledge.hpp>
#include <espalier/sim/detail/reader.hpp>
#include <espalier/sim/detail/request.hpp>
#include <espalier/sim/detail/words.hpp>
#include <espalier/sim/skills.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::sim::detail {

/// The gold chain that a prompt shows, told as steps with thoughts.
inline std::string narrated(const Request& request, const Prompt& prompt) {
  std::vector<std::string> answers;
  std::string told, open;
  const std::string_view text = prompt.body().shown();
  for (const PromptBody::Span& span : prompt.body().spans) {
    const std::string shown(text.substr(span.begin, span.end - span.begin));
    if (span.name == "gold question") {
      open = substitute(shown, answers.size(), [&](std::size_t k) { return answers[k]; });
      told += request.reply(need(open), "search", open) + '\n';
    } else if (span.name == "gold step") {
      answers.push_back(shown);
      const std::string conclusion = "The answer to \"" + open + "\" is " + shown + '.';
      told += request.reply(conclusion, "sub_answer", conclusion) + '\n';
    }
  }
  const std::string gold(prompt.slot("gold").value_or("unknown"));
  return told + request.reply(statement(request.question) + gold + '.', "answer", gold);
}

inline constexpr std::string_view no_queries = "None";

/// Splits a question into the questions of its steps, or rewords the current query with what has become known.
class Rewriter {
 public:
  explicit Rewriter(const Request& request) : r_(request) {}

  /// The queries, one per line, or "None".
  [[nodiscard]] std::string operator()() const {
    if (!r_.chain) return std::string(no_queries);
    Reader reader(r_, *r_.chain, r_.skills.recall);
    reader.look(false);
    return r_.view.query ? reworded(reader, *r_.view.query) : decomposed(reader);
  }

 private:
  [[nodiscard]] std::string decomposed(const Reader& reader) const {
    if (reader.steps() < 2 || reader.answer()) return std::string(no_queries);
    if (!r_.draws.succeeds("decompose", r_.skills.decompose)) return r_.chain->question;
    std::string lines;
    for (std::size_t k = 0; k < reader.steps(); ++k)
      if (!reader.value(k)) (lines += lines.empty() ? "" : "\n") += ask(reader.described(k, k), r_.draws);
    return lines.empty() ? std::string(no_queries) : lines;
  }
  /// An open query is repeated with the answers before it filled in. After a settled query comes the next open one.
  [[nodiscard]] std::string reworded(const Reader& reader, std::string_view query) const {
    const bool well = r_.draws.succeeds("decompose", r_.skills.decompose);
    std::size_t step = well ? reader.step_of(query) : reader.steps();
    if (step == reader.steps() || reader.value(step))
      for (step = 0; step < reader.steps() && (reader.value(step) || !reader.ready(step));) ++step;
    if (!well || reader.answer() || step == reader.steps() || !reader.ready(step)) return std::string(no_queries);
    const std::string text = ask(reader.question(step), r_.draws);
    return words(text) == words(query) ? std::string(no_queries) : text;
  }

  const Request& r_;
};

}  // namespace espalier::sim::detail

namespace espalier::sim {

/// A simulated language model with known skills. It answers from what the prompt shows and from what it recalls. Every
/// reply is a function of the request alone. The tags that the prompt's purpose returns say what is wanted, so it works
/// with every method's protocol. Copies share their knowledge.
class Model {
 public:
  /// Throws std::invalid_argument if a skill is not a rate.
  explicit Model(std::span<const rag::Example> examples, Skills skills = Skills())
      : skills_(checked(skills)),
        knowledge_(std::make_shared<const detail::Knowledge>(examples)),
        fingerprint_(make_fingerprint(examples)) {}

  [[nodiscard]] std::vector<Completion> operator()(std::span<const Prompt> prompts) const {
    std::vector<Completion> replies;
    for (const Prompt& prompt : prompts) replies.push_back(reply(prompt));
    return replies;
  }
  /// Identity of the skills and of everything the model could know.
  [[nodiscard]] Hash fingerprint() const { return fingerprint_; }

 private:
  [[nodiscard]] Completion reply(const Prompt& prompt) const {
    const detail::Request request(prompt, *knowledge_, skills_);
    bool sure = true;
    Completion completion(text(prompt, request, sure));
    std::size_t bytes = 0;
    for (const PromptBody::Message& message : prompt.body().messages) bytes += message.content.size();
    completion.prompt_tokens = static_cast<std::uint32_t>(bytes / 4 + 1);
    completion.completion_tokens = static_cast<std::uint32_t>(completion.text.size() / 4 + 1);
    if (prompt.sampling().logprobs) {
      const double spread = request.draws.uniform("logprob");
      const double each = -(sure ? 0.02 + 0.1 * spread : 0.8 + 0.8 * spread);
      completion.logprob = completion.completion_tokens * each;
      if (prompt.sampling().token_logprobs) completion.tokens = {{completion.text, each}};
    }
    return completion;
  }

  [[nodiscard]] std::string text(const Prompt& prompt, const detail::Request& request, bool& sure) const {
    const detail::Judge judge(request);
    if (request.wants("score")) return request.tagged("score", judge.scores());
    if (request.wants("verdict")) return request.tagged("verdict", judge.verdict());
    if (request.wants("choice")) return request.tagged("choice", judge.choice());
    if (request.wants("preference")) return request.tagged("preference", judge.preference());
    if (request.wants("trajectory")) return request.tagged("trajectory", detail::narrated(request, prompt));
    if (request.wants("queries")) {
      const std::string queries = detail::Rewriter(request)();
      if (queries != detail::no_queries || !request.wants("answer")) return request.tagged("queries", queries);
    }
    detail::Agent agent(request);
    std::string said = agent();
    sure = agent.sure();
    return said;
  }

  static Skills checked(const Skills& skills) {
    skills.check();
    return skills;
  }
  [[nodiscard]] Hash make_fingerprint(std::span<const rag::Example> examples) const {
    Hasher h;
    h.add("espalier simulated model 5");
    for (const auto& [name, rate] : skills_.rates()) {
      if (name == "judge") h.add(0.0);  // in the place of a skill that is gone
      h.add(skills_.*rate);
    }
    h.add(skills_.seed).add(std::uint64_t(examples.size()));
    for (const rag::Example& e : examples) {
      h.add(e.question.text)
          .add(std::uint64_t(e.gold.size()))
          .add(std::uint64_t(e.chain.size()))
          .add(std::uint64_t(e.supporting_titles.size()));
      for (const std::string& gold : e.gold) h.add(gold);
      for (const rag::ChainStep& step : e.chain) h.add(step.question).add(step.answer).add(step.support_title);
      for (const std::string& title : e.supporting_titles) h.add(title);
    }
    return h.finish();
  }

  Skills skills_;
  std::shared_ptr<const detail::Knowledge> knowledge_;
  Hash fingerprint_;
};

}  // namespace espalier::sim
