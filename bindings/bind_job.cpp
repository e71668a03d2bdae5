#include <espalier/backend/chat/dialect.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/run/world.hpp>

#include "errors.hpp"
#include "settings.hpp"
#include "signals.hpp"
#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/core/nearest.hpp>
#include <espalier/run/prompt_trial.hpp>
#include <espalier/run/renew_report.hpp>
#include <espalier/run/run.hpp>
#endif

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <chrono>
#include <concepts>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace espalier::python {

#ifdef ESPALIER_HAS_SIMDJSON

namespace {

/// Takes a Python object into the settings. `wanted` says what it must be.
struct Field {
  std::function<void(run::Settings&, const py::object&)> set;
  std::string wanted;
};

template <class T>
Field into(T run::Settings::* field) {
  const char* wanted = std::same_as<T, std::string>                ? "a str"
                       : std::same_as<T, bool>                     ? "True or False"
                       : std::same_as<T, std::vector<std::string>> ? "a list of str"
                       : std::floating_point<T>                    ? "a number"
                       : std::integral<T>                          ? "a whole number from 0"
                                                                   : "";
  return {[field](run::Settings& settings, const py::object& value) { settings.*field = value.cast<T>(); }, wanted};
}

const std::map<std::string, Field>& fields() {
  using S = run::Settings;
  static const std::map<std::string, Field> table{
      {"method", into(&S::method)},
      {"preset", into(&S::preset)},
      {"questions", into(&S::questions)},
      {"corpus", into(&S::corpus)},
      {"index", into(&S::index)},
      {"model", into(&S::model)},
      {"model_name", into(&S::model_name)},
      {"endpoints", into(&S::endpoints)},
      {"model_revision", into(&S::model_revision)},
      {"server", Field{[](S& settings, const py::object& value) {
                         settings.server = value.cast<std::string>();
                         (void)backend::server_named(settings.server);  // reports a bad one before the run begins
                       },
                       "a str"}},
      {"native_n", into(&S::native_n)},
      {"stream", into(&S::stream)},
      {"extra_body", into(&S::extra_body)},
      {"ca_file", into(&S::ca_file)},
      {"proxy", into(&S::proxy)},
      {"api_key_file", into(&S::api_key_file)},
      {"retriever", into(&S::retriever)},
      {"retriever_name", into(&S::retriever_name)},
      {"retriever_protocol", into(&S::retriever_protocol)},
      {"reranker", into(&S::reranker)},
      {"reranker_name", into(&S::reranker_name)},
      {"rerank_depth", into(&S::rerank_depth)},
      {"encoder", into(&S::encoder)},
      {"encoder_profile", into(&S::encoder_profile)},
      {"encoder_cut", into(&S::encoder_cut)},
      {"encoder_name", into(&S::encoder_name)},
      {"value_server", into(&S::value_server)},
      {"value_name", into(&S::value_name)},
      {"value_head", into(&S::value_head)},
      {"out", into(&S::out)},
      {"prompts", into(&S::prompts)},
      {"limit", into(&S::limit)},
      {"seed", into(&S::seed)},
      {"in_flight", into(&S::in_flight)},
      {"open_questions", into(&S::open_questions)},
      {"timeout", into(&S::timeout)},
      {"deadline", into(&S::deadline)},
      {"attempts", into(&S::attempts)},
      {"contact", into(&S::contact)},
      {"hedge", into(&S::hedge)},
      {"overwrite", into(&S::overwrite)},
      {"journal", into(&S::journal)},
      {"journal_file", into(&S::journal_file)},
      {"batch_file", into(&S::batch_file)},
      {"replay", into(&S::replay)},
      {"trees", into(&S::trees)},
      {"with", into(&S::with)},
      {"models", Field{[](S& settings, const py::object& value) {
                         for (const auto& [purpose, model] :
                              value.cast<std::map<std::string, std::pair<std::string, std::string>>>())
                           settings.models.push_back({purpose, model.first, model.second});
                       },
                       "a dict {purpose: (model, name)} of str"}},
      {"api", Field{[](S& settings, const py::object& value) {
                      const auto api = value.cast<std::string>();
                      if (api != "chat" && api != "completions") bad_option("api", api, "chat, completions");
                      settings.chat = api == "chat";
                    },
                    "a str"}},
      {"set", Field{[](S& settings, const py::object& value) {
                      for (const auto& [name, text] : value.cast<std::vector<std::pair<std::string, std::string>>>())
                        settings.set.emplace_back(name, text);
                    },
                    "a dict {option: value}"}}};
  return table;
}

}  // namespace

