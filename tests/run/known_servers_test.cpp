#include <espalier/run/detail/known_servers.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

namespace known_servers_test {

using namespace espalier;
using backend::Server;
using run::detail::KnownServers;
using test::TemporaryFolder;

TEST_CASE("what servers are is kept by address, and the last word holds") {
  const TemporaryFolder folder;
  const KnownServers known(folder / "servers.json");
  CHECK(!known.at("http://a.b:8000/v1"));
  known.keep("http://a.b:8000/v1", Server::vllm);
  known.keep("http://c/v1", Server::vllm);
  known.keep("http://c/v1", Server::sglang);
  known.keep("http://d/v1", Server::other);  // says nothing
  CHECK(test::read_bytes(folder / "servers.json") == "{\"http://a.b:8000/v1\":\"vllm\",\"http://c/v1\":\"sglang\"}\n");
  CHECK(known.at("http://a.b:8000/v1") == Server::vllm);
  CHECK(KnownServers(folder / "servers.json").at("http://c/v1") == Server::sglang);
}

TEST_CASE("a damaged file is named") {
  const TemporaryFolder folder;
  const std::string file = folder / "servers.json";
  const KnownServers known(file);
  test::write_bytes(file, "{\"http://a/v1\":\"vllm");
  CHECK_THROWS_WITH_AS((void)known.at("http://a/v1"), doctest::Contains("servers.json"), InputError);
}

TEST_CASE("a sort that another version knew is asked for again") {
  const TemporaryFolder folder;
  const std::string file = folder / "servers.json";
  const KnownServers known(file);
  test::write_bytes(file, R"({"http://a/v1":"llamacpp-python","http://b/v1":"gateway","http://c/v1":"vllm"})");
  CHECK(!known.at("http://a/v1"));
  CHECK(!known.at("http://b/v1"));
  CHECK(known.at("http://c/v1") == Server::vllm);
  known.keep("http://a/v1", Server::llamacpp);
  CHECK(known.at("http://a/v1") == Server::llamacpp);
}

TEST_CASE("without a file nothing is kept") {
  const KnownServers known{std::filesystem::path()};
  known.keep("http://a/v1", Server::ollama);
  CHECK_FALSE(known.at("http://a/v1").has_value());
}

}  // namespace known_servers_test
