#include <espalier/backend/http/fleet.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

namespace http_fleet_test {

using namespace espalier;
using namespace espalier::detail;
using namespace espalier::backend;
using namespace espalier::backend::detail;
using Time = HttpFleet::Time;

namespace {

constexpr Time start{};
Time after(double seconds) {
  return start + std::chrono::duration_cast<Time::duration>(std::chrono::duration<double>(seconds));
}

HttpFleet fleet_of(std::vector<Replica> replicas, std::size_t in_flight = 64) {
  return {std::move(replicas), HttpOptions{.max_in_flight = in_flight}};
}

/// A message goes to a server and ends there at once.
void serve(HttpFleet& fleet, std::size_t server, Served served, double seconds = 1,
           std::optional<double> pause = std::nullopt, Time now = start) {
  const std::uint64_t number = fleet.begin(server);
  fleet.end(server);
  fleet.judge(server, number, served, seconds, pause, now);
}

}  // namespace

TEST_CASE("an address may carry a weight behind a star") {
  CHECK(read_replica("http://a:1/v1").url == "http://a:1/v1");
  CHECK(read_replica("http://a:1/v1").weight == 1);
  CHECK(read_replica("http://a:1/v1*2.5").url == "http://a:1/v1");
  CHECK(read_replica("http://a:1/v1*2.5").weight == 2.5);
  for (const char* bad :
       {"http://a*", "http://a*x", "http://a*0", "http://a*-1", "http://a*1e9", "http://a*nan", "http://a*2 "})
    CHECK_THROWS_WITH_AS(read_replica(bad), doctest::Contains("'endpoint'"), std::invalid_argument);
}

TEST_CASE("an address is shown without secrets") {
  CHECK(shown_address("http://a:1/v1") == "http://a:1/v1");
  CHECK(shown_address("https://me:pa@ss@a/v1?key=1#x") == "https://a/v1");
  CHECK(shown_address("http://a/v1/@home") == "http://a/v1/@home");
  CHECK(shown_address("http://me@a") == "http://a");
}

TEST_CASE("an address is a scorer's by its path, whatever follows it") {
  for (const char* url :
       {"http://a/classify", "https://me:pw@a/v1/pooling", "http://a/pooling?key=1", "http://a/classify#x"})
    CHECK(is_scorer(url));
  for (const char* url : {"http://a/v1", "http://a/v1?next=/classify", "http://a/classify/", "http://a/v1#/pooling"})
    CHECK(!is_scorer(url));
}

TEST_CASE("a window grows by one a window of good replies while it is full, and halves once for what was under way") {
  HttpWindow window(4, 6);
  CHECK(window.width() == 4);
  const auto first = window.begin();
  window.end();
  window.widen();
  CHECK(window.width() == 4);  // it was not full
  const auto round = [&](bool good) {
    std::vector<std::uint64_t> numbers;
    while (window.room()) numbers.push_back(window.begin());
    for (const auto number : numbers) {
      window.end();
      good ? window.widen() : window.narrow(number);
      if (good) window.begin();
    }
    for (std::size_t i = 0; good && i < numbers.size(); ++i) window.end();
    return window.width();
  };
  CHECK(round(true) == 4);  // 4 + 1/4 + 1/4.25 + 1/4.49 + 1/4.71 = 4.92
  CHECK(round(true) == 5);
  for (int i = 0; i < 20; ++i) round(true);
  CHECK(window.width() == 6);
  CHECK(round(false) == 3);
  CHECK(round(false) == 1);
  CHECK(round(false) == 1);
  window.narrow(first);
  CHECK(window.width() == 1);
}

TEST_CASE("a question stays with one server, and servers get questions by their weights") {
  const HttpFleet fleet = fleet_of({{"http://a", 1}, {"http://b", 3}});
  int b = 0;
  for (std::uint64_t question = 1; question <= 2000; ++question) {
    const auto chosen = fleet.choose(mix64(question), start);
    CHECK(chosen == fleet.choose(mix64(question), after(9)));
    b += chosen == 1U;
    const bool expected = HttpFleet::rendezvous(fleet.replicas()[1], mix64(question)) >
                          HttpFleet::rendezvous(fleet.replicas()[0], mix64(question));
    CHECK((chosen == 1U) == expected);
  }
  CHECK(b == doctest::Approx(1500).epsilon(0.05));
}

TEST_CASE("one server more takes its share from all others and moves nothing else") {
  const HttpFleet two = fleet_of({{"http://a"}, {"http://b"}});
  const HttpFleet three = fleet_of({{"http://c"}, {"http://b"}, {"http://a"}});
  int moved = 0;
  for (std::uint64_t question = 1; question <= 3000; ++question) {
    const auto& before = two.replicas()[*two.choose(question, start)].url;
    const auto& now = three.replicas()[*three.choose(question, start)].url;
    moved += now == "http://c";
    CHECK((now == before || now == "http://c"));
  }
  CHECK(moved == doctest::Approx(1000).epsilon(0.1));
}

TEST_CASE("where the question's server is full, the next one takes the message") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}, {"http://c"}}, 4);  // windows of ceil(1.25 * 4 / 3) = 2
  const std::size_t first = *fleet.choose(7, start);
  fleet.begin(first);
  CHECK(fleet.choose(7, start) == first);
  fleet.begin(first);
  const std::size_t second = *fleet.choose(7, start);
  CHECK(second != first);
  CHECK(fleet.choose(7, start, first) == second);
  fleet.begin(second);
  fleet.begin(second);
  const std::size_t third = *fleet.choose(7, start);
  CHECK(third == 3 - first - second);
  fleet.begin(third);
  fleet.begin(third);
  CHECK(!fleet.choose(7, start));
  fleet.end(first);
  CHECK(fleet.choose(7, start) == first);
  CHECK(fleet.choose(7, start, first) == first);  // better than none
}

