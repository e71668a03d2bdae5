#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/seed.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/sim/detail/graph.hpp>
#include <espalier/sim/detail/relations.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace espalier::sim::detail {

/// `prefix` and a number with at least seven digits.
inline std::string numbered(std::string_view prefix, std::size_t number) {
  const std::string digits = std::to_string(number);
  return std::string(prefix) + std::string(digits.size() < 7 ? 7 - digits.size() : 0, '0') + digits;
}

inline std::string passage_id(std::size_t index) { return numbered("w-", index); }

/// Draws questions with gold chains from a graph.
class QuestionWriter {
 public:
  QuestionWriter(const Graph& graph, unsigned max_hops, Seed seed)
      : graph_(graph), max_hops_(max_hops), random_(seed) {}

  /// Draws one question. It has no chain if the draw failed (two equal entities, a tie), and another must be drawn.
  rag::Example draw() {
    if (max_hops_ < 2 || random_.below(5) != 0) return composition(1 + random_.below(max_hops_));
    if (max_hops_ == 4 && random_.below(3) == 0) return bridge_comparison();
    return comparison();
  }

 private:
  /// "Who is the spouse of the director of X?": every step asks about the answer before it.
  rag::Example composition(unsigned hops) {
    rag::Example example;
    Entity subject = graph_.entity(random_.below(static_cast<std::uint32_t>(graph_.size())));
    std::string inner = graph_.name(subject), answer;
    std::vector<Entity> path = {subject};
    for (unsigned hop = 1; hop <= hops; ++hop) {
      const Relation& relation =
          pick([&](const Relation& r) { return r.subject == subject.kind && (hop == hops || is_entity(r.object)); });
      const Object object = graph_.object(subject, relation);
      add_step(example, relation, subject, hop == 1 ? graph_.name(subject) : "#" + std::to_string(hop - 1), object);
      if (hop == hops) {
        const std::string_view wh = relation.object == Kind::person ? "Who is " : "What is ";
        example.question.text =
            random_.below(2) ? fill(relation.ask, inner) : std::string(wh) + fill(relation.noun, inner) + "?";
        gold(example, object.text, relation.object);
      } else {
        inner = fill(relation.noun, inner);
      }
      if (!object.entity) break;
      subject = *object.entity;
      if (std::find(path.begin(), path.end(), subject) != path.end()) return {};
      path.push_back(subject);
    }
    example.type = hops == 1 ? "single" : "composition";
    return example;
  }

  /// Compares two independent facts. The answer is yes, no, or the entity with the smaller value.
  rag::Example comparison() {
    const bool same = random_.below(2) == 0;
    const auto& relation = pick([&](const Relation& r) { return !r.compared.empty() && is_time(r.object) != same; });
    const Kind kind = relation.subject;
    const Entity a = any(kind);
    const bool want_yes = random_.below(2) == 0;
    Entity b = any(kind);
    for (int tries = 0; same && want_yes && tries < 200 && !(a != b && equal(a, b, relation)); ++tries) b = any(kind);
    if (a == b) return {};
    rag::Example example;
    example.type = "comparison";
    const Object of_a = graph_.object(a, relation), of_b = graph_.object(b, relation);
    add_step(example, relation, a, graph_.name(a), of_a);
    add_step(example, relation, b, graph_.name(b), of_b);
    if (same) {
      example.question.text = fill(relation.compared, graph_.name(a), graph_.name(b));
      example.gold = {of_a.text == of_b.text ? "yes" : "no"};
      return example;
    }
    return earlier(std::move(example), relation.compared, a, b, of_a, of_b);
  }

