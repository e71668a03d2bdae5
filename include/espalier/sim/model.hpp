#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/core/prompt.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/sim/detail/agent.hpp>
#include <espalier/sim/detail/judge.hpp>
#include <espalier/sim/detail/knowledge.hpp>
#include <espalier/sim/detail/narrator.hpp>
#include <espalier/sim/detail/request.hpp>
#include <espalier/sim/detail/rewriter.hpp>
#include <espalier/sim/detail/wording.hpp>
#include <espalier/sim/skills.hpp>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
    replies.reserve(prompts.size());
    for (const Prompt& prompt : prompts) replies.push_back(reply(prompt));
    return replies;
  }
  /// Identity of the skills and of everything the model could know.
  [[nodiscard]] Hash fingerprint() const { return fingerprint_; }

 private:
  [[nodiscard]] Completion reply(const Prompt& prompt) const {
    const detail::Request request(prompt, skills_);
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
    const auto judged = [&](std::string_view role, const std::string& verdict) {
      return request.remark(detail::idle(request.draws, skills_.verbosity), role, verdict);
    };
    const detail::Judge judge(*knowledge_, skills_, request);
    if (request.wants("score")) return judged("score", judge.scores());
    if (request.wants("verdict")) return judged("verdict", judge.verdict());
    if (request.wants("choice")) return judged("choice", judge.choice());
    if (request.wants("preference")) return judged("preference", judge.preference());
    if (request.wants("trajectory")) return request.tagged("trajectory", detail::narrated(request, prompt));
    if (request.wants("queries")) {
      const std::string queries = detail::Rewriter(*knowledge_, skills_, request)();
      if (queries != detail::no_queries || !request.wants("answer")) return judged("queries", queries);
    }
    detail::Agent agent(*knowledge_, skills_, request);
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
    for (double rate : {skills_.recall, skills_.decompose, skills_.phrase, skills_.read, skills_.stop,
                        skills_.hallucinate, skills_.malformed, skills_.verbosity})
      h.add(rate);
    h.add(skills_.judge).add(skills_.seed).add(std::uint64_t(examples.size()));
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
