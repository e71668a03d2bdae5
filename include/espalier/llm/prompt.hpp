#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/llm/protocol.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier {

/// How a completion is drawn. All fields but the last are part of a request's key.
struct Sampling {
  double temperature = 0;              ///< 0 = greedy
  double top_p = 1;                    ///< (0, 1]
  int top_k = 0;                       ///< 0 = off
  double min_p = 0;                    ///< [0, 1)
  int max_tokens = 512;                ///< > 0
  std::vector<std::string> stop = {};  ///< at most 4 are portable
  bool logprobs = false;               ///< ask for the sum of token log-probabilities
  bool token_logprobs = false;         ///< with `logprobs`: keep that of each token
  bool tools = false;                  ///< ask for the tags of the reply as calls of the chat API's tools
  std::string extra_body = {};         ///< a JSON object merged into the request body, "" = none
  std::string grammar = {};            ///< GBNF that a reply must follow (llm/grammar.hpp), "" = none
  bool keep_tokens = false;            ///< ask for Completion::sampled, if that changes no text
  bool operator==(const Sampling&) const = default;
};

/// Everything of a request except seed and sample index. Immutable, and shared by all samples of one prompt.
struct PromptBody {
  /// One chat message. Role: system, user, assistant.
  struct Message {
    std::string role;
    std::string content;
    bool operator==(const Message&) const = default;
  };

  /// A named piece of the message that a prompt shows: a slot's value or one rendered segment. [begin, end) in bytes.
  struct Span {
    std::string name;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
    bool operator==(const Span&) const = default;
  };

  std::vector<Message> messages;             ///< role "" = a raw prompt. An assistant message at the end is continued
  std::vector<std::int32_t> ids = {};        ///< a raw prompt as token ids, sent instead of its text. Empty = none
  std::vector<Span> spans;                   ///< positions of slots and segments in shown()
  std::string purpose;                       ///< a purpose of the protocol: "termination", "rollout" ...
  std::shared_ptr<const Protocol> protocol;  ///< the method's purposes and tags, may be null
  Sampling sampling;
  std::uint64_t affinity = 0;  ///< hint: equal values should go to one server, 0 = none. Never in a key
  std::uint32_t after = 0;     ///< messages after the one that holds the slots, such as an unread reply

  bool operator==(const PromptBody&) const = default;
  /// The text of the message that holds the slots.
  [[nodiscard]] const std::string& shown() const { return messages[messages.size() - 1 - after].content; }
};

/// One request to a language model: one prompt and one sample. It has one journal record and counts as one completion.
class Prompt {
 public:
  Prompt(std::shared_ptr<const PromptBody> body, std::uint64_t seed, std::uint32_t sample)
      : body_(std::move(body)), seed_(seed), sample_(sample), key_(make_key()) {}
  /// A bare prompt: one user message.
  explicit Prompt(std::string text, Sampling sampling = Sampling(), std::uint64_t seed = 0, std::uint32_t sample = 0)
      : Prompt(user_message(std::move(text), std::move(sampling)), seed, sample) {}

  [[nodiscard]] const PromptBody& body() const { return *body_; }
  [[nodiscard]] const std::shared_ptr<const PromptBody>& shared_body() const { return body_; }
  /// The last message's content.
  [[nodiscard]] const std::string& text() const { return body_->messages.back().content; }
  [[nodiscard]] const std::string& purpose() const { return body_->purpose; }
  [[nodiscard]] const Sampling& sampling() const { return body_->sampling; }
  [[nodiscard]] std::uint64_t affinity() const { return body_->affinity; }
  [[nodiscard]] bool greedy() const { return body_->sampling.temperature == 0; }
  /// Base seed of the group. Sample i is drawn with seed() + i. Not used by greedy requests.
  [[nodiscard]] std::uint64_t seed() const { return seed_; }
  [[nodiscard]] std::uint32_t sample() const { return sample_; }
  /// The slot's text, if the prompt has it.
  [[nodiscard]] std::optional<std::string_view> slot(std::string_view name) const {
    for (const auto& span : body_->spans)
      if (span.name == name) return std::string_view(body_->shown()).substr(span.begin, span.end - span.begin);
    return std::nullopt;
  }
  /// Identity of the request without the model: messages, sampling fields, stop strings, extra body and grammar. Seed
  /// and sample index too, unless it is greedy (docs page "contracts"). Purpose, spans and protocol are left out.
  [[nodiscard]] Hash key() const { return key_; }

