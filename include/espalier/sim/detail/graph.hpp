#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/sim/detail/relations.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace espalier::sim::detail {

/// A pseudo-random permutation of [0, size), the same on every platform. index < size <= 2^62.
inline std::uint64_t permute(std::uint64_t index, std::uint64_t size, std::uint64_t key) {
  unsigned half = 1;
  while ((std::uint64_t(1) << (2 * half)) < size) ++half;
  const std::uint64_t mask = (std::uint64_t(1) << half) - 1;
  do {  // a Feistel network over 2 * half bits, repeated until the result is below size
    std::uint64_t left = index >> half, right = index & mask;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (espalier::detail::mix64(right ^ espalier::detail::mix64(key + round)) & mask);
      left = right;
      right = next;
    }
    index = left << half | right;
  } while (index >= size);
  return index;
}

/// A word of syllables with a consonant at the end. One-to-one in index < 80^syllables * 8 for a number of syllables.
inline std::string word(std::uint64_t index, unsigned syllables) {
  static constexpr std::string_view onsets[] = {"b", "d", "f", "g", "k", "l", "m",  "n",
                                                "p", "r", "s", "t", "v", "z", "br", "th"};
  static constexpr std::string_view vowels = "aeiou";
  static constexpr std::string_view codas = "lmnrstkd";
  std::string text;
  for (unsigned i = 0; i < syllables; ++i, index /= 80) {
    text += onsets[index % 80 / 5];
    text += vowels[index % 5];
  }
  text += codas[index % 8];
  text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

inline constexpr std::uint64_t words_of_two = 80 * 80 * 8;

/// A name in two parts: a stem and one of a few affixes. Stems repeat, so most names have near-duplicates.
struct NameParts {
  std::string stem;
  std::uint64_t affix;
};
/// The parts of a unique name, one of `count` of a kind. A pure function of its arguments.
inline NameParts name_parts(std::uint64_t ordinal, std::uint64_t count, std::uint64_t affixes, std::uint64_t stem_share,
                            std::uint64_t key) {
  std::uint64_t stems = count / stem_share + 8;
  const bool few = stems <= 20'000;
  while (stems * affixes < count) stems *= 2;
  const std::uint64_t place = permute(ordinal, stems * affixes, key);
  const std::uint64_t words = few ? words_of_two : words_of_two * 80;
  return {word(permute(place / affixes, words, key + 1), few ? 2 : 3), place % affixes};
}

/// An entity of the world: its kind and its number within its kind.
struct Entity {
  Kind kind = Kind::country;
  std::uint32_t ordinal = 0;
  friend bool operator==(const Entity&, const Entity&) = default;
};

/// The object of a fact: a text, and the entity or the number behind it.
struct Object {
  std::string text;
  std::optional<Entity> entity;
  std::uint32_t order = 0;  ///< orders dates and years, 0 for other kinds
};

/// A knowledge graph that is computed, not stored. Every fact is a function of (seed, subject, relation).
class Graph {
 public:
  Graph(std::size_t entities, std::uint64_t seed) : seed_(espalier::detail::mix64(seed)) {
    const auto share = [&](std::size_t percent) { return static_cast<std::uint32_t>(entities * percent / 100); };
    counts_ = {std::clamp(share(2), 4U, 200U), share(20), share(4), share(10), share(38) & ~1U, share(14), 0};
    counts_[std::size_t(Kind::book)] = static_cast<std::uint32_t>(entities - size());
  }

  [[nodiscard]] std::size_t size() const { return std::accumulate(counts_.begin(), counts_.end(), std::size_t(0)); }
  [[nodiscard]] std::uint32_t count(Kind kind) const { return counts_[std::size_t(kind)]; }
  [[nodiscard]] Entity entity(std::size_t index) const {
    std::size_t kind = 0;
    while (index >= counts_[kind]) index -= counts_[kind++];
    return {Kind(kind), static_cast<std::uint32_t>(index)};
  }
  [[nodiscard]] std::size_t index(Entity e) const {
    std::size_t first = 0;
    for (std::size_t kind = 0; kind < std::size_t(e.kind); ++kind) first += counts_[kind];
    return first + e.ordinal;
  }

  /// The entity's unique name.
  [[nodiscard]] std::string name(Entity e) const {
    static constexpr std::string_view countries[] = {"ia", "land"};
    static constexpr std::string_view cities[] = {"ton", "ford", "burg", "haven", "mouth"};
    static constexpr std::string_view rivers[] = {" River", " Water"};
    static constexpr std::string_view companies[] = {" Motors", " Foods", " Systems", " Textiles", " Press", " Mills"};
    static constexpr std::string_view adjectives[] = {"Silent", "Golden",  "Broken", "Hidden", "Distant", "Burning",
                                                      "Hollow", "Crimson", "Frozen", "Gentle", "Last",    "Second"};
    static constexpr std::string_view nouns[] = {"Lantern", "Garden", "Shadow", "Orchard", "Harbour", "Letters",
                                                 "Mirror",  "Winter", "Songs",  "Keeper",  "Bridge",  "Map"};
    const auto parts = [&](std::uint64_t affixes, std::uint64_t share) {
      return name_parts(e.ordinal, count(e.kind), affixes, share, seed_ + std::uint64_t(e.kind) * 8);
    };
    const auto ending_in = [&](std::span<const std::string_view> affixes, std::uint64_t share) {
      const NameParts p = parts(affixes.size(), share);
      return p.stem + std::string(affixes[p.affix]);
    };
    const auto title = [&](std::span<const std::string_view> affixes, const char* link) {
      const NameParts p = parts(affixes.size(), 3);
      return "The " + std::string(affixes[p.affix]) + link + p.stem;
    };
    if (e.kind == Kind::country) return ending_in(countries, 2);
    if (e.kind == Kind::city) return ending_in(cities, 3);
    if (e.kind == Kind::river) return ending_in(rivers, 2);
    if (e.kind == Kind::company) return ending_in(companies, 3);
    if (e.kind == Kind::film) return title(adjectives, " ");
    if (e.kind == Kind::book) return title(nouns, " of ");
    const NameParts p = parts(300, 6);
    return word(permute(p.affix, words_of_two, seed_), 2) + " " + p.stem;
  }

  /// The object of `relation` for `subject`. The subject must be of the relation's kind.
  [[nodiscard]] Object object(Entity subject, const Relation& relation) const {
    const auto number = static_cast<std::uint64_t>(&relation - relations.data());
    const std::uint64_t draw = espalier::detail::mix64(espalier::detail::mix64(seed_ ^ index(subject)) + number);
    const auto entity = [&](std::uint64_t ordinal) {
      const Entity e{relation.object, static_cast<std::uint32_t>(ordinal)};
      return Object{name(e), e};
    };
    if (relation.object == Kind::date) return date(draw);
    if (relation.object == Kind::year)
      return {std::to_string(1890 + draw % 130), std::nullopt, static_cast<std::uint32_t>(1890 + draw % 130)};
    if (relation.object == Kind::occupation)
      return {std::string(occupations[draw % std::size(occupations)]), std::nullopt};
    if (relation.object == Kind::language) return {word(draw % words_of_two, 2) + "ish", std::nullopt};
    if (relation.subject == Kind::country) return entity(subject.ordinal);  // capitals are the first cities
    if (relation.subject == Kind::city && relation.object == Kind::country && subject.ordinal < count(Kind::country))
      return entity(subject.ordinal);
    if (relation.subject == Kind::person && relation.object == Kind::person)
      return entity(subject.ordinal ^ 1U);  // spouses are pairs
    return entity(draw % count(relation.object));
  }

 private:
  static constexpr std::string_view occupations[] = {"painter",  "surgeon", "botanist",  "composer", "lawyer",
                                                     "sculptor", "pilot",   "historian", "chemist",  "photographer",
                                                     "banker",   "poet",    "geologist", "violinist"};
  static constexpr std::string_view months[] = {"January", "February", "March",     "April",   "May",      "June",
                                                "July",    "August",   "September", "October", "November", "December"};
  static Object date(std::uint64_t draw) {
    const std::uint64_t year = 1880 + draw % 110, month = (draw >> 16) % 12, day = 1 + (draw >> 32) % 28;
    return {std::to_string(day) + " " + std::string(months[month]) + " " + std::to_string(year), std::nullopt,
            static_cast<std::uint32_t>((year * 12 + month) * 31 + day)};
  }
  std::uint64_t seed_;
  std::array<std::uint32_t, entity_kinds> counts_{};
};

}  // namespace espalier::sim::detail
