#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/seed.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/rag/question.hpp>
#include <espalier/sim/detail/graph.hpp>
#include <espalier/sim/detail/questions.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::sim {

/// A generated knowledge graph with passages and multi-hop questions. The same options give the same bytes on every
/// platform. Passages are made on request. Only questions are kept. Throws std::invalid_argument for a bad option.
class World {
 public:
  struct Options {
    std::size_t passages = 2000;  ///< one per entity, 50 ... 10,000,000
    std::size_t questions = 100;  ///< all different
    std::uint64_t seed = 1;
    unsigned max_hops = 4;  ///< longest chain, 1 ... 4
  };

  World() : World(Options()) {}
  explicit World(Options options) : options_(checked(options)), graph_(options.passages, options.seed) {
    examples_ = detail::questions(graph_, options.questions, options.max_hops, Seed(options.seed).purpose("questions"));
  }

  [[nodiscard]] std::size_t size() const { return options_.passages; }
  [[nodiscard]] const std::vector<rag::Example>& examples() const { return examples_; }

  /// The passage that settles a step of an example's chain.
  [[nodiscard]] Passage support(const rag::ChainStep& step) const {
    return passage(std::stoul(step.support_id.substr(2)));
  }

  /// The passage of entity `i` < size(), titled with its name. It states every fact in one sentence, with some filler.
  [[nodiscard]] Passage passage(std::size_t i) const {
    const detail::Entity subject = graph_.entity(i);
    Random random(Seed(options_.seed).purpose("passage").child(i));
    const std::string name = graph_.name(subject);
    std::string text;
    // one filler sentence between the facts
    bool aside = subject.kind == detail::Kind::river || (subject.kind != detail::Kind::person && random.below(2) == 0);
    for (const detail::Relation& relation : detail::relations) {
      if (relation.subject != subject.kind) continue;
      if (!text.empty()) text += ' ';
      text += detail::fill(relation.sentence(random.below(3)), name, graph_.object(subject, relation).text);
      if (std::exchange(aside, false)) (text += ' ') += filler(subject.kind, random.below(3));
    }
    (text += ' ') += filler(subject.kind, 3 + random.below(3));
    return Passage(detail::passage_id(i), name, std::move(text));
  }

 private:
  static Options checked(const Options& options) {
    if (options.passages < 50 || options.passages > 10'000'000)
      bad_option("passages", options.passages, "50 ... 10000000");
    if (options.max_hops < 1 || options.max_hops > 4) bad_option("max_hops", options.max_hops, "1 ... 4");
    return options;
  }
  static std::string_view filler(detail::Kind kind, std::uint32_t which) {
    using Sentences = std::array<std::string_view, 6>;
    static constexpr Sentences places = {"Visitors come mostly in the dry months.",
                                         "The winters are mild and the summers long.",
                                         "Its markets are known for wool and dried fruit.",
                                         "A small museum keeps the oldest maps.",
                                         "Rail service reached the area late.",
                                         "The local council publishes a yearly almanac."};
    static constexpr Sentences people = {"Letters from those years are kept in a private archive.",
                                         "Friends describe a patient and careful worker.",
                                         "An interview was printed in a regional paper.",
                                         "A scholarship bears the name today.",
                                         "Little is known of the early years.",
                                         "Several prizes followed late in life."};
    static constexpr Sentences works = {
        "Critics were divided at first.", "A restored edition appeared much later.", "The music was praised abroad.",
        "It found its public slowly.",    "An early draft had a different ending.",  "School groups still discuss it."};
    static constexpr Sentences firms = {
        "Its accounts are published in spring.",     "A strike once closed the main hall for a month.",
        "The firm trains forty apprentices a year.", "Exports make up half of the sales.",
        "The sign above the gate is protected.",     "It supports a local orchestra."};
    using enum detail::Kind;
    if (kind == person) return people[which];
    if (kind == company) return firms[which];
    return kind == film || kind == book ? works[which] : places[which];
  }

  Options options_;
  detail::Graph graph_;
  std::vector<rag::Example> examples_;
};

}  // namespace espalier::sim
