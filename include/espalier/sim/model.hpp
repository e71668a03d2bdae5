#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/core/prompt.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/sim/knowledge.hpp>
#include <espalier/sim/reader.hpp>
#include <espalier/sim/skills.hpp>
#include <espalier/sim/view.hpp>
#include <espalier/sim/wording.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::sim {

/// A simulated language model with known skills. It answers from what the prompt shows and from what it recalls; every
/// reply is a function of the request alone. What it is asked for follows from the tags that the prompt's purpose
/// returns, so it speaks every method's protocol. Copies share what they know.
class Model {
 public:
  /// Throws std::invalid_argument if a skill is no rate.
  explicit Model(std::span<const rag::Example> examples, Skills skills = Skills())
      : skills_(checked(skills)), knowledge_(std::make_shared<const Knowledge>(examples)), fingerprint_(make_fingerprint(examples)) {}

  [[nodiscard]] std::vector<Completion> operator()(std::span<const Prompt> prompts) const {
    std::vector<Completion> replies;
    replies.reserve(prompts.size());
    for (const Prompt& prompt : prompts) replies.push_back(reply(prompt));
    return replies;
  }
  /// Of the skills and of all that the model could know.
  [[nodiscard]] Hash fingerprint() const { return fingerprint_; }

 private:
  /// One request: what it shows and how its draws fall.
  struct Request {
    explicit Request(const Prompt& prompt, const Skills& skills)
        : protocol(prompt.body().protocol.get()), purpose(protocol ? protocol->purpose(prompt.purpose()) : nullptr), view(prompt.body()),
          draws(prompt, skills.seed), question(prompt.slot("question").value_or(prompt.text())),
          malformed(draws.happens("malformed", skills.malformed)) {}
    [[nodiscard]] bool wants(std::string_view tag) const {
      return purpose && std::find(purpose->returns.begin(), purpose->returns.end(), tag) != purpose->returns.end();
    }
    [[nodiscard]] std::string tagged(std::string_view name, const std::string& text) const {
      const Tag* tag = protocol && !malformed ? protocol->tag(name) : nullptr;
      return tag ? tag->open + text + tag->close : text;
    }
    const Protocol* protocol;
    const Purpose* purpose;
    View view;
    Draws draws;
    std::string_view question;
    bool malformed;
  };

  [[nodiscard]] Completion reply(const Prompt& prompt) const {
    const Request request(prompt, skills_);
    Completion completion(text(request));
    std::size_t bytes = 0;
    for (const Message& message : prompt.body().messages) bytes += message.content.size();
    completion.prompt_tokens = static_cast<std::uint32_t>(bytes / 4 + 1);
    completion.completion_tokens = static_cast<std::uint32_t>(completion.text.size() / 4 + 1);
    return completion;
  }

  [[nodiscard]] std::string text(const Request& r) const {
    if (!r.purpose) return recollect(r).answer;
    if (r.purpose->returns.empty()) return query_for(r.question, r.draws);
    if (r.wants("answer") && r.wants("question")) return terminate(r);
    if (r.wants("answer") && r.wants("search")) return roll_out(r);
    const std::string idle_thought = idle(r.draws, skills_.verbosity);
    if (r.wants("answer")) {
      const Recollection found = recollect(r);
      return idle_thought + found.thought + r.tagged("answer", found.answer);
    }
    if (r.wants("question")) return idle_thought + "I split the question.\n" + r.tagged("question", first_question(r));
    return idle_thought + r.tagged(r.purpose->returns.front(), query_for(r.question, r.draws));
  }

  /// Stop with an answer, or go on with a sub-question.
  [[nodiscard]] std::string terminate(const Request& r) const {
    std::string thought = idle(r.draws, skills_.verbosity), ending;
    const Chain* chain = knowledge_->chain(r.question);
    if (!chain) {
      thought += "I have never heard of this.";
      ending = r.view.sub_questions.empty() ? r.tagged("question", std::string(r.question)) : r.tagged("answer", "unknown");
    } else {
      Reader reader(*knowledge_, skills_, *chain, r.view, r.draws);
      reader.look(false);
      for (std::size_t k = 0; k < reader.steps(); ++k) thought += news(reader, k);
      const auto answer = reader.answer();
      const bool stop = r.draws.succeeds("stop", skills_.stop) == answer.has_value();
      thought += stop ? "That is enough to answer." : "Something is still missing.";
      ending = stop ? r.tagged("answer", answer.value_or(reader.guess())) : r.tagged("question", next_question(reader, *chain, r.draws));
    }
    return r.tagged("reasoning", thought) + "\n" + ending;
  }

