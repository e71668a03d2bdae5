#pragma once

#include <espalier/core/context.hpp>
#include <espalier/llm/scheduler.hpp>
#include <espalier/rag/detail/repair.hpp>
#include <espalier/rag/parse.hpp>
#include <espalier/rag/prompt_set.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::rag {

/// Asks a language model for samples of a prompt and parses them. A reply that cannot be read is repaired and drawn
/// again (docs page "contracts"). After that it is returned unparsed. A repair is a completion of the same purpose,
/// under its own seed. Nothing is drawn again or repaired that the budget cannot pay for.
class Sampler {
 public:
  /// A reply and its parsed form, if it could be read.
  struct Sample {
    ModelText raw;
    std::optional<Reply> reply;
    std::optional<double> logprob;                           ///< sum over the tokens, if the model gave it
    std::uint32_t tokens = 0;                                ///< of the reply, 0 = not reported
    std::vector<Completion::TokenLogprob> token_logprobs{};  ///< each of them, if asked for and given
  };

  /// Whether replies are held to the grammar of their purpose.
  enum class Constrain : std::uint8_t {
    off,   ///< they are free
    on,    ///< they follow the grammar
    draft  ///< they are free. One that cannot be read is shown to the model again, which gives its result in the
           ///< grammar
  };

  struct Options {
    Sampling sampling = {};  ///< for purposes without their own entry
    std::map<std::string, Sampling, std::less<>> by_purpose = {};
    std::uint32_t resample = 2;                                    ///< R
    bool repair = false;                                           ///< asks once more before a reply is drawn again
    bool tools = false;                                            ///< replies call tools in place of tags with marks
    std::map<std::string, Constrain, std::less<>> constrain = {};  ///< by purpose
    Constrain constrain_others = Constrain::off;                   ///< for purposes without their own entry
    /// Makes the grammar of a purpose that is constrained: Grammar::gbnf_of (llm/grammar.hpp), or one of your own.
    std::string (*grammar)(const Protocol&, const Protocol::Purpose&, std::uint32_t max_tokens) = nullptr;
  };
  /// Throws std::invalid_argument if a purpose is constrained without `grammar`, or has a mark that it cannot hold.
  Sampler(ModelPort model, PromptSet prompts, Options options)
      : model_(std::move(model)), prompts_(std::move(prompts)), options_(std::move(options)) {
    make_grammars();
  }

  /// Uses another model for one purpose.
  Sampler& model_for(std::string purpose, ModelPort model) {
    models_.insert_or_assign(std::move(purpose), std::move(model));
    return *this;
  }

  [[nodiscard]] const PromptSet& prompts() const { return prompts_; }
  /// True if equal prompts of a purpose get one reply.
  [[nodiscard]] bool greedy(const std::string& purpose) const { return sampling(purpose).temperature == 0; }
  /// The same models and sampling with other prompts.
  [[nodiscard]] Sampler with_prompts(PromptSet prompts) const {
    Sampler other = *this;
    other.prompts_ = std::move(prompts);
    other.make_grammars();
    return other;
  }

  /// The same models, prompts and sampling, where no reply is drawn again or repaired.
  [[nodiscard]] Sampler drawing_once() const {
    Sampler other = *this;
    other.options_.resample = 0;
    other.options_.repair = false;
    return other;
  }

