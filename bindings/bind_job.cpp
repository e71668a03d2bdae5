#include <espalier/core/nearest.hpp>
#include <espalier/llm/grammar.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/run/settings_table.hpp>
#include <espalier/run/world.hpp>

#include "callable.hpp"
#include "settings.hpp"
#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/run/job.hpp>
#include <espalier/run/prompt_trial.hpp>
#include <espalier/run/run_record.hpp>
#include <espalier/run/work_folder.hpp>
#endif

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::python {

namespace {

/// The type of a setting: Python's name, and what a value must be.
struct SettingType {
  const char *name, *wanted;
};
const SettingType& type_of(const run::detail::SettingField& field) {
  static constexpr SettingType whole{"int", "a whole number from 0"};
  static constexpr SettingType by_type[] = {{"str", "a str"},
                                            {"bool", "True or False"},
                                            {"float", "a number"},
                                            whole,
                                            whole,
                                            whole,
                                            {"list", "a list of str"},
                                            {"models", "a dict {purpose: (model, name)} of str"},
                                            {"options", "a dict {option: value}"}};
  return by_type[field.index()];
}

}  // namespace

#ifdef ESPALIER_HAS_SIMDJSON

namespace {

/// Puts a Python object into a field of the settings.
template <class T>
void take(T& field, const py::object& value) {
  field = value.cast<T>();
}
void take(std::vector<run::Settings::ModelFor>& field, const py::object& value) {
  for (const auto& [purpose, model] : value.cast<std::map<std::string, std::pair<std::string, std::string>>>())
    field.push_back({purpose, model.first, model.second});
}

}  // namespace

run::Settings make_settings(const std::string& task, const py::dict& values) {
  run::Settings settings;
  using Task = run::Settings::Task;
  settings.task = task == "answer" ? Task::answer : task == "annotate" ? Task::annotate : Task::expand;
  const std::vector<run::detail::SettingGroup> groups = run::detail::settings_table(settings);
  std::map<std::string, run::detail::Setting> table;
  for (const run::detail::SettingGroup& group : groups)
    for (const run::detail::Setting& setting : group.settings) table.emplace(setting.name, setting);
  for (const auto& [key, object] : values) {
    const auto name = key.cast<std::string>();
    const auto value = py::reinterpret_borrow<py::object>(object);
    if (name == "given") {
      settings.given = make_given(value);
      continue;
    }
    const auto found = table.find(name);
    if (found == table.end())
      throw std::invalid_argument(
          fmt::format("unknown setting '{}'{}", name, espalier::detail::did_you_mean(name, table | std::views::keys)));
    const run::detail::Setting& setting = found->second;
    try {
      std::visit([&](auto* field) { take(*field, value); }, setting.field);
    } catch (const py::cast_error&) {
      throw std::invalid_argument(fmt::format("setting '{}' cannot be {}, it must be {}", name,
                                              py::repr(value).cast<std::string>(), type_of(setting.field).wanted));
    }
  }
  return settings;
}

namespace {

/// A hook that checks for signals and calls Python with the run's progress, at most 20 times per second. It reports
/// trouble at once.
run::ProgressHook hook_of(const py::object& progress) {
  using Clock = std::chrono::steady_clock;
  return [told = Clock::time_point(), trouble = std::string(),
          progress = progress.is_none() ? nullptr : shared(progress)](const run::Progress& p) mutable {
    const auto now = Clock::now();
    if (now - told < std::chrono::milliseconds(50) && p.questions_done < p.questions && p.trouble == trouble) return;
    told = now;
    trouble = p.trouble;
    const py::gil_scoped_acquire lock;
    check_signals();
    if (progress) (*progress)(p);
  };
}

py::tuple run_job(const std::string& task, const py::dict& values, const py::object& progress,
                  const py::object& add_outputs) {
  run::Settings settings = make_settings(task, values);
  OneRun::Watch watch = settings.servers.watch = std::make_shared<backend::HttpWatch>(settings.servers.deadline);
  const OneRun run(&watch);
  run::Job job(std::move(settings));
  if (add_outputs.is_none()) return job.check(), py::tuple();
  const run::ProgressHook hook = hook_of(progress);
  const run::OutputHook outputs = [call = shared(add_outputs)](const std::filesystem::path& folder) {
    const py::gil_scoped_acquire lock;
    (*call)(folder.string());
  };
  const run::RunResult result = [&] {
    const py::gil_scoped_release unlock;
    return job(hook, outputs);
  }();
  return py::make_tuple(result.summary, result.open, result.recognised, result.rebuilt, result.why_open);
}

}  // namespace

#endif

void bind_job(py::module_& m) {
  py::class_<run::Progress>(m, "Progress", "How far a run is.")
      .def_readonly("questions_done", &run::Progress::questions_done)
      .def_readonly("questions", &run::Progress::questions)
      .def_readonly("calls", &run::Progress::calls, "Completions applied.")
      .def_readonly("tokens", &run::Progress::tokens, "Prompt and completion tokens of the finished questions.")
      .def_readonly("best_reward", &run::Progress::best_reward, "Mean reward of the chosen answers.")
      .def_readonly("seconds", &run::Progress::seconds)
      .def_readonly("trouble", &run::Progress::trouble,
                    "Servers that do not reply, or why the first question is open; '' = none.")
      .def_readonly("probes", &run::Progress::probes,
                    "While probes of the model are asked, how many were answered, else None.");
  m.def(
      "method_options",
      [](const std::string& method, bool in_run) {
        const auto made = method::make_method(method);
        run::Settings::Model model;
        sim::Skills skills;
        run::Lexical lexical;
        if (in_run) run::detail::add_run_options(made->options(), model, skills, lexical);
        return made->options().help();
      },
      py::arg("method"), py::arg("in_run") = false, "(name, default as JSON, allowed, meaning, type) of each option.");
  m.def(
      "settings",
      [] {
        run::Settings defaults;
        py::list rows;
        for (const run::detail::SettingGroup& group : run::detail::settings_table(defaults))
          for (const run::detail::Setting& one : group.settings)
            rows.append(py::make_tuple(group.name, one.name, type_of(one.field).name, run::detail::setting_json(one),
                                       one.option, one.value, one.record, one.help, one.choices));
        return rows;
      },
      "(group, keyword, type, default as JSON, option, value in help, name in run.json, meaning, choices) of each.");
  m.def("method_names", &method::method_names, "All methods, in alphabetical order.");
  m.def(
      "grammar",
      [](const std::string& method, const std::string& purpose, std::uint32_t max_tokens, const std::string& dialect) {
        const std::shared_ptr<const Protocol> protocol = method::make_method(method)->prompts().protocol();
        const Protocol::Purpose* found = protocol->purpose(purpose);
        if (!found)
          throw std::invalid_argument(
              fmt::format("{} has no purpose '{}'{}", method, purpose,
                          espalier::detail::did_you_mean(
                              purpose, protocol->purposes | std::views::transform(&Protocol::Purpose::name))));
        if (max_tokens == 0) bad_option("max_tokens", max_tokens, "1 or more");
        const Grammar grammar(*protocol, *found, max_tokens);
        if (dialect == "gbnf") return grammar.gbnf();
        if (dialect == "lark") return grammar.lark();
        if (dialect == "regex") return grammar.regex();
        if (dialect != "json_schema") bad_option("dialect", dialect, "gbnf, lark, regex, json_schema");
        return grammar.json_schema();
      },
      py::arg("method"), py::arg("purpose"), py::kw_only(), py::arg("max_tokens") = 512, py::arg("dialect") = "gbnf",
      "The grammar of a purpose's replies. `dialect`: gbnf (llama.cpp, vLLM, SGLang), lark (llguidance), regex or "
      "json_schema.");
  m.def(
      "write_world",
      [](const std::string& folder, std::size_t passages, std::size_t questions, std::uint64_t seed,
         unsigned max_hops) {
        const py::gil_scoped_release unlock;
        run::write_world(folder, {passages, questions, seed, max_hops});
      },
      py::arg("folder"), py::arg("passages"), py::arg("questions"), py::arg("seed"), py::arg("max_hops"));
#ifdef ESPALIER_HAS_SIMDJSON
  m.def("run_job", &run_job, py::arg("task"), py::arg("settings"), py::arg("progress"), py::arg("add_outputs"),
        "(summary as JSON, questions left open, whether the run was finished before, outputs that were made again, why "
        "the first open question is open). Without `add_outputs` it ends before the first request and writes nothing.");
  m.def(
      "check_job", [](const std::string& task, const py::dict& values) { run::Job(make_settings(task, values)); },
      py::arg("task"), py::arg("settings"), "Raises ValueError for unknown or bad options.");
  m.def(
      "try_prompts",
      [](const py::dict& values) {
        const run::Settings settings = make_settings("answer", values);
        const auto tried = [&] {
          const py::gil_scoped_release unlock;
          return run::detail::try_prompts(settings, [] {
            const py::gil_scoped_acquire lock;
            check_signals();
          });
        }();
        std::vector<std::tuple<std::string, bool, std::string, std::uint64_t, bool, std::string>> rows;
        for (const auto& one : tried) {
          Ledger::Unread unread("", 0, Seed(), 0);
          if (!one.read && !one.failure) unread = one.ledger.first_unread().find(one.purpose.name)->second;
          rows.emplace_back(one.purpose.name, one.read, unread.text, unread.cut_at, unread.in_thought,
                            one.failure ? one.failure->what() : "");
        }
        return rows;
      },
      py::arg("settings"),
      "(purpose, whether its reply was read, an unread reply's beginning, the max_tokens that cut it or 0, whether it "
      "cut a thought, error) of each prompt.");
#endif
}

}  // namespace espalier::python