  /// Compares the ends of two chains of two steps.
  rag::Example bridge_comparison() {
    const auto born = std::ranges::find_if(relations, [](const Relation& r) { return r.object == Kind::date; });
    const bool film = random_.below(2) == 0;
    const Kind kind = film ? Kind::film : Kind::book;
    const auto made = std::find_if(relations.begin(), relations.end(),
                                   [&](const Relation& r) { return r.subject == kind && r.object == Kind::person; });
    const Entity a = any(kind), b = any(kind);
    const Object by_a = graph_.object(a, *made), by_b = graph_.object(b, *made);
    if (a == b || by_a.entity == by_b.entity) return {};
    const Object of_a = graph_.object(*by_a.entity, *born), of_b = graph_.object(*by_b.entity, *born);
    rag::Example example;
    example.type = "bridge_comparison";
    add_step(example, *made, a, graph_.name(a), by_a);
    add_step(example, *made, b, graph_.name(b), by_b);
    add_step(example, *born, *by_a.entity, "#1", of_a);
    add_step(example, *born, *by_b.entity, "#2", of_b);
    return earlier(std::move(example),
                   film ? "Which film has the director who was born first, {s} or {o}?"
                        : "Which book has the author who was born first, {s} or {o}?",
                   a, b, of_a, of_b);
  }

  rag::Example earlier(rag::Example example, std::string_view wording, Entity a, Entity b, const Object& of_a,
                       const Object& of_b) {
    if (of_a.order == of_b.order) return {};
    const Entity first = of_a.order < of_b.order ? a : b;
    example.question.text = fill(wording, graph_.name(a), graph_.name(b));
    gold(example, graph_.name(first), first.kind);
    return example;
  }

  void add_step(rag::Example& example, const Relation& relation, Entity subject, std::string_view shown,
                const Object& object) {
    const std::size_t index = graph_.index(subject);
    example.chain.push_back({fill(relation.ask, shown), object.text, graph_.name(subject), passage_id(index)});
    const std::string& title = example.chain.back().support_title;
    auto& titles = example.supporting_titles;
    if (std::find(titles.begin(), titles.end(), title) == titles.end()) titles.push_back(title);
    example.hops = static_cast<std::uint32_t>(example.chain.size());
  }
  /// Sets the answer, and sometimes adds a shorter or reordered form as an alias.
  void gold(rag::Example& example, const std::string& answer, Kind kind) {
    example.gold = {answer};
    if (random_.below(3) != 0) return;
    const std::size_t first = answer.find(' '), last = answer.rfind(' ');
    if (kind == Kind::date)
      example.gold.push_back(answer.substr(first + 1, last - first - 1) + " " + answer.substr(0, first) + ", " +
                             answer.substr(last + 1));
    if (kind == Kind::person) example.gold.push_back(answer.substr(0, 1) + "." + answer.substr(first));
    if (kind == Kind::film || kind == Kind::book) example.gold.push_back(answer.substr(4));
    if (kind == Kind::river) example.gold.push_back("the " + answer);
  }

  [[nodiscard]] static bool is_entity(Kind kind) { return std::size_t(kind) < entity_kinds; }
  [[nodiscard]] bool equal(Entity a, Entity b, const Relation& r) const {
    return graph_.object(a, r).text == graph_.object(b, r).text;
  }
  Entity any(Kind kind) { return {kind, random_.below(graph_.count(kind))}; }
  const Relation& pick(const auto& fits) {
    std::vector<const Relation*> options;
    for (const Relation& r : relations)
      if (fits(r)) options.push_back(&r);
    return *options[random_.below(static_cast<std::uint32_t>(options.size()))];
  }

  const Graph& graph_;
  unsigned max_hops_;
  Random random_;
};

/// `count` questions with different texts. Throws std::invalid_argument if the graph is too small.
inline std::vector<rag::Example> questions(const Graph& graph, std::size_t count, unsigned max_hops, Seed seed) {
  QuestionWriter writer(graph, max_hops, seed);
  std::vector<rag::Example> examples;
  std::unordered_set<std::string> seen;
  for (std::size_t misses = 0; examples.size() < count;) {
    rag::Example example = writer.draw();
    if (example.chain.empty() || !seen.insert(example.question.text).second) {
      if (++misses > 1000 + 20 * count) bad_option("questions", count, "fewer questions, or more passages");
      continue;
    }
    example.question.id = numbered("wq-", examples.size());
    examples.push_back(std::move(example));
  }
  return examples;
}

}  // namespace espalier::sim::detail