  /// Draws n samples with the indices context.first ... context.first + n - 1.
  template <class = void>
  Task<std::vector<Sample>> draw(std::string purpose, PromptSet::Slots slots, std::uint32_t n, Context context) const {
    const bool drafts = constrain(purpose) == Constrain::draft;
    const auto body =
        prompts_.render(purpose, slots, drafts ? sampling(purpose) : constrained(purpose), context.seed.origin());
    const std::uint64_t seed = context.seed.purpose(purpose).value();
    std::vector<Sample> samples(n);
    std::vector<std::uint32_t> missing;
    for (std::uint32_t i = 0; i < n; ++i) missing.push_back(i);
    Ledger own = Ledger();  // of this draw alone
    Context here = context;
    here.ledger = &own;
    for (std::uint32_t attempt = 0; attempt <= options_.resample && !missing.empty(); ++attempt) {
      if (attempt > 0) drop_unpaid(context, own, &missing);
      const std::uint32_t first = context.first + attempt * attempt_stride;
      std::vector<Task<Completion>> asked;
      for (const std::uint32_t i : missing) asked.push_back(port(purpose).ask(Prompt(body, seed, first + i)));
      std::vector<Completion> completions = co_await gather(std::move(asked));
      missing = read(std::move(completions), std::move(missing), *body, here.from(first), &samples, body->purpose);
      if ((options_.repair || drafts) && !missing.empty()) {
        drop_unpaid(context, own, &missing);
        std::vector<std::uint32_t> left = co_await repaired(body, missing, here.from(first + repair_stride), &samples);
        missing = std::move(left);
      }
      if (body->sampling.temperature == 0) break;
    }
    *context.ledger += own;
    co_return samples;
  }

 private:
  /// Leaves out the last of these samples if the budget cannot pay for them after the draw's own costs.
  static void drop_unpaid(const Context& context, const Ledger& own, std::vector<std::uint32_t>* samples) {
    const std::uint64_t left = context.calls_left(own.total());
    if (left >= samples->size()) return;
    samples->resize(left);
    context.ledger->refused = true;
  }
  /// Sample indices of later attempts are far above those of first attempts. Those of repairs lie between.
  static constexpr std::uint32_t attempt_stride = 1U << 20, repair_stride = 1U << 19;

