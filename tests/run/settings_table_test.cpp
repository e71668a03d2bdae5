#include <espalier/method/registry.hpp>
#include <espalier/run/detail/configure.hpp>
#include <espalier/run/settings_table.hpp>

#include "../backend/temporary_folder.hpp"
#include <doctest/doctest.h>

#include <set>
#include <string>

namespace settings_table_test {

using namespace espalier;

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
  CHECK(fields.size() == 48);
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

TEST_CASE("a value that is not among the allowed ones is refused by name") {
  run::Settings settings;
  CHECK_NOTHROW(run::detail::check_choices(settings));
  settings.model.api = "soap";
  CHECK_THROWS_WITH_AS(run::detail::check_choices(settings), "option 'api' is soap, allowed: chat, completions",
                       std::invalid_argument);
}

TEST_CASE("the table names all that run.json records of the settings, and nothing else") {
  const test::TemporaryFolder folder;
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

}  // namespace settings_table_test
