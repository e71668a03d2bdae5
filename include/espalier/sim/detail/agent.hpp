#pragma once

#include <espalier/sim/detail/finder.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::sim::detail {

/// Works on a question. From what a prompt shows it finds what is settled and what a competent agent would do next. It
/// says so in the role that fits best among those that the prompt wants.
class Agent {
 public:
  explicit Agent(const Request& request) : r_(request), finder_(request) {}

  /// True if the reply rests only on what was read or recalled.
  [[nodiscard]] bool sure() const { return sure_; }

  std::string operator()() {
    if (!r_.purpose) return answer();
    if (r_.purpose->returns.empty()) return search();
    const bool answers = r_.wants("answer"), concludes = r_.wants("sub_answer"), searches = r_.wants("search"),
               asks = r_.wants("question");
    const bool in_work = r_.view.query || r_.view.in_work;
    if (!searches && !asks && (r_.wants("thought") || (concludes && (answers || (r_.chain && !in_work)))))
      return sentence();
    if (concludes || (searches && (answers || asks))) return step();
    if (answers && asks) return terminate();
    return answers ? answer() : asks ? question() : search();
  }

 private:
  /// Stops with an answer or goes on with a sub-question. Only what the prompt shows counts.
  std::string terminate() {
    std::string thought;
    const auto ending = [&](std::string_view role, const std::string& text) {
      if (!r_.protocol->tag("reasoning")) return r_.reply(thought, role, text);
      thought.pop_back();
      return r_.tagged("reasoning", thought) + "\n" + r_.tagged(role, text);
    };
    if (!r_.chain) {
      const bool fresh = r_.view.sub_questions.empty();
      thought = (fresh ? need(r_.question) : conclusion("unknown")) + '\n';
      return fresh ? ending("question", std::string(r_.question)) : ending("answer", "unknown");
    }
    Reader reader = finder_.reader(*r_.chain);
    reader.look(false);
    for (std::size_t k = 0; k < reader.steps(); ++k) thought += news(reader, k);
    const bool stop = r_.draws.succeeds("stop", r_.skills.stop) == reader.answer().has_value();
    if (stop) {
      const std::string answer = final_answer(reader);
      thought = told(std::move(thought), conclusion(answer));
      return ending("answer", answer);
    }
    const auto [step, question] = next_question(reader);
    thought = told(std::move(thought), need(step));
    return ending("question", question);
  }

  /// The final answer, as far as it can be given.
  std::string answer() {
    const Finding found = r_.view.query ? finder_.settle(*r_.view.query) : finder_.recollect();
    sure_ = found.sure;
    return r_.purpose && !r_.whole("answer") ? found.thought + r_.tagged("answer", found.answer()) : found.answer();
  }

  /// The first sub-question, or the one that follows a history.
  std::string question() {
    if (!r_.chain) return r_.tagged("question", std::string(r_.question));
    Reader reader = finder_.reader(*r_.chain);
    if (r_.view.has_history) reader.look(false);
    return r_.tagged("question", next_question(reader).second);
  }

  /// A query for the open question: the one shown, else the first step that is not settled, else the question itself.
  std::string search() {
    std::string text;
    if (r_.view.query || !r_.chain || (r_.purpose->returns.empty() && !r_.view.has_history)) {
      text = query_for(r_.view.query.value_or(r_.question));
    } else {
      Reader reader = finder_.reader(*r_.chain);
      std::size_t open = 0;
      while (open < reader.steps() && (reader.see(open) || reader.recall(open))) ++open;
      text = query_for(open < reader.steps() ? wanted(reader, open) : r_.chain->question);
    }
    return r_.purpose->returns.empty() ? text : r_.tagged(r_.purpose->returns.front(), text);
  }

  /// The next step on the way to the answer. Where a protocol has conclusions, first what is open is settled, from its
  /// documents, from memory, or by a search. Then comes the next question or query, and at the end the answer.
  std::string step() {
    const auto in_work = r_.view.query ? r_.view.query : r_.view.in_work;
    if (r_.wants("sub_answer") && (in_work || !(r_.chain || r_.wants("search") || r_.wants("question")))) {
      const Finding found = finder_.settle(in_work.value_or(r_.question));
      if (!found.value && !r_.view.consulted && r_.wants("search"))
        return r_.reply(need(*in_work) + '\n', "search", query_for(*in_work));
      sure_ = found.sure;
      return r_.reply(found.sentence() + '\n', "sub_answer", found.sentence());
    }
    if (!r_.chain) return stranger();
    Reader reader = finder_.reader(*r_.chain);
    std::string thought;
    const auto open = walk(reader, thought);
    if (!open && r_.wants("answer")) {
      const std::string answer = final_answer(reader);
      return r_.reply(told(std::move(thought), conclusion(answer)), "answer", answer);
    }
    if (!open && r_.wants("sub_answer"))
      return r_.reply(told(thought, need(r_.chain->question)), "sub_answer", conclusion(final_answer(reader)));
    const std::string next = open ? wanted(reader, *open) : r_.chain->question;
    thought = told(std::move(thought), need(next));
    const bool pending = has_questions() && r_.view.in_work && !r_.view.consulted;
    if (r_.wants("question") && !pending) return r_.reply(thought, "question", ask(next, r_.draws));
    return r_.reply(thought, "search", query_for(pending ? *r_.view.in_work : std::string_view(next)));
  }