  /// Asks once more for the samples that could not be read, under the grammar where the purpose has one. Returns those
  /// that may be drawn again. `samples` must outlive the task.
  template <class = void>
  Task<std::vector<std::uint32_t>> repaired(std::shared_ptr<const PromptBody> body, std::vector<std::uint32_t> unread,
                                            Context context, std::vector<Sample>* samples) const {
    const std::uint64_t seed = context.seed.purpose(body->purpose + ".repair").value();
    const Sampling chosen = constrained(body->purpose);
    std::vector<Task<Completion>> asked;
    for (const std::uint32_t i : unread) {
      Prompt again(detail::repair(*body, (*samples)[i].raw.str(), chosen), seed, context.first + i);
      asked.push_back(port(body->purpose).ask(std::move(again)));
    }
    std::vector<Completion> completions = co_await gather(std::move(asked));
    PromptBody answered = *body;
    answered.sampling = chosen;
    std::vector<std::uint32_t> left =
        read(std::move(completions), unread, answered, context, samples, body->purpose + ".repair");
    Ledger::Costs& costs = (*context.ledger)[body->purpose];
    costs.repairs += unread.size();
    for (const std::uint32_t i : unread) costs.repaired += (*samples)[i].reply.has_value();
    co_return left;
  }
  /// Charges and parses the completions of these samples. Returns the samples that may be drawn again, because they
  /// could not be read. `context.first` is the index of sample 0. `source`: ModelText::Source::purpose.
  static std::vector<std::uint32_t> read(std::vector<Completion> completions, std::vector<std::uint32_t> asked,
                                         const PromptBody& body, const Context& context, std::vector<Sample>* samples,
                                         const std::string& source) {
    std::vector<std::uint32_t> unread;
    for (std::size_t j = 0; j < asked.size(); ++j) {
      Completion& completion = completions[j];
      Sample& sample = (*samples)[asked[j]];
      const bool cut = completion.finish == Completion::Finish::length;
      charge(*context.ledger, body, completion);
      sample.logprob = completion.logprob;
      sample.tokens = completion.completion_tokens;
      sample.token_logprobs = std::move(completion.tokens);
      std::shared_ptr<const ModelText::Source> from;
      if (body.sampling.keep_tokens)
        from = std::make_shared<ModelText::Source>(ModelText::Source{source, std::move(completion.sampled)});
      sample.raw = ModelText(std::move(completion.text), std::move(from));
      if (completion.readable())
        sample.reply = parse(sample.raw, *body.protocol, *body.protocol->purpose(body.purpose));
      if (cut && sample.reply && sample.reply->to_end && sample.reply->tag == "answer") sample.reply.reset();  // no end
      if (sample.reply) {
        (*context.ledger)[body.purpose].cut_read += cut;
        continue;
      }
      if (completion.finish != Completion::Finish::too_long) unread.push_back(asked[j]);  // another cannot fit either
      if (!body.sampling.grammar.empty() && completion.finish == Completion::Finish::stop)
        ++context.ledger->execution.ungoverned[body.purpose];
      const auto limit = static_cast<std::uint64_t>(cut ? body.sampling.max_tokens : 0);
      Ledger::Unread one(sample.raw.str(), limit, context.seed, context.first + asked[j]);
      one.in_thought = cut && detail::only_thinks(sample.raw.str());
      context.ledger->add_unread(body.purpose, std::move(one));
    }
    return unread;
  }
  static void charge(Ledger& ledger, const PromptBody& body, const Completion& completion) {
    Ledger::Costs& costs = ledger[body.purpose];
    ++costs.completions;
    if (completion.finish != Completion::Finish::too_long) costs.prompt_tokens += completion.prompt_tokens;
    costs.completion_tokens += completion.completion_tokens;
    costs.thinking_tokens += completion.thinking_tokens;
    costs.constrained += !body.sampling.grammar.empty();
    const auto bytes = static_cast<double>(body.shown().size());
    if (bytes > 0) ledger.densest = std::max(ledger.densest, static_cast<double>(completion.prompt_tokens) / bytes);
    ledger.execution.cached += completion.cached;
    ledger.execution.attempts += completion.attempts;
    if (!completion.reused_tokens) return;
    auto& [reused, read] = ledger.execution.prompts[body.purpose];
    const std::uint32_t before = std::min(*completion.reused_tokens, completion.prompt_tokens);
    reused += before;
    read += completion.prompt_tokens - before;
  }
  /// The sampling of a purpose. If it has no stop strings, the closing tags of its replies are used. A single character
  /// such as a bracket or a line end is not used, because it would cut thoughts. A call of a tool ends by itself.
  [[nodiscard]] Sampling sampling(const std::string& purpose) const {
    const auto own = options_.by_purpose.find(purpose);
    Sampling chosen = own != options_.by_purpose.end() ? own->second : options_.sampling;
    const Protocol& protocol = *prompts_.protocol();
    chosen.tools |= options_.tools && protocol.marked(purpose);
    if (chosen.stop.empty() && !chosen.tools)
      for (const auto& role : protocol.purpose(purpose)->returns)
        if (const std::string& close = protocol.tag(role)->close; close.size() > 1) chosen.stop.push_back(close);
    return chosen;
  }
  [[nodiscard]] Constrain constrain(const std::string& purpose) const {
    const auto own = options_.constrain.find(purpose);
    return own != options_.constrain.end() ? own->second : options_.constrain_others;
  }
  /// Those of all purposes that are constrained. A call of a tool has a form of its own.
  void make_grammars() {
    grammars_.clear();
    for (const Protocol::Purpose& purpose : prompts_.protocol()->purposes) {
      const Sampling free = sampling(purpose.name);
      if (constrain(purpose.name) == Constrain::off || free.tools) continue;
      if (!options_.grammar) bad_option("grammar", "null", "Grammar::gbnf_of or one of your own beside constrain");
      grammars_[purpose.name] =
          options_.grammar(*prompts_.protocol(), purpose, static_cast<std::uint32_t>(free.max_tokens));
    }
  }
  /// The same, with the purpose's grammar if it is constrained.
  [[nodiscard]] Sampling constrained(const std::string& purpose) const {
    Sampling chosen = sampling(purpose);
    if (const auto own = grammars_.find(purpose); own != grammars_.end()) chosen.grammar = own->second;
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
  PromptSet::Texts grammars_;  ///< GBNF of constrained purposes
};

}  // namespace espalier::rag
