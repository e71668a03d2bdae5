#pragma once

#include <espalier/sim/finder.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::sim {

/// Works on a question. From what a prompt shows it finds what is settled and what a competent agent would do next. It
/// says so in the role that fits best among those that the prompt wants.
class Agent {
 public:
  Agent(const Knowledge& knowledge, const Skills& skills, const Request& request)
      : knowledge_(knowledge),
        skills_(skills),
        r_(request),
        finder_(knowledge, skills, request),
        chain_(knowledge.chain(request.question)) {}

  /// True if the reply rests only on what was read or recalled.
  [[nodiscard]] bool sure() const { return sure_; }

  std::string operator()() {
    if (!r_.purpose) return answer();
    if (r_.purpose->returns.empty()) return search();
    const bool answers = r_.wants("answer"), concludes = r_.wants("sub_answer"), searches = r_.wants("search"),
               asks = r_.wants("question");
    const bool in_work = r_.view.query || r_.view.in_work;
    if (!searches && !asks && (r_.wants("thought") || (concludes && (answers || (chain_ && !in_work)))))
      return sentence();
    if (concludes || (searches && asks)) return step();
    if (answers && asks) return terminate();
    if (answers && searches) return roll_out();
    return answers ? answer() : asks ? question() : search();
  }

 private:
  /// Stops with an answer or goes on with a sub-question. Only what the prompt shows counts.
  std::string terminate() {
    std::string thought = idle_thought();
    const auto ending = [&](std::string_view role, const std::string& text) {
      if (r_.protocol->tag("reasoning")) return r_.tagged("reasoning", thought) + "\n" + r_.tagged(role, text);
      return r_.reply(thought + "\n", role, text);
    };
    if (!chain_) {
      thought += "I have never heard of this.";
      return r_.view.sub_questions.empty() ? ending("question", std::string(r_.question)) : ending("answer", "unknown");
    }
    Reader reader = finder_.reader(*chain_);
    reader.look(false);
    for (std::size_t k = 0; k < reader.steps(); ++k) thought += news(reader, k);
    const bool stop = r_.draws.succeeds("stop", skills_.stop) == reader.answer().has_value();
    thought += stop ? "That is enough to answer." : "Something is still missing.";
    return stop ? ending("answer", final_answer(reader)) : ending("question", next_question(reader));
  }

  /// Goes on from the history to the next search or to the answer, with memory and the documents shown.
  std::string roll_out() {
    std::string thought = idle_thought();
    if (!chain_) return stranger(std::move(thought));
    Reader reader = finder_.reader(*chain_);
    const auto open = walk(reader, thought, [&](std::size_t k) { return reader.searches(k); });
    return open ? r_.reply(thought, "search", query_for(wanted(reader, *open)))
                : r_.reply(thought, "answer", final_answer(reader));
  }

  /// The final answer, as far as it can be given.
  std::string answer() {
    const Finding found = r_.view.query ? finder_.settle(*r_.view.query) : finder_.recollect();
    sure_ = found.sure;
    return r_.purpose ? r_.remark(idle_thought() + found.thought, "answer", found.answer()) : found.answer();
  }

  /// The first sub-question, or the one that follows a history.
  std::string question() {
    if (!chain_) return r_.remark(idle_thought(), "question", std::string(r_.question));
    Reader reader = finder_.reader(*chain_);
    if (r_.view.has_history) reader.look(false);
    return r_.remark(idle_thought() + "I split the question.\n", "question", next_question(reader));
  }

  /// A query for the open question: the one shown, else the first step that is not settled, else the question itself.
  std::string search() {
    std::string text;
    if (r_.view.query || !chain_ || (r_.purpose->returns.empty() && !r_.view.has_history)) {
      text = query_for(r_.view.query.value_or(r_.question));
    } else {
      Reader reader = finder_.reader(*chain_);
      std::size_t open = 0;
      while (open < reader.steps() && (reader.see(open) || reader.recall(open))) ++open;
      text = query_for(open < reader.steps() ? wanted(reader, open) : chain_->question);
    }
    return r_.purpose->returns.empty() ? text : r_.remark(idle_thought(), r_.purpose->returns.front(), text);
  }

  /// The next step of a protocol with conclusions. First what is open is settled, from its documents, from memory, or
  /// by a search. Then comes the next question or query, and at the end the answer.
  std::string step() {
    const auto in_work = r_.view.query ? r_.view.query : r_.view.in_work;
    std::string thought = idle_thought();
    if (r_.wants("sub_answer") && (in_work || (!chain_ && !r_.wants("search") && !r_.wants("question")))) {
      const Finding found = finder_.settle(in_work.value_or(r_.question));
      if (!found.value && !r_.view.consulted && r_.wants("search"))
        return r_.reply(thought + "This has to be looked up.\n", "search", query_for(*in_work));
      sure_ = found.sure;
      return r_.reply(thought + found.thought + "This settles the question in work.\n", "sub_answer", found.sentence());
    }
    if (!chain_) return stranger(std::move(thought));
    Reader reader = finder_.reader(*chain_);
    const auto open =
        walk(reader, thought, [&](std::size_t k) { return std::max(reader.searches(k), reader.asked(k)); });
    if (!open && r_.wants("answer"))
      return r_.reply(thought + "That is enough to answer.\n", "answer", final_answer(reader));
    if (!open && r_.wants("sub_answer"))
      return r_.reply(thought, "sub_answer", statement(chain_->question) + final_answer(reader) + ".");
    const std::string next = open ? wanted(reader, *open) : chain_->question;
    thought += "Something is still missing.\n";
    const bool pending = r_.view.in_work && !r_.view.consulted;
    if (r_.wants("question") && !pending) return r_.reply(thought, "question", ask(next, r_.draws));
    return r_.reply(thought, "search", query_for(pending ? *r_.view.in_work : std::string_view(next)));
  }

