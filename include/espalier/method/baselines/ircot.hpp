#pragma once

#include <espalier/method/baselines/baseline.hpp>
#include <espalier/rag/text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// A chain of thought with searches: after each sentence, behind a router, or where a sentence is unsure.
namespace espalier::method::baselines::detail {

// IRCoT (Trivedi et al. 2023): a chain of thought with one sentence per call. Each sentence is the next query, and the
// prompt shows all documents so far. A sentence with the answer's marker ends it, otherwise a final call answers.

inline Prompts ircot_asks() {
  return {{{"sentence", {"documents", "question", "history"}, {"answer", "sub_answer"}},
           "You reason towards the answer of a question, one sentence at a time, with the help of the documents. Write "
           "the next sentence of your reasoning and nothing else. If the reasoning is complete, write the answer "
           "instead, on a line after So the answer is:\n" +
               words::brief + words::documents + words::question +
               "\n### Reasoning so far\n{history}\n### Next sentence\n"},
          {{"forced_answer", {"documents", "question", "history"}, {"answer"}},
           "Answer the question from the documents and the reasoning below, on a line after So the answer is:\n" +
               words::brief + words::documents + words::question + "\n### Reasoning\n{history}\n### Answer\n"}};
}
inline Protocol ircot_marks(std::string name) {
  return {std::move(name),
          {},
          {{"answer", "So the answer is:", "\n"}, {"sub_answer", "", ""}, {"thought", "", ""}},
          "Wikipedia Title: {title}\n{text}\n\n",
          {"search", "information"}};
}

/// The first sentence of a text. A full stop ends it if white space and then no lower-case letter follow. It does not
/// end at initials, titles and words with inner full stops: "U.S. Steel", "St. Louis" and "J. R. Smith" stay whole.
inline std::string first_sentence(std::string_view text) {
  constexpr std::array<std::string_view, 10> titles{"Mr", "Mrs", "Ms", "Dr", "St", "Prof", "Gen", "Col", "Jr", "No"};
  const auto blank = [&](std::size_t i) {
    return i >= text.size() || std::string_view(" \t\r\n").find(text[i]) != std::string_view::npos;
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') return std::string(text.substr(0, i));
    if ((text[i] != '.' && text[i] != '!' && text[i] != '?') || !blank(i + 1)) continue;
    std::size_t next = i + 1;
    while (next < text.size() && blank(next)) ++next;
    if (next < text.size() && text[next] >= 'a' && text[next] <= 'z') continue;
    std::size_t begin = i;
    while (begin > 0 && !blank(begin - 1)) --begin;
    const std::string_view word = text.substr(begin, i - begin);
    const bool initial = word.size() == 1 && word[0] >= 'A' && word[0] <= 'Z';
    bool title = word.find('.') != std::string_view::npos;
    for (const std::string_view known : titles) title = title || word == known;
    if (text[i] == '.' && next < text.size() && (initial || title)) continue;
    return std::string(text.substr(0, i + 1));
  }
  return std::string(text);
}

inline Task<void> run_ircot(Path* path, BaselineOptions options) {
  constexpr std::size_t most = 15;  // paragraphs in a prompt
  co_await path->search(path->question());
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    auto next = co_await path->draw("sentence", path->showing(path->all_documents(most)));
    if (!next) co_return;
    if (next->action.kind == rag::SegmentKind::answer) co_return co_await path->take(next->action);
    const std::string sentence = first_sentence(next->action.text);
    path->add(rag::SegmentKind::thought, sentence);
    co_await path->search(sentence);
  }
  co_await path->ask("forced_answer", path->showing(path->all_documents(most)));
}

inline Baseline ircot() {
  return {.name = "ircot",
          .prompts = prompt_set(ircot_marks("ircot"), ircot_asks()),
          .run = run_ircot,
          .defaults = {.rounds = 5, .documents = 6},
          .examples = as_sentences};
}

// Adaptive-RAG (Jeong et al. 2024): a router sends simple questions to the model alone (A), others to one search (B),
// and hard ones to IRCoT (C). The published router is a trained model. This one is a prompt.

inline Task<void> run_adaptive_rag(Path* path, BaselineOptions options) {
  const std::optional<rag::Action> route = co_await path->ask("route", Path::Slots(), rag::SegmentKind::own_answer);
  if (!route) co_return;
  const char level = *rag::detail::read_choice(route->text);
  if (level == 'A') {
    co_await path->ask("direct");
  } else if (level == 'B') {
    co_await path->search(path->question());
    co_await path->ask("forced_answer", path->showing(path->documents()));
  } else {
    co_await run_ircot(path, options);
  }
}

