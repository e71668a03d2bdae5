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

/// A reply and its parsed form, if it could be read.
struct Sample {
  ModelText raw;
  std::optional<Reply> reply;
  std::optional<double> logprob;               ///< sum over the tokens, if the model gave it
  std::uint32_t tokens = 0;                    ///< of the reply; 0 = not reported
  std::vector<TokenLogprob> token_logprobs{};  ///< each of them, if asked for and given
};

/// Asks a language model for samples of a prompt and parses them. A reply that cannot be read is drawn again up to
/// `resample` times under new sample indices (docs page "contracts"). After that it is returned unparsed. Greedy
/// samples are not drawn again.
class Sampler {
 public:
  struct Options {
    Sampling sampling = {};  ///< for purposes without their own entry
    std::map<std::string, Sampling, std::less<>> by_purpose = {};
    std::uint32_t resample = 2;  ///< R
  };
  Sampler(ModelPort model, PromptSet prompts, Options options)
      : model_(std::move(model)), prompts_(std::move(prompts)), options_(std::move(options)) {}

  /// Uses another model for one purpose.
  Sampler& model_for(std::string purpose, ModelPort model) {
    models_.insert_or_assign(std::move(purpose), std::move(model));
    return *this;
  }

  [[nodiscard]] const PromptSet& prompts() const { return prompts_; }
  /// The same models and sampling with other prompts.
  [[nodiscard]] Sampler with_prompts(PromptSet prompts) const {
    Sampler other = *this;
    other.prompts_ = std::move(prompts);
    return other;
  }

  /// The same models, prompts and sampling, where no reply is drawn again.
  [[nodiscard]] Sampler drawing_once() const {
    Sampler other = *this;
    other.options_.resample = 0;
    return other;
  }

  /// Draws n samples with the indices context.first ... context.first + n - 1.
  template <class = void>
  Task<std::vector<Sample>> draw(std::string purpose, std::vector<std::pair<std::string, Rendering>> slots,
                                 std::uint32_t n, Context context) const {
    const auto body = prompts_.render(purpose, slots, sampling(purpose), context.seed.origin());
    const std::uint64_t seed = context.seed.purpose(purpose).value();
    std::vector<Sample> samples(n);
    std::vector<std::uint32_t> missing;
    for (std::uint32_t i = 0; i < n; ++i) missing.push_back(i);
    for (std::uint32_t attempt = 0; attempt <= options_.resample && !missing.empty(); ++attempt) {
      std::vector<Task<Completion>> asked;
      for (const std::uint32_t i : missing)
        asked.push_back(ask(port(purpose), Prompt(body, seed, context.first + i + attempt * attempt_stride)));
      std::vector<Completion> completions = co_await gather(std::move(asked));
      std::vector<std::uint32_t> unread;
      for (std::size_t j = 0; j < missing.size(); ++j) {
        Sample& sample = samples[missing[j]];
        const int cut_at = completions[j].finish == Finish::length ? body->sampling.max_tokens : 0;
        charge(*context.ledger, purpose, completions[j]);
        sample.logprob = completions[j].logprob;
        sample.tokens = completions[j].completion_tokens;
        sample.token_logprobs = std::move(completions[j].tokens);
        sample.raw = ModelText(std::move(completions[j].text));
        sample.reply = parse(sample.raw, *body->protocol, *body->protocol->purpose(purpose));
        if (sample.reply) continue;
        unread.push_back(missing[j]);
        const std::uint32_t index = context.first + missing[j] + attempt * attempt_stride;
        context.ledger->add_unread(purpose,
                                   Unread(sample.raw.str(), static_cast<std::uint64_t>(cut_at), context.seed, index));
      }
      missing = body->sampling.temperature > 0 ? std::move(unread) : std::vector<std::uint32_t>();
    }
    co_return samples;
  }

 private:
  /// Sample indices of later attempts are far above those of first attempts.
  static constexpr std::uint32_t attempt_stride = 1U << 20;

  static void charge(Ledger& ledger, const std::string& purpose, const Completion& completion) {
    Costs& costs = ledger[purpose];
    ++costs.completions;
    costs.prompt_tokens += completion.prompt_tokens;
    costs.completion_tokens += completion.completion_tokens;
    ledger.execution.cached += completion.cached;
    ledger.execution.attempts += completion.attempts;
  }
  /// The sampling of a purpose. If it has no stop strings, the closing tags of its replies are used. A single character
  /// such as a bracket or a line end is not used, because it would cut thoughts.
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