  /// One sentence of a chain of thought: what is newly settled, or what must be known next. At the end the answer.
  std::string sentence() {
    if (!chain_) {
      sure_ = false;
      const bool stop = r_.wants("answer") && !r_.view.thoughts.empty();
      return stop ? r_.tagged("answer", "unknown")
                  : r_.tagged(r_.wants("thought") ? "thought" : "sub_answer", "I have never heard of this.");
    }
    const bool plan = r_.wants("thought");  // a plan states everything new
    std::string said;
    Reader reader = finder_.reader(*chain_);
    for (std::size_t k = 0; k < reader.steps() && !reader.answer(); ++k) {
      if (!reader.see(k) && !reader.recall(k)) {
        const std::string missing = need(reader.question(k));
        if (mentions(missing) < 2 && !r_.draws.happens("hallucinate", skills_.hallucinate, k)) {
          sure_ = false;
          return r_.tagged(plan ? "thought" : "sub_answer", said + missing);
        }
        reader.invent(k);
        sure_ = false;
      }
      said += news(reader, k);
      if (!plan && !said.empty()) {
        said.pop_back();
        return r_.tagged("sub_answer", said);
      }
    }
    if (r_.wants("answer")) return r_.reply(plan ? said : std::string(), "answer", final_answer(reader));
    return r_.tagged(plan ? "thought" : "sub_answer", statement(chain_->question) + final_answer(reader) + ".");
  }

  [[nodiscard]] std::string idle_thought() const { return idle(r_.draws, skills_.verbosity); }

  /// Settles step after step and states what is new. Returns the first step that needs a search, or nothing if all are
  /// settled. It does not invent a value at once where it can ask.
  template <class Tries>
  std::optional<std::size_t> walk(Reader& reader, std::string& thought, const Tries& tries) {
    for (std::size_t k = 0; k < reader.steps() && !reader.answer(); ++k) {
      if (!reader.see(k) && !reader.recall(k)) {
        const double made_up = r_.wants("question") ? 0 : skills_.hallucinate;
        if (tries(k) < 2 && !r_.draws.happens("hallucinate", made_up, k)) return k;
        reader.invent(k);
        sure_ = false;
      }
      thought += news(reader, k);
    }
    return std::nullopt;
  }
  /// The question of step k, or the whole question if the skill fails.
  [[nodiscard]] std::string wanted(const Reader& reader, std::size_t k) const {
    return r_.draws.succeeds("decompose", skills_.decompose, k) ? reader.question(k) : chain_->question;
  }
  std::string final_answer(const Reader& reader) {
    if (auto answer = reader.answer()) return *answer;
    sure_ = false;
    return reader.guess();
  }
  /// The reply to a question that the model does not know.
  std::string stranger(std::string thought) {
    thought += "I have never heard of this.\n";
    sure_ = false;
    const bool fresh = r_.view.documents() == 0 && r_.view.sub_questions.empty();
    if (fresh && r_.wants("question")) return r_.reply(thought, "question", std::string(r_.question));
    if (r_.view.documents() == 0 && r_.wants("search")) return r_.reply(thought, "search", std::string(r_.question));
    return r_.reply(thought, r_.wants("answer") ? "answer" : "sub_answer", "unknown");
  }
  /// A step that can be asked and is not yet known. If the skill fails: the whole question again, or another step.
  [[nodiscard]] std::string next_question(const Reader& reader) const {
    std::vector<std::size_t> open, ready;
    for (std::size_t k = 0; k < reader.steps(); ++k) {
      if (!reader.ready(k)) continue;
      ready.push_back(k);
      if (!reader.value(k)) open.push_back(k);
    }
    if (!r_.draws.succeeds("decompose", skills_.decompose)) {
      if (!chain_->options.empty() || (reader.steps() > 1 && r_.draws.pick("detour") % 2)) return chain_->question;
      return "What is known about " + reader.guess() + "?";
    }
    const auto& from = open.empty() ? ready : open;
    return ask(reader.question(from[r_.draws.wording("step", from.size())]), r_.draws);
  }
  [[nodiscard]] std::string query_for(std::string_view question) const {
    if (!knowledge_.chain(question) && !knowledge_.find(content(question))) return std::string(question);
    return query(question, r_.draws.succeeds("phrase", skills_.phrase), r_.draws);
  }
  /// The number of shown thoughts that contain this text.
  [[nodiscard]] std::ptrdiff_t mentions(std::string_view text) const {
    const auto& thoughts = r_.view.thoughts;
    return std::count_if(thoughts.begin(), thoughts.end(),
                         [&](std::string_view t) { return t.find(text) != std::string_view::npos; });
  }

  const Knowledge& knowledge_;
  const Skills& skills_;
  const Request& r_;
  Finder finder_;
  const Chain* chain_;
  bool sure_ = true;
};

}  // namespace espalier::sim