run::Settings make_settings(const std::string& task, const py::dict& values) {
  run::Settings settings;
  using Task = run::Settings::Task;
  settings.task = task == "answer" ? Task::answer : task == "annotate" ? Task::annotate : Task::expand;
  for (const auto& [key, value] : values) {
    const auto name = key.cast<std::string>();
    const auto field = fields().find(name);
    if (field == fields().end()) {
      std::vector<std::string> names;
      for (const auto& entry : fields()) names.push_back(entry.first);
      throw std::invalid_argument(fmt::format("unknown setting '{}'{}", name, espalier::detail::did_you_mean(name, names)));
    }
    try {
      field->second.set(settings, py::reinterpret_borrow<py::object>(value));
    } catch (const py::cast_error&) {
      throw std::invalid_argument(fmt::format("setting '{}' cannot be {}, it must be {}", name,
                                              py::repr(value).cast<std::string>(), field->second.wanted));
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

py::tuple run_job(const std::string& task, const py::dict& values, const py::object& progress) {
  run::Run job(make_settings(task, values));
  const run::ProgressHook hook = hook_of(progress);
  const run::RunResult result = [&] {
    const py::gil_scoped_release unlock;
    return job(hook);
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
                    "Servers that do not reply, or why the first question is open; '' = none.");
  m.def(
      "method_options", [](const std::string& method) { return method::make_method(method)->options().help(); },
      py::arg("method"), "(name, default as JSON, allowed values, explanation) of each option.");
  m.def("method_names", &method::method_names, "All methods, in alphabetical order.");
  m.def(
      "write_world",
      [](const std::string& folder, std::size_t passages, std::size_t questions, std::uint64_t seed,
         unsigned max_hops) {
        const py::gil_scoped_release unlock;
        run::write_world(folder, {passages, questions, seed, max_hops});
      },
      py::arg("folder"), py::arg("passages"), py::arg("questions"), py::arg("seed"), py::arg("max_hops"));
#ifdef ESPALIER_HAS_SIMDJSON
  m.def("run_job", &run_job, py::arg("task"), py::arg("settings"), py::arg("progress"),
        "(summary as JSON, questions left open, whether the run was finished before, outputs that were made again, why "
        "the first open question is open).");
  m.def(
      "check_job", [](const std::string& task, const py::dict& values) { run::Run(make_settings(task, values)); },
      py::arg("task"), py::arg("settings"), "Raises ValueError for unknown or bad options.");
  m.def(
      "try_prompts",
      [](const py::dict& values) {
        std::vector<run::TriedPrompt> tried;
        {
          const run::Settings settings = make_settings("answer", values);
          const py::gil_scoped_release unlock;
          tried = run::try_prompts(settings, [] {
            const py::gil_scoped_acquire lock;
            check_signals();
          });
        }
        std::vector<std::tuple<std::string, bool, std::string, std::uint64_t, std::string>> rows;
        for (const auto& one : tried) rows.emplace_back(one.purpose, one.read, one.reply, one.cut_at, one.error);
        return rows;
      },
      py::arg("settings"),
      "(purpose, whether its reply was read, an unread reply's beginning, the max_tokens that cut it or 0, error) of "
      "each prompt.");
  m.def(
      "write_report",
      [](const std::string& folder, const std::string& target, const std::string& other) {
        const py::gil_scoped_release unlock;
        output::write_report(folder, output::detail::read_summary(folder), target, other);
      },
      py::arg("folder"), py::arg("target"), py::arg("other") = "");
  m.def(
      "renew_report",
      [](const std::string& folder) {
        const py::gil_scoped_release unlock;
        run::renew_report(folder);
      },
      py::arg("folder"));
#else
  for (const char* name : {"run_job", "check_job", "try_prompts", "write_report", "renew_report"})
    m.def(name, [](const py::args&, const py::kwargs&) { throw MissingPart("reading JSON", "libsimdjson-dev"); });
#endif
}

}  // namespace espalier::python
