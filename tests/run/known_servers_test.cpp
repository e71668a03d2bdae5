#include <espalier/run/detail/known_servers.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

namespace known_servers_test {

using namespace espalier;
using backend::Server;
using run::detail::keep_server;

/// What a run in this folder knows of the server at an address.
std::optional<Server> known(const std::string& folder, const std::string& address) {
  run::Settings settings;
  settings.output.folder = folder;
  return run::detail::known_server(address, settings);
}

TEST_CASE_FIXTURE(test::InFolder, "what servers are is kept by address, and the last word holds") {
  const std::string file = folder / "servers.json";
  CHECK(!known(folder / "", "http://a.b:8000/v1"));
  keep_server(file, "http://a.b:8000/v1", Server::vllm);
  keep_server(file, "http://c/v1", Server::vllm);
  keep_server(file, "http://c/v1", Server::sglang);
  keep_server(file, "http://d/v1", Server::other);  // says nothing
  CHECK(test::read_bytes(file) == "{\"http://a.b:8000/v1\":\"vllm\",\"http://c/v1\":\"sglang\"}\n");
  CHECK(known(folder / "", "http://a.b:8000/v1") == Server::vllm);
  CHECK(known(folder / "", "http://c/v1") == Server::sglang);
}

TEST_CASE_FIXTURE(test::InFolder, "a damaged file is named") {
  test::write_bytes(folder / "servers.json", "{\"http://a/v1\":\"vllm");
  CHECK_THROWS_WITH_AS((void)known(folder / "", "http://a/v1"), doctest::Contains("servers.json"), InputError);
}

TEST_CASE_FIXTURE(test::InFolder, "a sort that another version knew is asked for again") {
  const std::string file = folder / "servers.json";
  test::write_bytes(file, R"({"http://a/v1":"llamacpp-python","http://b/v1":"gateway","http://c/v1":"vllm"})");
  CHECK(!known(folder / "", "http://a/v1"));
  CHECK(!known(folder / "", "http://b/v1"));
  CHECK(known(folder / "", "http://c/v1") == Server::vllm);
  keep_server(file, "http://a/v1", Server::llamacpp);
  CHECK(known(folder / "", "http://a/v1") == Server::llamacpp);
}

TEST_CASE("without a folder nothing is kept") {
  keep_server(run::detail::servers_file({}), "http://a/v1", Server::ollama);
  CHECK_FALSE(known("", "http://a/v1").has_value());
}

}  // namespace known_servers_test
