#include <espalier/sim/world.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace world_test {

using espalier::Hasher;
using espalier::Passage;
using espalier::sim::World;

namespace {

std::string digest(const World& world) {
  Hasher h;
  for (std::size_t i = 0; i < world.size(); ++i) {
    const Passage p = world.passage(i);
    h.add(p.id()).add(p.title()).add(p.text());
  }
  for (const auto& e : world.examples()) {
    h.add(e.question.id).add(e.question.text).add(e.type).add(std::uint64_t(e.hops));
    for (const auto& g : e.gold) h.add(g);
    for (const auto& s : e.chain) h.add(s.question).add(s.answer).add(s.support_title).add(s.support_id);
    for (const auto& t : e.supporting_titles) h.add(t);
  }
  return h.finish().hex();
}

std::size_t index_of(const std::string& id) { return std::stoul(id.substr(2)); }

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a world has the same bytes on every compiler and platform") {
  CHECK(digest(World({.passages = 60, .questions = 20, .seed = 7})) == "e03be8e527c1b340539ae557fcc8c15c");
  CHECK(digest(World({.passages = 60, .questions = 20, .seed = 8})) != "e03be8e527c1b340539ae557fcc8c15c");
}

TEST_CASE("passages do not depend on the questions, and may be asked for in any order") {
  const World few({.passages = 300, .questions = 1}), many({.passages = 300, .questions = 100, .max_hops = 2});
  for (std::size_t i = 300; i-- > 0;) CHECK(few.passage(i) == many.passage(i));
}

TEST_CASE("every entity has a name of its own, and stems are shared by near-duplicates") {
  for (std::size_t size : {50U, 3001U, 60'000U}) {
    CAPTURE(size);
    const World world({.passages = size, .questions = 0});
    std::set<std::string> titles, last_words;
    for (std::size_t i = 0; i < size; ++i) {
      const std::string title = world.passage(i).title();
      titles.insert(title);
      last_words.insert(title.substr(title.rfind(' ') + 1));
    }
    CHECK(titles.size() == size);
    CHECK(last_words.size() < size);
  }
}

TEST_CASE("a passage states its facts in three to seven sentences and names its subject") {
  const World world({.passages = 2000, .questions = 0});
  for (std::size_t i = 0; i < world.size(); ++i) {
    const Passage p = world.passage(i);
    CAPTURE(p.text());
    CHECK(index_of(p.id()) == i);
    CHECK(contains(p.text(), p.title()));
    const auto sentences = std::count(p.text().begin(), p.text().end(), '.');
    CHECK(sentences >= 3);
    CHECK(sentences <= 7);
  }
}

TEST_CASE("every gold answer stands literally in its passage and the chain leads to it") {
  for (std::uint64_t seed : {1U, 2U, 3U}) {
    const World world({.passages = 2000, .questions = 300, .seed = seed});
    REQUIRE(world.examples().size() == 300);
    std::set<std::string> texts, ids;
    std::size_t comparisons = 0, yes = 0, no = 0;
    std::vector<std::size_t> by_hops(5);
    for (const auto& e : world.examples()) {
      CAPTURE(e.question.text);
      texts.insert(e.question.text);
      ids.insert(e.question.id);
      REQUIRE(e.chain.size() == e.hops);
      REQUIRE(e.hops >= 1);
      REQUIRE(e.hops <= 4);
      ++by_hops[e.hops];
      for (std::size_t k = 0; k < e.chain.size(); ++k) {
        const auto& step = e.chain[k];
        const Passage p = world.passage(index_of(step.support_id));
        CHECK(p.title() == step.support_title);
        CHECK(contains(p.text(), step.answer));
        CHECK(std::count(e.supporting_titles.begin(), e.supporting_titles.end(), step.support_title) == 1);
        const std::size_t mark = step.question.find('#');
        if (mark == std::string::npos) {
          CHECK(contains(step.question, step.support_title));
          CHECK(contains(e.question.text, step.support_title));
        } else {  // the passage is the one of the entity that an earlier step found
          const std::size_t earlier = static_cast<std::size_t>(step.question[mark + 1] - '1');
          REQUIRE(earlier < k);
          CHECK(e.chain[earlier].answer == step.support_title);
        }
      }
      REQUIRE(!e.gold.empty());
      if (contains(e.type, "comparison")) {
        ++comparisons;
        yes += e.gold[0] == "yes";
        no += e.gold[0] == "no";
        if (e.gold[0] == "yes") CHECK(e.chain[0].answer == e.chain[1].answer);
        else if (e.gold[0] == "no") CHECK(e.chain[0].answer != e.chain[1].answer);
        else CHECK((e.gold[0] == e.chain[0].support_title || e.gold[0] == e.chain[1].support_title));
      } else {
        CHECK(e.gold[0] == e.chain.back().answer);
        CHECK_FALSE(contains(e.question.text, e.gold[0]));
      }
    }
    CHECK(texts.size() == 300);
    CHECK(ids.size() == 300);
    CHECK(comparisons > 40);  // a fifth, 60 expected
    CHECK(comparisons < 85);
    CHECK(yes > 3);
    CHECK(no > 3);
    for (std::size_t hops = 1; hops <= 4; ++hops) CHECK(by_hops[hops] > 30);
  }
}

TEST_CASE("max_hops bounds the chains") {
  for (unsigned hops : {1U, 2U, 3U}) {
    const World world({.passages = 500, .questions = 80, .max_hops = hops});
    std::uint32_t longest = 0;
    for (const auto& e : world.examples()) longest = std::max(longest, e.hops);
    CHECK(longest == hops);
  }
}

TEST_CASE("a bad world option is named with its value and the allowed range") {
  CHECK_THROWS_WITH_AS(World({.passages = 3}), "option 'passages' is 3, allowed: 50 ... 10000000",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(World({.max_hops = 5}), "option 'max_hops' is 5, allowed: 1 ... 4", std::invalid_argument);
  CHECK_THROWS_WITH_AS(World({.passages = 50, .questions = 100'000, .max_hops = 1}),
                       "option 'questions' is 100000, allowed: fewer questions, or more passages",
                       std::invalid_argument);
}

}  // namespace world_test
