#pragma once

#include <espalier/core/context.hpp>
#include <espalier/core/scheduler.hpp>
#include <espalier/rag/parse.hpp>
#include <espalier/rag/prompt_set.hpp>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace espalier::rag {

/// A reply as it came: read, or not.
struct Sample {
  ModelText raw;
  std::optional<Reply> reply;
  std::optional<double> logprob;  ///< sum over the tokens, if the model gave it
  std::uint32_t tokens = 0;       ///< of the reply; 0 = not reported
};

/// Asks a language model for samples of a prompt and reads them. One that cannot be read is drawn again up to
/// `resample` times under new sample indices (contracts: content failures); after that it is returned unread.
class Sampler {
 public:
  struct Options {
    Sampling sampling = {};      ///< of purposes without an entry of their own
    std::map<std::string, Sampling, std::less<>> by_purpose = {};
    std::uint32_t resample = 2;  ///< R
  };
  Sampler(ModelPort model, PromptSet prompts, Options options) : model_(std::move(model)), prompts_(std::move(prompts)), options_(std::move(options)) {}

  /// Uses another model for one purpose.
  Sampler& model_for(std::string purpose, ModelPort model) {
    models_.insert_or_assign(std::move(purpose), std::move(model));
    return *this;
  }

  [[nodiscard]] const PromptSet& prompts() const { return prompts_; }
  /// The same models and sampling with other prompts.
  [[nodiscard]] Sampler speaking(PromptSet prompts) const {
    Sampler other = *this;
    other.prompts_ = std::move(prompts);
    return other;
  }

  /// n samples, indices context.first ... context.first + n - 1.
  Task<std::vector<Sample>> draw(std::string purpose, std::vector<std::pair<std::string, Rendering>> slots, std::uint32_t n, Context context) const {
    const auto body = prompts_.render(purpose, slots, sampling(purpose), context.seed.origin());
    const std::uint64_t seed = context.seed.purpose(purpose).value();
    std::vector<Sample> samples(n);
    std::vector<std::uint32_t> missing;
    for (std::uint32_t i = 0; i < n; ++i) missing.push_back(i);
    for (std::uint32_t attempt = 0; attempt <= options_.resample && !missing.empty(); ++attempt) {
      std::vector<Task<Completion>> asked;
      for (const std::uint32_t i : missing) asked.push_back(ask(port(purpose), Prompt(body, seed, context.first + i + attempt * attempt_stride)));
      std::vector<Completion> completions = co_await gather(std::move(asked));
      std::vector<std::uint32_t> unread;
      for (std::size_t j = 0; j < missing.size(); ++j) {
        Sample& sample = samples[missing[j]];
        enter(*context.ledger, purpose, completions[j]);
        sample.logprob = completions[j].logprob;
        sample.tokens = completions[j].completion_tokens;
        sample.raw = ModelText(std::move(completions[j].text));
        sample.reply = parse(sample.raw, *body->protocol, *body->protocol->purpose(purpose));
        if (!sample.reply) unread.push_back(missing[j]);
      }
      missing = body->sampling.temperature > 0 ? std::move(unread) : std::vector<std::uint32_t>();
    }
    co_return samples;
  }

 private:
  /// Sample indices of later attempts lie far above those of first attempts.
  static constexpr std::uint32_t attempt_stride = 1U << 20;

  static void enter(Ledger& ledger, const std::string& purpose, const Completion& completion) {
    Costs& costs = ledger[purpose];
    ++costs.completions;
    costs.prompt_tokens += completion.prompt_tokens;
    costs.completion_tokens += completion.completion_tokens;
    ledger.execution.cached += completion.cached;
    ledger.execution.attempts += completion.attempts;
  }
  /// How a purpose is sampled. Without stop strings of its own it stops at the closing tags that it returns; a bracket or a
  /// line's end would cut its thoughts, so those are none.
  [[nodiscard]] Sampling sampling(const std::string& purpose) const {
    const auto own = options_.by_purpose.find(purpose);
    Sampling chosen = own != options_.by_purpose.end() ? own->second : options_.sampling;
    const Protocol& protocol = *prompts_.protocol();
    if (chosen.stop.empty())
      for (const auto& role : protocol.purpose(purpose)->returns)
        if (const std::string& close = protocol.tag(role)->close; close.size() > 1) chosen.stop.push_back(close);
    return chosen;
  }
  [[nodiscard]] const ModelPort& port(const std::string& purpose) const {
    const auto own = models_.find(purpose);
    return own != models_.end() ? own->second : model_;
  }

  ModelPort model_;
  std::map<std::string, ModelPort, std::less<>> models_;
  PromptSet prompts_;
  Options options_;
};

}  // namespace espalier::rag
