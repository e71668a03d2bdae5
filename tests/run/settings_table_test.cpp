#include <espalier/method/registry.hpp>
#include <espalier/run/detail/configure.hpp>
#include <espalier/run/settings_table.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

namespace settings_table_test {

using namespace espalier;
using run::detail::Shard;

namespace {

/// Every setting of the table, by its name.
std::map<std::string, run::detail::Setting> rows(run::Settings& settings) {
  std::map<std::string, run::detail::Setting> all;
  for (const run::detail::SettingGroup& group : run::detail::settings_table(settings))
    for (const run::detail::Setting& setting : group.settings) CHECK(all.emplace(setting.name, setting).second);
  return all;
}

}  // namespace

TEST_CASE("each setting has a name, an option and a field of its own") {
  run::Settings settings;
  std::set<std::string_view> options;
  std::set<const void*> fields;
  for (const auto& [name, setting] : rows(settings)) {
    CAPTURE(name);
    CHECK((setting.option.empty() || options.insert(setting.option).second));
    CHECK(std::visit([&](const auto* field) { return fields.insert(field).second; }, setting.field));
    CHECK_FALSE(setting.help.empty());
    if (!setting.choices.empty()) CHECK(std::holds_alternative<std::string*>(setting.field));
  }
  CHECK(fields.size() == 49);
}

TEST_CASE("the table writes into the settings and shows their values as JSON") {
  run::Settings settings;
  auto table = rows(settings);
  CHECK(run::detail::setting_json(table.at("timeout")) == "300");
  CHECK(run::detail::setting_json(table.at("journal")) == "true");
  CHECK(run::detail::setting_json(table.at("retriever")) == R"("bm25")");
  CHECK(run::detail::setting_json(table.at("models")) == "[]");
  *std::get<std::uint32_t*>(table.at("rerank_depth").field) = 7;
  CHECK(settings.retriever.rerank_depth == 7);
  CHECK(run::detail::setting_json(table.at("rerank_depth")) == "7");
}

TEST_CASE_FIXTURE(test::InFolder, "the table names all that run.json records of the settings, and nothing else") {
  run::Settings settings;
  settings.questions = folder / "questions.jsonl";
  std::ofstream(settings.questions) << "{}\n";
  settings.model.thinking = "off";
  const auto method = method::make_method(settings.method);
  std::set<std::string> recorded;
  for (const auto& [name, json] : run::detail::describe(settings, *method, method->prompts()).fields("0")) {
    const bool derived = name == "task" || name == "version" || name == "identity" || name.starts_with("noted.");
    if (!derived) recorded.insert(name.starts_with("options.") ? "options" : name);
  }
  std::set<std::string> named;
  for (const auto& [name, setting] : rows(settings))
    if (!setting.record.empty() && setting.record != "inputs.index") named.emplace(setting.record);  // there is none
  CHECK(recorded == named);
}

namespace {

std::string part(std::uint64_t i, std::uint64_t n) { return std::to_string(i) + "/" + std::to_string(n); }

}  // namespace

TEST_CASE("every id stands in exactly one shard, and the shards are of like size") {
  for (const std::uint64_t n : {1, 2, 3, 7, 4096}) {
    std::vector<std::size_t> sizes(n);
    for (int question = 0; question < 1000; ++question) {
      const std::string id = "question " + std::to_string(question) + " \xC3\xA9";
      std::size_t holders = 0;
      for (std::uint64_t i = 1; i <= n; ++i) {
        const bool takes = Shard(part(i, n)).takes(id);
        holders += takes;
        sizes[i - 1] += takes;
      }
      CHECK(holders == 1);
    }
    if (n <= 7)
      for (const std::size_t size : sizes) CHECK(size > 1000 / n - 60);  // five standard deviations and more
  }
}

TEST_CASE("the shard of an id is the same on every machine and in every version") {
  CHECK(Shard("").takes("a"));
  CHECK(Shard("1/1").takes(""));
  std::string held;  // by which of seven shards, for each id
  for (const char* id : {"a", "b", "2hop__13548_13529", "\xE2\x82\xAC"})
    for (std::uint64_t i = 1; i <= 7; ++i)
      if (Shard(part(i, 7)).takes(id)) held += std::to_string(i) + " ";
  CHECK(held == "5 1 4 1 ");
}

TEST_CASE("a text that names no shard is refused") {
  for (const char* text : {"0/3", "4/3", "3", "3/", "/3", "a/3", "1/b", "1/3 ", "-1/3", "1/0", "1//3", "1.0/3"})
    CHECK_THROWS_WITH_AS(Shard{text},
                         (std::string("option 'shard' is ") + text + ", allowed: I/N, from 1/N to N/N").c_str(),
                         std::invalid_argument);
}

}  // namespace settings_table_test
