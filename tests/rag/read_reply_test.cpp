#include <espalier/rag/parse.hpp>

#include <doctest/doctest.h>

namespace read_reply_test {

using namespace espalier;
using namespace espalier::rag;
using namespace espalier::rag::detail;

TEST_CASE("scores are numbers in the declared range, as many as declared, and nothing else") {
  const Protocol::ScoreForm percent{0, 100, 1}, pair{-1, 1, 2};
  CHECK(read_scores("85", percent) == std::vector<double>{85});
  CHECK(read_scores(" 7.5\n", percent) == std::vector<double>{7.5});
  CHECK(read_scores("+0", percent) == std::vector<double>{0});
  CHECK(read_scores("-0.25 , 1", pair) == std::vector<double>{-0.25, 1});
  for (const char* text :
       {"", "85/100", "about 7", "seven", "nan", "inf", "101", "-1", "8 5", "85%", "85,", ",85", "85, 3", "1e400"}) {
    CAPTURE(text);
    CHECK_FALSE(read_scores(text, percent));
  }
  CHECK_FALSE(read_scores("0.5", pair));
  CHECK_FALSE(read_scores("0.5, 1.01", pair));
}

TEST_CASE("a judge's reply without readable scores is no reply") {
  const Protocol protocol{"m", {{"judge", {}, {"score"}, {0, 1, 1}}}, {{"score", "<score>", "</score>"}}};
  const auto read = [&](const char* text) { return parse(ModelText(text), protocol, *protocol.purpose("judge")); };
  CHECK(read("Good. <score> 0.75 </score>")->content == "0.75");
  CHECK_FALSE(read("<score>7.5</score>"));
  CHECK_FALSE(read("<score>3/4</score>"));
}

TEST_CASE("a preference is two different positions, or none") {
  const auto is = [](std::string_view text, std::size_t better, std::size_t worse) {
    CAPTURE(text);
    const auto read = read_preference(text);
    REQUIRE(read);
    CHECK(read->better == better);
    CHECK(read->worse == worse);
  };
  is("2 over 1", 2, 1);
  is("  10   over 3\n", 10, 3);
  is("2over1", 2, 1);
  is("none", 0, 0);
  is(" None ", 0, 0);
  for (const char* text : {"", "over", "2", "2 over", "over 1", "2 over 2", "0 over 1", "1 over 0", "-1 over 2",
                           "1.5 over 2", "1 over 2.5", "1 over 2 over 3", "first over second", "85/100", "nan over 1",
                           "none at all", "nonexistent", "99999999999999999999999 over 1", "1 > 2"}) {
    CAPTURE(text);
    CHECK_FALSE(read_preference(text));
  }
}

TEST_CASE("verdicts and choices are told by their first word") {
  CHECK(read_verdict("Yes, it is.") == true);
  CHECK(read_verdict(" (no)") == false);
  CHECK_FALSE(read_verdict("perhaps"));
  CHECK(read_choice("(b) two") == 'B');
  CHECK_FALSE(read_choice("both"));
}

}  // namespace read_reply_test