  /// Goes on from the history to the next search or to the answer, as far as memory and the documents shown carry.
  [[nodiscard]] std::string roll_out(const Request& r) const {
    std::string thought = idle(r.draws, skills_.verbosity), ending;
    const Chain* chain = knowledge_->chain(r.question);
    if (!chain) {
      thought += "I have never heard of this.\n";
      ending = r.view.documents() == 0 ? r.tagged("search", std::string(r.question)) : r.tagged("answer", "unknown");
    } else {
      Reader reader(*knowledge_, skills_, *chain, r.view, r.draws);
      std::optional<std::string> search;
      for (std::size_t k = 0; k < reader.steps() && !search && !reader.answer(); ++k) {
        if (!reader.see(k) && !reader.recall(k)) {
          if (reader.searches(k) < 2 && !r.draws.happens("hallucinate", skills_.hallucinate, k)) {
            const bool well = r.draws.succeeds("decompose", skills_.decompose, k);
            search = query_for(well ? reader.question(k) : chain->question, r.draws);
          } else {
            reader.invent(k);
          }
        }
        if (!search) thought += news(reader, k);
      }
      ending = search ? r.tagged("search", *search) : r.tagged("answer", reader.answer().value_or(reader.guess()));
    }
    const Tag* tag = r.protocol->tag("thought");
    return (tag ? r.tagged("thought", thought) + "\n" : thought) + ending;
  }

  struct Recollection {
    std::string thought;
    std::string answer;
  };
  /// The best answer to a question, or to a sub-question by heart.
  [[nodiscard]] Recollection recollect(const Request& r) const {
    const auto key = content(r.question);
    std::optional<std::string> invented;
    if (const Chain* chain = knowledge_->chain(r.question)) {
      Reader reader(*knowledge_, skills_, *chain, r.view, r.draws);
      reader.look(true);
      Recollection found;
      for (std::size_t k = 0; k < reader.steps(); ++k) found.thought += news(reader, k);
      if (auto answer = reader.answer()) return {std::move(found.thought), *std::move(answer)};
      if (r.view.has_history) return {std::move(found.thought), reader.guess()};
      invented = reader.guess();
    } else if (const Fact* fact = knowledge_->find(key)) {
      if (recalls(skills_, *fact)) return {"I remember this one.\n", fact->answers.front()};
      const std::uint64_t draw = r.draws.pick("invent");
      invented = fact->verdict ? std::string(draw % 2 ? "yes" : "no")
                               : knowledge_->wrong(fact->relation, fact->answers.front(), draw,
                                                   [&](const std::string& text) { return fact->answered_by(text); });
    } else {
      const bool number = std::binary_search(key.begin(), key.end(), word_of("when")) || std::binary_search(key.begin(), key.end(), word_of("how"));
      invented = knowledge_->wrong(relation_key(r.question), number ? "1900" : "Name", r.draws.pick("invent"), [](const std::string&) { return false; });
    }
    if (r.draws.happens("hallucinate", skills_.hallucinate)) return {"I believe it is this.\n", *std::move(invented)};
    return {"I cannot recall this.\n", std::string(not_known)};
  }

  [[nodiscard]] std::string first_question(const Request& r) const {
    const Chain* chain = knowledge_->chain(r.question);
    if (!chain) return std::string(r.question);
    const Reader nothing(*knowledge_, skills_, *chain, r.view, r.draws);
    return next_question(nothing, *chain, r.draws);
  }
  /// A step that can be asked and is not yet known; with bad luck the whole question again, or something beside it.
  [[nodiscard]] std::string next_question(const Reader& reader, const Chain& chain, const Draws& draws) const {
    std::vector<std::size_t> open, ready;
    for (std::size_t k = 0; k < reader.steps(); ++k) {
      if (!reader.ready(k)) continue;
      ready.push_back(k);
      if (!reader.value(k)) open.push_back(k);
    }
    if (!draws.succeeds("decompose", skills_.decompose)) {
      if (!chain.options.empty() || (reader.steps() > 1 && draws.pick("detour") % 2)) return chain.question;
      return "What is known about " + reader.guess() + "?";
    }
    const auto& from = open.empty() ? ready : open;
    return ask(reader.question(from[draws.wording("step", from.size())]), draws);
  }

  [[nodiscard]] std::string query_for(std::string_view question, const Draws& draws) const {
    if (!knowledge_->chain(question) && !knowledge_->find(content(question))) return std::string(question);
    return query(question, draws.succeeds("phrase", skills_.phrase), draws);
  }
  /// Says what was found for step k and does not stand in the prompt yet.
  [[nodiscard]] static std::string news(const Reader& reader, std::size_t k) {
    const auto& belief = reader.value(k);
    return belief && !belief->said ? statement(reader.question(k)) + belief->text + ".\n" : std::string();
  }

  static Skills checked(const Skills& skills) {
    skills.check();
    return skills;
  }
  [[nodiscard]] Hash make_fingerprint(std::span<const rag::Example> examples) const {
    Hasher h;
    h.add("espalier simulated model 1");
    for (double rate : {skills_.recall, skills_.decompose, skills_.phrase, skills_.read, skills_.stop, skills_.hallucinate,
                        skills_.malformed, skills_.verbosity})
      h.add(rate);
    h.add(skills_.seed).add(std::uint64_t(examples.size()));
    for (const rag::Example& e : examples) {
      h.add(e.question.text).add(std::uint64_t(e.gold.size())).add(std::uint64_t(e.chain.size())).add(std::uint64_t(e.supporting_titles.size()));
      for (const std::string& gold : e.gold) h.add(gold);
      for (const rag::ChainStep& step : e.chain) h.add(step.question).add(step.answer).add(step.support_title);
      for (const std::string& title : e.supporting_titles) h.add(title);
    }
    return h.finish();
  }

  Skills skills_;
  std::shared_ptr<const Knowledge> knowledge_;
  Hash fingerprint_;
};

}  // namespace espalier::sim