TEST_CASE("messages without affinity go where the load is least for the weight") {
  HttpFleet fleet = fleet_of({{"http://a", 1}, {"http://b", 2}});
  std::vector<std::size_t> taken;
  for (int i = 0; i < 6; ++i) {
    taken.push_back(*fleet.choose(0, start));
    fleet.begin(taken.back());
  }
  CHECK(taken == std::vector<std::size_t>{1, 0, 1, 1, 0, 1});
}

TEST_CASE("a server out of reach rests at once, one that fails rests after three times in succession") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}});
  serve(fleet, 0, Served::unreachable);
  CHECK(!fleet.up(0, start));
  for (std::uint64_t question = 1; question < 50; ++question) CHECK(fleet.choose(question, start) == 1U);
  serve(fleet, 0, Served::good);
  CHECK(fleet.up(0, start));
  for (const Served first : {Served::good, Served::refused}) {
    serve(fleet, 0, Served::broken);
    serve(fleet, 0, Served::stalled);
    serve(fleet, 0, first);
  }
  serve(fleet, 0, Served::broken);
  serve(fleet, 0, Served::broken);
  serve(fleet, 0, Served::busy);
  CHECK(fleet.up(0, start));
  serve(fleet, 0, Served::broken);
  CHECK(!fleet.up(0, start));
  CHECK(fleet.figures(0).rests == 2);
  CHECK(fleet.figures(0).failures == 9);
  serve(fleet, 1, Served::unreachable);
  for (std::uint64_t question = 1; question < 50; ++question) CHECK(fleet.choose(question, start));  // better than none
}

