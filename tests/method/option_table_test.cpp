#include <espalier/method/decex/face.hpp>
#include <espalier/method/option_table.hpp>
#include <espalier/method/registry.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <vector>

namespace option_table_test {

using namespace espalier;

TEST_CASE("options are set from text, shown as JSON and refused by name") {
  enum class Mode : std::uint8_t { slow, fast };
  std::uint32_t k = 3;
  double t = 0.5;
  bool flag = false;
  Mode mode = Mode::slow;
  std::string name = "x";
  method::OptionTable table;
  table.add("k", k, "samples", method::Range::at_least(1))
      .add("t", t, "a rate", method::Range::between(0, 1))
      .add("flag", flag, "on or off");
  table.add("mode", mode, "how", {"slow", "fast"}).add("name", name, "who", "any text");
  CHECK(table.json() == R"({"k":3,"t":0.5,"flag":false,"mode":"slow","name":"x"})");
  table.set("k", "5");
  table.set("t", "0.25");
  table.set("flag", "true");
  table.set("mode", "fast");
  table.set("name", "a \"b\"");
  CHECK(table.json() == R"({"k":5,"t":0.25,"flag":true,"mode":"fast","name":"a \"b\""})");
  CHECK_THROWS_WITH_AS(table.set("k", "-1"), "option 'k' is -1, allowed: 1 or more", std::invalid_argument);
  CHECK_THROWS_WITH_AS(table.set("k", "3x"), "option 'k' is 3x, allowed: 1 or more", std::invalid_argument);
  CHECK_THROWS_WITH_AS(table.set("t", ""), "option 't' is , allowed: 0 to 1", std::invalid_argument);
  CHECK_THROWS_WITH_AS(table.set("flag", "yes"), "option 'flag' is yes, allowed: true, false", std::invalid_argument);
  CHECK_THROWS_WITH_AS(table.set("mode", "quick"), "option 'mode' is quick, allowed: slow, fast",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(table.set("moode", "fast"), "unknown option 'moode', did you mean 'mode'?",
                       std::invalid_argument);
  CHECK_THROWS_WITH_AS(table.of("mine").set("moode", "fast"), "unknown option 'moode' of mine, did you mean 'mode'?",
                       std::invalid_argument);
  CHECK(k == 5);
}

TEST_CASE("an option that may be left out is shown once it is set") {
  std::optional<double> t;
  method::OptionTable table;
  table.add("t", t, "a rate", method::Range::between(0, 1));
  CHECK(table.json() == "{}");
  CHECK(table.help()[0][1] == "null");
  table.set("t", "0.5");
  CHECK(table.json() == R"({"t":0.5})");
  CHECK_THROWS_WITH_AS(table.set("t", "x"), "option 't' is x, allowed: 0 to 1", std::invalid_argument);
}

TEST_CASE("a range checks numbers and says which it holds") {
  using method::Range;
  const auto holds = [](Range range, std::vector<double> in, std::vector<double> out) {
    for (const double x : in) CHECK(range.holds(x));
    out.push_back(std::nan(""));
    out.push_back(std::numeric_limits<double>::infinity());
    for (const double x : out) CHECK_FALSE(range.holds(x));
    return range.text();
  };
  CHECK(holds(Range::at_least(1), {1, 1e9}, {0, -1}) == "1 or more");
  CHECK(holds(Range::between(-1, 1), {-1, 0, 1}, {-1.1, 1.1}) == "-1 to 1");
  CHECK(holds(Range::above(0), {1e-9}, {0, -1}) == "above 0");
  CHECK(holds(Range::above(0).up_to(1), {0.1, 1}, {0, 1.1}) == "above 0, up to 1");
  CHECK(holds(Range::above(1).or_zero(), {0, 1.1}, {1, 0.5, -1}) == "0, or above 1");
  CHECK(holds(Range::any(), {-1e9, 0, 1e9}, {}) == "a number");
}

TEST_CASE("options out of their range are named") {
  std::optional<int> n;
  double t = 2;
  method::OptionTable table;
  table.add("n", n, "how many", method::Range::at_least(1)).add("t", t, "a rate", method::Range::between(0, 1));
  CHECK_THROWS_WITH_AS(table.check(), "option 't' is 2.000000, allowed: 0 to 1", std::invalid_argument);
  t = 1;
  CHECK_NOTHROW(table.check());
  n = 0;
  CHECK_THROWS_WITH_AS(table.check(), "option 'n' is 0, allowed: 1 or more", std::invalid_argument);
}

TEST_CASE("every option of every method is explained, and its default is accepted as its own value") {
  for (const std::string& name : method::method_names()) {
    CAPTURE(name);
    const auto method = method::make_method(name);
    const std::string before = method->options().json();
    for (const auto& [option, shown, allowed, help, type] : method->options().help()) {
      CAPTURE(option);
      CHECK_FALSE(help.empty());
      CHECK_FALSE(allowed.empty());
      const bool text = shown.front() == '"';
      if (shown != "null") CHECK(text == (type == "choice" || type == "str"));
      if (shown != "null") method->options().set(option, text ? shown.substr(1, shown.size() - 2) : shown);
    }
    CHECK(method->options().json() == before);
    CHECK_NOTHROW(method->check());
  }
  CHECK_THROWS_WITH_AS((void)method::make_method("dexec"), "unknown method 'dexec', did you mean 'decex'?",
                       std::invalid_argument);
}

TEST_CASE("options of DecEx-RAG that make no sense are refused") {
  for (const std::string set : {"k=0", "n=0", "T_max=0", "threshold=7", "threshold=nan", "documents=0",
                                "temperature=-1", "top_p=0", "max_tokens=0", "margin=-0.1", "rollout_rounds=0"}) {
    method::detail::DecExRagFace bad;
    bad.options().set(set.substr(0, set.find('=')), set.substr(set.find('=') + 1));
    CHECK_THROWS_AS(bad.check(), std::invalid_argument);
  }
}

TEST_CASE("a choice without a default is shown only when it is set") {
  enum class Size : std::uint8_t { small, large };
  std::optional<Size> size;
  method::OptionTable table;
  table.add("size", size, "how large", std::vector<std::string>{"small", "large"});
  CHECK(table.json() == "{}");
  CHECK(table.help() ==
        std::vector<std::array<std::string, 5>>{{"size", "null", "small, large", "how large", "choice"}});
  table.set("size", "large");
  CHECK(size == Size::large);
  CHECK(table.json() == R"({"size":"large"})");
  CHECK_THROWS_WITH(table.set("size", "huge"), "option 'size' is huge, allowed: small, large");
  CHECK(size == Size::large);
}

}  // namespace option_table_test