inline Baseline adaptive_rag() {
  Protocol marks = ircot_marks("adaptive-rag");
  marks.tags.push_back({"choice", "Class:", "\n"});
  Prompts prompts = ircot_asks();
  prompts.push_back(
      {{"route", {"question"}, {"choice"}},
       "How much must be looked up to answer this question? A: nothing, you know it for certain. B: one fact. C: "
       "several facts that build on each other.\nWrite one of these letters on a line after Class:\n" +
           words::question + "\n### Class\n"});
  prompts.push_back(
      {{"direct", {"question"}, {"answer"}},
       "Answer the question, on a line after So the answer is:\n" + words::brief + words::question + "\n### Answer\n"});
  return {.name = "adaptive-rag",
          .prompts = prompt_set(std::move(marks), prompts),
          .run = run_adaptive_rag,
          .defaults = {.rounds = 5, .documents = 6},
          .examples = as_sentences};
}

// FLARE (Jiang et al. 2023) writes one sentence ahead. If the model is not sure of it, the sentence becomes a query
// without the tokens it is least sure of, and is written again with what was found. It looks 64 tokens ahead. The
// model is sure if each token of the sentence has at least the probability `threshold`. Where a server gives only the
// sum of the log-probabilities, exp(mean log-probability) is compared, and the query is the whole sentence.

/// The tokens of a reply that belong to a sentence. Empty if they are not given or do not spell it.
inline std::vector<Completion::TokenLogprob> tokens_of(const std::string& sentence,
                                                       const std::vector<Completion::TokenLogprob>& reply) {
  std::string text;
  for (const Completion::TokenLogprob& token : reply) text += token.text;
  const std::size_t begin = text.find(sentence);
  std::vector<Completion::TokenLogprob> own;
  std::size_t at = 0;
  for (const Completion::TokenLogprob& token : reply) {
    if (begin != text.npos && at + token.text.size() > begin && at < begin + sentence.size()) own.push_back(token);
    at += token.text.size();
  }
  return own;
}

/// A look-ahead sentence: how sure the model is of it, and the query that it makes.
struct LookAhead {
  double probability;  ///< of its least probable token, or of the mean one
  std::string query;   ///< its tokens above `mask`, the whole sentence if none is
};
/// Throws Error if the model gave no log-probabilities.
inline LookAhead look_ahead(const std::string& sentence, const rag::Action& drawn, double mask) {
  if (std::isnan(drawn.logprob) || drawn.tokens == 0)
    throw Error(
        "flare needs log-probabilities and token counts, which this model does not give; ask a server that does");
  const std::vector<Completion::TokenLogprob> tokens = tokens_of(sentence, drawn.token_logprobs);
  if (tokens.empty()) return {std::exp(static_cast<double>(drawn.logprob) / drawn.tokens), sentence};
  double least = 1;
  std::string kept;
  for (const Completion::TokenLogprob& token : tokens) {
    const double p = std::exp(token.logprob);
    least = std::min(least, p);
    kept += p > mask ? token.text : " ";
  }
  kept = rag::detail::join_blanks(kept);
  return {least, kept.empty() ? sentence : kept};
}

inline Task<void> run_flare(Path* path, BaselineOptions options) {
  Passages documents;
  for (std::uint32_t round = 0; round < options.rounds; ++round) {
    std::optional<Proposal<rag::Action>> next = co_await path->draw("sentence", path->showing(documents));
    LookAhead ahead{1, ""};
    if (next) ahead = look_ahead(first_sentence(next->action.text), next->action, options.mask);
    if (ahead.probability < options.threshold) {
      co_await path->search(ahead.query);
      documents = path->documents();
      next = co_await path->draw("sentence", path->showing(documents));
    }
    if (!next) co_return;
    if (next->action.kind == rag::SegmentKind::answer) co_return co_await path->take(next->action);
    path->add(rag::SegmentKind::thought, first_sentence(next->action.text));
  }
  co_await path->ask("forced_answer", path->showing(documents));
}

inline Baseline flare() {
  return {.name = "flare",
          .prompts = prompt_set(ircot_marks("flare"), ircot_asks()),
          .run = run_flare,
          .defaults = {.rounds = 8, .documents = 3, .threshold = 0.8, .mask = 0.4},
          .sampling = {.max_tokens = 64, .logprobs = true, .token_logprobs = true},
          .examples = as_sentences,
          .threshold = "a sentence with a token of less probability is searched for and written again"};
}

}  // namespace espalier::method::baselines::detail