TEST_CASE("a rest ends with one message, is doubled if that fails too, and is over with a reply") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}});          // rests of 0.5 s to 30 s
  for (int i = 0; i < 3; ++i) serve(fleet, 0, Served::unreachable);  // they failed together: one rest
  CHECK(!fleet.up(0, after(0.4)));
  CHECK(fleet.up(0, after(0.5)));
  const std::uint64_t number = fleet.begin(0);
  CHECK(!fleet.up(0, after(0.6)));
  fleet.end(0);
  fleet.judge(0, number, Served::unreachable, 1, std::nullopt, after(0.6));
  CHECK(!fleet.up(0, after(1.5)));
  CHECK(fleet.up(0, after(1.6)));
  for (int i = 0; i < 9; ++i) serve(fleet, 0, Served::stalled, 1, std::nullopt, after(100 * (i + 1)));
  CHECK(!fleet.up(0, after(929)));
  CHECK(fleet.up(0, after(930)));
  CHECK(fleet.resting(0));
  CHECK(fleet.figures(0).rests == 1);
  serve(fleet, 0, Served::good, 1, std::nullopt, after(930));
  CHECK(!fleet.resting(0));
}

TEST_CASE("a server that is to show that it is back counts as none beside others") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}});
  for (int i = 0; i < 40; ++i) serve(fleet, 0, Served::good, 1), serve(fleet, 1, Served::good, 1);
  serve(fleet, 0, Served::unreachable);
  CHECK(fleet.up(0, after(0.5)));
  CHECK(!fleet.other_up(1, after(0.5)));
  CHECK(fleet.other_up(0, after(0.5)));
  for (int i = 0; i < 40; ++i) serve(fleet, 1, Served::good, 4, std::nullopt, after(1));  // it has all the work now
  CHECK(fleet.window(1).width() == 40);
}

TEST_CASE("a server alone never rests") {
  HttpFleet fleet = fleet_of({{"http://a"}});
  for (int i = 0; i < 9; ++i) serve(fleet, 0, Served::unreachable);
  CHECK(fleet.choose(1, start) == 0U);
  CHECK(fleet.window(0).width() == 64);
}

TEST_CASE("a server that asks for a pause gets it, others stand in") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}});
  serve(fleet, 0, Served::busy, 1, 5);
  CHECK(!fleet.up(0, after(4.9)));
  CHECK(fleet.up(0, after(5)));
  CHECK(!fleet.resting(0));
  for (std::uint64_t question = 1; question < 50; ++question) CHECK(fleet.choose(question, after(4)) == 1U);
}

TEST_CASE("overload halves a server's window, down to one, and good replies widen it again") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}}, 64);
  CHECK(fleet.window(0).width() == 40);
  serve(fleet, 0, Served::busy);
  CHECK(fleet.window(0).width() == 20);
  for (int i = 0; i < 9; ++i) serve(fleet, 0, Served::busy);
  CHECK(fleet.window(0).width() == 1);
  for (int i = 0; i < 4; ++i) serve(fleet, 0, Served::good);
  CHECK(fleet.window(0).width() == 2);
  CHECK(fleet.window(1).width() == 40);
}

TEST_CASE(
    "a server whose latency grows beside the others' has its window narrowed; one that shares the growth has not") {
  HttpFleet fleet = fleet_of({{"http://a"}, {"http://b"}, {"http://c"}}, 30);
  const auto rounds = [&](int count, double a, double b, double c) {
    for (int i = 0; i < count; ++i)
      serve(fleet, 0, Served::good, a), serve(fleet, 1, Served::good, b), serve(fleet, 2, Served::good, c);
  };
  rounds(40, 1, 1, 5);  // slow from the start: that is its nature
  rounds(40, 4, 4, 20);
  for (std::size_t i = 0; i < 3; ++i) CHECK(fleet.window(i).width() == 13);
  rounds(4, 4, 50, 20);
  CHECK(fleet.window(0).width() == 13);
  CHECK(fleet.window(1).width() < 13);
  CHECK(fleet.window(2).width() == 13);
}

TEST_CASE("bad fleets are named") {
  CHECK_THROWS_WITH_AS(fleet_of({{"http://a"}, {"http://a", 2}}), doctest::Contains("'endpoint' is http://a"),
                       std::invalid_argument);
}

}  // namespace http_fleet_test
