#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/sim/detail/names.hpp>
#include <espalier/sim/detail/relations.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace espalier::sim::detail {

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
    std::uint32_t total = 0;
    for (std::uint32_t count : counts_) total += count;
    counts_[std::size_t(Kind::book)] = static_cast<std::uint32_t>(entities) - total;
  }

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
    const auto parts = [&](std::uint64_t affixes, std::uint64_t share) {
      return NameSpace(count(e.kind), affixes, share, seed_ + std::uint64_t(e.kind) * 8).parts(e.ordinal);
    };
    static constexpr std::array<std::string_view, 2> countries = {"ia", "land"};
    static constexpr std::array<std::string_view, 5> cities = {"ton", "ford", "burg", "haven", "mouth"};
    static constexpr std::array<std::string_view, 2> rivers = {" River", " Water"};
    static constexpr std::array<std::string_view, 6> companies = {" Motors",   " Foods", " Systems",
                                                                  " Textiles", " Press", " Mills"};
    static constexpr std::array<std::string_view, 12> adjectives = {"Silent",  "Golden",  "Broken", "Hidden",
                                                                    "Distant", "Burning", "Hollow", "Crimson",
                                                                    "Frozen",  "Gentle",  "Last",   "Second"};
    static constexpr std::array<std::string_view, 12> nouns = {"Lantern", "Garden",  "Shadow", "Orchard",
                                                               "Harbour", "Letters", "Mirror", "Winter",
                                                               "Songs",   "Keeper",  "Bridge", "Map"};
    switch (e.kind) {
      case Kind::country: {
        const auto p = parts(2, 2);
        return p.stem + std::string(countries[p.affix]);
      }
      case Kind::city: {
        const auto p = parts(5, 3);
        return p.stem + std::string(cities[p.affix]);
      }
      case Kind::river: {
        const auto p = parts(2, 2);
        return p.stem + std::string(rivers[p.affix]);
      }
      case Kind::company: {
        const auto p = parts(6, 3);
        return p.stem + std::string(companies[p.affix]);
      }
      case Kind::person: {
        const auto p = parts(300, 6);
        return word(permute(p.affix, words_of_two, seed_), 2) + " " + p.stem;
      }
      case Kind::film: {
        const auto p = parts(12, 3);
        return "The " + std::string(adjectives[p.affix]) + " " + p.stem;
      }
      default: {
        const auto p = parts(12, 3);
        return "The " + std::string(nouns[p.affix]) + " of " + p.stem;
      }
    }
  }

  /// The object of `relation` for `subject`. The subject must be of the relation's kind.
  [[nodiscard]] Object object(Entity subject, const Relation& relation) const {
    const auto number = static_cast<std::uint64_t>(&relation - relations.data());
    const std::uint64_t draw = espalier::detail::mix64(espalier::detail::mix64(seed_ ^ index(subject)) + number);
    const auto entity = [&](std::uint64_t ordinal) {
      const Entity e{relation.object, static_cast<std::uint32_t>(ordinal)};
      return Object{name(e), e};
    };
    switch (relation.object) {
      case Kind::date:
        return date(draw);
      case Kind::year:
        return {std::to_string(1890 + draw % 130), std::nullopt, static_cast<std::uint32_t>(1890 + draw % 130)};
      case Kind::occupation:
        return {std::string(occupations[draw % occupations.size()]), std::nullopt};
      case Kind::language:
        return {word(draw % words_of_two, 2) + "ish", std::nullopt};
      default:
        break;
    }
    if (relation.subject == Kind::country) return entity(subject.ordinal);  // capitals are the first cities
    if (relation.subject == Kind::city && relation.object == Kind::country && subject.ordinal < count(Kind::country))
      return entity(subject.ordinal);
    if (relation.subject == Kind::person && relation.object == Kind::person)
      return entity(subject.ordinal ^ 1U);  // spouses are pairs
    return entity(draw % count(relation.object));
  }

 private:
  static constexpr std::array<std::string_view, 14> occupations = {
      "painter",   "surgeon", "botanist",     "composer", "lawyer", "sculptor",  "pilot",
      "historian", "chemist", "photographer", "banker",   "poet",   "geologist", "violinist"};
  static constexpr std::array<std::string_view, 12> months = {"January",   "February", "March",    "April",
                                                              "May",       "June",     "July",     "August",
                                                              "September", "October",  "November", "December"};
  static Object date(std::uint64_t draw) {
    const std::uint64_t year = 1880 + draw % 110, month = (draw >> 16) % 12, day = 1 + (draw >> 32) % 28;
    return {std::to_string(day) + " " + std::string(months[month]) + " " + std::to_string(year), std::nullopt,
            static_cast<std::uint32_t>((year * 12 + month) * 31 + day)};
  }
  std::uint64_t seed_;
  std::array<std::uint32_t, entity_kinds> counts_{};
};

}  // namespace espalier::sim::detail