 private:
  static std::shared_ptr<const PromptBody> user_message(std::string text, Sampling sampling) {
    PromptBody body;
    body.messages.push_back({"user", std::move(text)});
    body.sampling = std::move(sampling);
    return std::make_shared<const PromptBody>(std::move(body));
  }
  [[nodiscard]] Hash make_key() const {
    Hasher h;
    h.add(std::uint64_t(body_->messages.size()));
    for (const auto& m : body_->messages) h.add(m.role).add(m.content);
    const Sampling& s = body_->sampling;
    h.add(s.temperature).add(s.top_p).add(std::uint64_t(s.top_k)).add(s.min_p).add(std::uint64_t(s.max_tokens));
    h.add(std::uint64_t(s.stop.size()));
    for (const auto& stop : s.stop) h.add(stop);
    h.add(std::uint64_t(s.logprobs) + (s.token_logprobs ? 2 : 0) + (s.tools ? 4 : 0)).add(s.extra_body);
    if (!s.grammar.empty()) h.add(std::string_view("grammar")).add(s.grammar);
    for (const std::int32_t id : body_->ids) h.add(std::uint64_t(id));
    if (!greedy()) h.add(seed_).add(std::uint64_t(sample_));
    return h.finish();
  }

  std::shared_ptr<const PromptBody> body_;
  std::uint64_t seed_;
  std::uint32_t sample_;
  Hash key_;
};

/// One sampled text. It includes the stop string that ended it.
struct Completion {
  /// Why a completion ended. `too_long`: the prompt did not fit into the model's context, and the text says so.
  /// `refused`: the server says that the model refused to reply, and the text is its refusal.
  enum class Finish : std::uint8_t { stop, length, other, too_long, refused };
  static constexpr const char* finishes[] = {"stop", "length", "other", "too_long", "refused"};  ///< their names

  /// A token of a completion, natural log.
  struct TokenLogprob {
    std::string text;
    double logprob = 0;
    friend bool operator==(const TokenLogprob&, const TokenLogprob&) = default;
  };

  /// The tokens that a model sampled for a text, those of its stop string and of its end included where they are known.
  struct Sampled {
    std::vector<std::int32_t> ids{};  ///< empty = not known
    std::vector<double> logprobs{};   ///< of each, natural log, under the prompt. Empty = not known
    /// False for ids below 0, log-probabilities that are above 0 or no number, and lists of different lengths.
    [[nodiscard]] bool possible() const {
      return std::ranges::all_of(ids, [](std::int32_t id) { return id >= 0; }) &&
             std::ranges::all_of(logprobs, [](double each) { return each <= 0 && std::isfinite(each); }) &&
             (logprobs.empty() || logprobs.size() == ids.size());
    }
    friend bool operator==(const Sampled&, const Sampled&) = default;
  };

  Completion() = default;
  Completion(std::string text) : text(std::move(text)) {}  // NOLINT: a text is a completion
  /// False if its text is no reply, so that nothing in it is read.
  [[nodiscard]] bool readable() const { return finish != Finish::too_long && finish != Finish::refused && !damaged; }

  std::string text;
  Finish finish = Finish::stop;
  bool damaged = false;                 ///< a call of a tool or a part in it cannot be read
  std::uint32_t prompt_tokens = 0;      ///< 0 = not reported
  std::uint32_t completion_tokens = 0;  ///< 0 = not reported
  std::uint32_t thinking_tokens = 0;    ///< of completion_tokens, those of a thought aside. 0 = not reported
  std::optional<double> logprob;        ///< sum over the tokens up to the stop string, natural log
  std::vector<TokenLogprob> tokens{};   ///< each of them, empty if not asked for or not given with its text
  Sampled sampled{};                    ///< what `tokens` are read from, if it was to be kept and is known
  std::uint32_t attempts = 0;           ///< requests sent for it, never stored
  bool cached = false;                  ///< came from a journal, never stored
  /// Of prompt_tokens, those that the server had read before. Nothing = not told, or from a journal. Never stored.
  std::optional<std::uint32_t> reused_tokens = std::nullopt;

  /// True for what is no answer: it does not say why it ended, or has no token.
  [[nodiscard]] bool failed(const Prompt& request) const {
    const auto& stop = request.sampling().stop;  // such a string may have been put behind an empty text
    const bool nothing = completion_tokens == 0 && (text.empty() || std::ranges::count(stop, text) > 0);
    return finish == Finish::other || (finish == Finish::stop && nothing && prompt_tokens > 0);
  }
  /// The same for another who waits for it: what it took counts once.
  [[nodiscard]] Completion shared() && {
    attempts = 0;
    reused_tokens.reset();
    return std::move(*this);
  }
};

}  // namespace espalier
