#pragma once

#include <espalier/rag/render.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace espalier::sim::detail {

/// Kinds of entities in the generated world. The last four are plain values without a passage.
enum class Kind : std::uint8_t { country, city, river, company, person, film, book, date, year, occupation, language };
inline constexpr std::size_t entity_kinds = 7;

/// True for values that can be compared as earlier or later.
constexpr bool is_time(Kind kind) { return kind == Kind::date || kind == Kind::year; }

/// One relation of the world and its wordings. {s} stands for the subject, {o} for the object.
struct Relation {
  Kind subject;
  Kind object;
  std::string_view noun;                    ///< "the director of {s}"
  std::string_view ask;                     ///< "Who directed {s}?"
  std::string_view plain, turned, adorned;  ///< how a passage states the fact
  std::string_view compared = {};  ///< of two subjects {s} and {o}: which is earlier, or else whether it is the same

  /// One of the three sentences of passages.
  [[nodiscard]] constexpr std::string_view sentence(std::uint32_t which) const {
    return which == 0 ? plain : which == 1 ? turned : adorned;
  }
};

inline constexpr auto relations = [] {
  using enum Kind;
  return std::array<Relation, 18>{{
      {country, city, "the capital of {s}", "What is the capital of {s}?", "The capital of {s} is {o}.",
       "{s} is governed from its capital, {o}.", "The parliament of {s} sits in the capital {o}."},
      {country, language, "the official language of {s}", "What is the official language of {s}?",
       "The official language of {s} is {o}.", "Most people of {s} speak {o}, its official language.",
       "{o} is the official language of {s}."},
      {city, country, "the country where {s} is located", "In which country is {s} located?", "{s} is a city in {o}.",
       "{s} is located in the east of the country {o}.", "The city of {s} is located in {o}.",
       "Are {s} and {o} located in the same country?"},
      {city, river, "the river that flows through {s}", "Which river flows through {s}?", "The {o} flows through {s}.",
       "{s} stands on both banks of the {o}.", "The old bridge of {s} crosses the {o}, its only river.",
       "Does the same river flow through {s} and {o}?"},
      {river, country, "the country where {s} rises", "In which country does {s} rise?", "The {s} rises in {o}.",
       "The {s} is a river whose springs rise in {o}.",
       "The source of the {s} is in the hills of {o}, where it rises."},
      {company, city, "the city where {s} is headquartered", "Where is {s} headquartered?",
       "{s} is headquartered in {o}.", "The company {s} has its headquarters in {o}.",
       "From its headquarters in {o}, {s} runs twelve plants.", "Are {s} and {o} headquartered in the same city?"},
      {company, person, "the founder of {s}", "Who founded {s}?", "{s} was founded by {o}.",
       "{o} founded {s} in a rented workshop.", "The founder of {s} was {o}."},
      {person, occupation, "the occupation of {s}", "What is the occupation of {s}?",
       "{s} is known as a {o} by occupation.", "{s} worked as a {o}.", "By occupation {s} was a {o}.",
       "Do {s} and {o} have the same occupation?"},
      {person, date, "the date of birth of {s}", "When was {s} born?", "{s} was born on {o}.",
       "The birth of {s} is recorded on {o}.", "{s} came into the world, born on {o}.",
       "Who was born first, {s} or {o}?"},
      {person, city, "the place of birth of {s}", "In which city was {s} born?", "The place of birth of {s} is {o}.",
       "{s} was born in the city of {o}.", "{s} grew up in {o}, the city of birth."},
      {person, person, "the spouse of {s}", "Who is the spouse of {s}?", "{s} is married to {o}.",
       "The spouse of {s} is {o}.", "{s} and {o} have been married for years; each is the other's only spouse."},
      {person, company, "the employer of {s}", "Which company employs {s}?", "The employer of {s} is {o}.",
       "{s} works for the company {o}.", "The company {o} employs {s}.", "Do {s} and {o} have the same employer?"},
      {film, person, "the director of {s}", "Who directed {s}?", "{s} is a film directed by {o}.",
       "The director of {s} is {o}.", "{o} directed the film {s}."},
      {film, person, "the star of {s}", "Who starred in {s}?", "{s} stars {o} in the leading role.",
       "The star of {s} is {o}.", "{o} starred in {s} and won a prize for it."},
      {film, year, "the release year of {s}", "In which year was {s} released?", "{s} was released in {o}.",
       "The release of {s} came in the year {o}.", "In {o} the film {s} was released.",
       "Which film was released first, {s} or {o}?"},
      {book, person, "the author of {s}", "Who wrote {s}?", "{s} is a book written by {o}.",
       "The author of {s} is {o}.", "{o} wrote {s} in two winters."},
      {book, year, "the publication year of {s}", "In which year was {s} published?", "{s} was published in {o}.",
       "The publication of {s} came in the year {o}.", "In {o} the book {s} was published.",
       "Which book was published first, {s} or {o}?"},
      {book, city, "the city where {s} is set", "In which city is {s} set?", "{s} is set in the city of {o}.",
       "The story of {s} is set in {o}.", "{o} is the city in which {s} is set."},
  }};
}();

/// The wording with its subject and object filled in.
inline std::string fill(std::string_view wording, std::string_view subject, std::string_view object = {}) {
  std::string text;
  rag::detail::fill(text, wording, [&](std::string_view slot) {
    text += slot == "s" ? subject : object;
    return true;
  });
  return text;
}

}  // namespace espalier::sim::detail
