#include <espalier/backend/http_value.hpp>

#include "http_testing.hpp"
#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace http_value_test {

using namespace espalier;
using namespace espalier::backend;
using test::Answer;
using test::FaultServer;
using test::Received;
using Role = EncodeRequest::Role;

namespace {

HttpValueOptions options(const FaultServer& server) {
  return {.url = server.url(""), .name = "v", .http = test::quick()};
}

std::string failure_under(const std::string& body) {
  FaultServer server([&](const Received&, std::size_t) { return Answer{.body = body}; });
  HttpValueOptions chosen = options(server);
  chosen.http.max_attempts = 2;
  HttpValue values(chosen);
  const auto outcomes = test::ask(values, {EncodeRequest("a", Role::passage), EncodeRequest("b", Role::passage)});
  CHECK(values.accounts().requests == 2);
  return test::failure_of(outcomes[1]).message;
}

}  // namespace

TEST_CASE("texts travel in batches, and each gets its plan and its search value") {
  std::vector<std::string> bodies;
  FaultServer server([&](const Received& request, std::size_t) {
    bodies.push_back(request.body);
    return Answer{.body = R"({"plan":[0.5,-1],"search":[1,0.25]})"};
  });
  HttpValue values(options(server));
  const auto outcomes =
      test::ask(values, {EncodeRequest("one", Role::passage), EncodeRequest("\"two\"", Role::passage)});
  CHECK(outcomes[0].value() == Embedding{0.5F, 1});
  CHECK(outcomes[1].value() == Embedding{-1, 0.25F});
  CHECK(bodies == std::vector<std::string>{R"({"texts":["one","\"two\""]})"});
}

TEST_CASE("replies that do not give two numbers in range for each text are refused") {
  CHECK(failure_under(R"({"plan":[0.5,0],"search":[1]})").find("not one number for each text under 'search'") !=
        std::string::npos);
  CHECK(failure_under(R"({"search":[1,1]})").find("not one number for each text under 'plan'") != std::string::npos);
  CHECK(failure_under(R"({"plan":[0.5,7.5],"search":[1,1]})")
            .find("a value under 'plan' that is no number from -1 to 1") != std::string::npos);
  CHECK(failure_under(R"({"plan":[0.5,"x"],"search":[1,1]})").find("a value under 'plan'") != std::string::npos);
  CHECK(failure_under("not json").find("not JSON") != std::string::npos);
}

}  // namespace http_value_test