  /// One sentence of a chain of thought: what is newly settled, or what must be known next. At the end the answer.
  std::string sentence() {
    const bool plan = r_.wants("thought");  // a plan states everything new
    const std::string_view role = plan ? "thought" : "sub_answer";
    if (!r_.chain) {
      sure_ = false;
      const bool stop = r_.wants("answer") && !r_.view.thoughts.empty();
      return stop ? r_.tagged("answer", "unknown") : r_.tagged(role, need(r_.question));
    }
    std::string said;
    Reader reader = finder_.reader(*r_.chain);
    for (std::size_t k = 0; k < reader.steps() && !reader.answer(); ++k) {
      if (!reader.see(k) && !reader.recall(k)) {
        const std::string missing = need(reader.question(k));
        if (r_.view.mentions(missing) < 2 && !r_.draws.happens("hallucinate", r_.skills.hallucinate, k)) {
          sure_ = false;
          return r_.tagged(role, said + missing);
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
    return r_.tagged(role, conclusion(final_answer(reader)));
  }

  /// A thought. If there is none, `content` is said instead.
  static std::string told(std::string thought, const std::string& content) {
    return thought.empty() ? content + '\n' : thought;
  }
  [[nodiscard]] std::string conclusion(const std::string& answer) const {
    return statement(r_.chain ? std::string_view(r_.chain->question) : r_.question) + answer + ".";
  }
  /// True if the history may hold questions in work. A rollout without conclusions has none.
  [[nodiscard]] bool has_questions() const { return r_.wants("sub_answer") || r_.wants("question"); }
  /// Settles step after step and states what is new. Returns the first step that needs a search, or nothing if all are
  /// settled. It does not invent a value at once where it can ask.
  std::optional<std::size_t> walk(Reader& reader, std::string& thought) {
    for (std::size_t k = 0; k < reader.steps() && !reader.answer(); ++k) {
      if (!reader.see(k) && !reader.recall(k)) {
        const std::size_t tries = std::max(reader.searches(k), has_questions() ? reader.asked(k) : 0);
        const double made_up = r_.wants("question") ? 0 : r_.skills.hallucinate;
        if (tries < 2 && !r_.draws.happens("hallucinate", made_up, k)) return k;
        reader.invent(k);
        sure_ = false;
      }
      thought += news(reader, k);
    }
    return std::nullopt;
  }
  /// The question of step k, or the whole question if the skill fails.
  [[nodiscard]] std::string wanted(const Reader& reader, std::size_t k) const {
    return r_.draws.succeeds("decompose", r_.skills.decompose, k) ? reader.question(k) : r_.chain->question;
  }
  std::string final_answer(const Reader& reader) {
    if (auto answer = reader.answer()) return *answer;
    sure_ = false;
    return reader.guess();
  }
  /// The reply to a question that the model does not know: the question again until documents came, then "unknown".
  std::string stranger() {
    sure_ = false;
    const bool unread = r_.view.documents.empty();
    const bool asks = unread && r_.view.sub_questions.empty() && r_.wants("question");
    if (asks || (unread && r_.wants("search")))
      return r_.reply(need(r_.question) + '\n', asks ? "question" : "search", std::string(r_.question));
    return r_.reply(conclusion("unknown") + '\n', r_.wants("answer") ? "answer" : "sub_answer", "unknown");
  }
  /// A step to ask that is unknown, bare and as a sentence. If the skill fails: the whole question, or another step.
  [[nodiscard]] std::pair<std::string, std::string> next_question(const Reader& reader) const {
    std::vector<std::size_t> open, ready;
    for (std::size_t k = 0; k < reader.steps(); ++k) {
      if (!reader.ready(k)) continue;
      ready.push_back(k);
      if (!reader.value(k)) open.push_back(k);
    }
    if (!r_.draws.succeeds("decompose", r_.skills.decompose)) {
      const bool again = !r_.chain->options.empty() || (reader.steps() > 1 && r_.draws.pick("detour") % 2);
      const std::string text = again ? r_.chain->question : "What is known about " + reader.guess() + "?";
      return {text, text};
    }
    const auto& from = open.empty() ? ready : open;
    const std::string step = reader.question(from[r_.draws.wording("step", from.size())]);
    return {step, ask(step, r_.draws)};
  }
  [[nodiscard]] std::string query_for(std::string_view question) const {
    if (!r_.knowledge.chain(question) && !r_.knowledge.find(content(question))) return std::string(question);
    return query(question, r_.draws.succeeds("phrase", r_.skills.phrase), r_.draws);
  }

  const Request& r_;
  Finder finder_;
  bool sure_ = true;
};

}  // namespace espalier::sim::detail
