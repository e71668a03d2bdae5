#pragma once

#include <espalier/backend/chat/user_fields.hpp>
#include <espalier/method/match_budget.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/output/dataset.hpp>
#include <espalier/run/detail/configure.hpp>
#include <espalier/run/detail/constrain.hpp>
#include <espalier/run/detail/harvest.hpp>
#include <espalier/run/detail/services.hpp>
#include <espalier/run/detail/stops.hpp>
#include <espalier/run/prompt_trial.hpp>
#include <espalier/run/run_record.hpp>
#include <espalier/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// The result of a run besides its files.
struct RunResult {
  std::string summary;        ///< the content of summary.json
  std::size_t open = 0;       ///< questions that a failed backend left open. Running again goes on with them
  std::string why_open = {};  ///< the first of them, in their order
  bool recognised = false;    ///< the folder held this run already, finished
  /// The outputs of a finished run that were not as it had left them. They were made again.
  std::vector<std::string> rebuilt = {};
};

/// One run of a method over a set of questions, from the settings to the files of a run's folder. It can be killed at
/// any time. Started again with the same search options, it continues.
class Job {
 public:
  /// Throws std::invalid_argument for unknown or bad options.
  explicit Job(Settings settings) : settings_(std::move(settings)), method_(method::make_method(settings_.method)) {
    detail::with_files([&] { detail::configure(settings_, *method_, skills_, lexical_); });
    detail::check_searchable(settings_, *method_);
    backend::detail::check_extra_body(settings_.model.extra_body);  // run.json will hold it
    (void)backend::detail::Thinking(settings_.model.thinking);
    if (settings_.output.folder.empty()) throw std::invalid_argument("option 'out' is missing: the folder of the run");
    if (settings_.journal.replay && !settings_.journal.keep) throw std::invalid_argument("a replay needs the journal");
    detail::check_servers(settings_, *method_);
    if (settings_.execution.open_questions == 0) settings_.execution.open_questions = 4 * settings_.execution.in_flight;
  }

  /// Runs to the end. Throws InputError for bad data, StoreError for a bad journal, std::invalid_argument for options.
  RunResult operator()(const ProgressHook& hook = nullptr, const OutputHook& add_outputs = nullptr) {
    return detail::with_files([&] { return run(hook, add_outputs, false); });
  }
  /// The beginning of a run: throws what it would throw before its first request, writes nothing and connects nowhere.
  void check() {
    detail::with_files([&] { run(nullptr, nullptr, true); });
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  RunResult run(const ProgressHook& hook, const OutputHook& add_outputs, bool dry) {
    const auto start = Clock::now();
    // A simulated model always knows the questions of the whole file, so that it stays the same model under any limit.
    const std::vector<rag::Example> known = output::read_questions(
        settings_.questions,
        {.limit = simulated() ? 0 : settings_.limit, .require_gold = expanding() && method_->needs_gold()});
    take_questions(known);
    const rag::PromptSet prompts = method_->prompts(settings_.prompts);
    const char* const work = annotating() ? "espalier annotate" : expanding() ? "espalier expand" : "espalier answer";
    detail::WorkFolder folder(settings_.output.folder, work, dry);
    detail::ConstrainDecision constrain(settings_, *method_, prompts, folder.path());
    detail::RunRecord record = detail::describe(settings_, *method_, prompts);
    const bool in_place = annotating() && take_recorded(folder);
    detail::EarlierRun earlier;
    bool finished_before = false;
    if (!settings_.output.overwrite && !in_place) {
      record.compare_with(folder / "run.json");
      if (!annotating()) earlier = detail::EarlierRun::in(folder.path());
      if (settings_.journal.replay) finished_before = std::exchange(earlier, {}).summary.has_value();
      const bool kept = earlier.annotated || std::filesystem::exists(folder / "tokens.jsonl");
      if (earlier.summary && (kept || !settings_.journal.keep_tokens || !settings_.journal.keep))
        return {.summary = std::move(*earlier.summary), .recognised = true};
      earlier.check_mendable(folder.path(), settings_.journal.keep && std::filesystem::exists(detail::journal_file(
                                                                          settings_, folder.path())));
    }
    std::function<void(const std::string&)> tell = [&](const std::string& news) {
      if (hook) hook({0, examples_.size(), 0, 0, 0, seconds_since(start), news});
    };
    auto& watch = settings_.servers.watch;
    if (!watch) watch = std::make_shared<backend::HttpWatch>(settings_.servers.deadline);
    watch->begin_anew();
    watch->report_to([&](const std::string& news) { tell(news); });
    const std::shared_ptr<void> quiet(nullptr, [&watch](void*) { watch->report_to(nullptr); });
    const auto decided = [&](bool now) {
      if (now) record = detail::describe(settings_, *method_, prompts);
      if (!constrain.probes.empty()) record.note("probes", detail::probes_text(constrain.probes));
    };
    const auto probing = [&](std::uint64_t probes) {
      if (hook) hook({0, examples_.size(), 0, 0, 0, seconds_since(start), settings_.servers.watch->trouble(), probes});
    };
    if (!dry) {
      detail::check_servers(settings_, *method_, [&] { probing(0); });
      decided(constrain.probe(probing));
      if (examples_.empty() && constrain.undecided())  // no question would leave this shard open
        throw BackendError("the probes were not answered, so it is not decided which replies follow a grammar");
    }
    Scheduler scheduler;
    detail::Services services(scheduler, settings_, known, skills_, lexical_,
                              detail::RunJournal(settings_, folder.path(), record.identity(), dry));
    services.ports.keep_tokens = settings_.journal.keep_tokens;
    if (!dry) services.ports.timeout = detail::remembered_stops(settings_, folder.path(), method_->options().json());
    method_->prepare(services.ports, prompts);
    if (dry) return {};
    const bool kept = in_place || finished_before;  // until the new files are whole
    if (!kept) {
      for (const char* name : {"summary.json", "tokens.jsonl"}) std::filesystem::remove(folder / name);
      output::detail::write_flat_json(folder / "run.json", record.fields(version));
    }
    detail::Harvest harvest(settings_, examples_, places_, *method_, folder.next());
    detail::Summary& summary = harvest.summary;
    summary.method = settings_.method;
    summary.probes = constrain.probes;
    summary.model = services.model_label;
    summary.retriever = services.retriever_label;
    summary.oracle = expanding() && std::ranges::any_of(known, [](const rag::Example& e) { return !e.gold.empty(); });
    if (hook) {
      tell = [&](const std::string& news) {
        hook(harvest.progress(services.calls(), seconds_since(start),
                              news.empty() ? settings_.servers.watch->trouble() : news));
      };
      tell("");  // the start may take a while, and no question's clock runs yet
      scheduler.on_turn([&] { tell(""); });
    }
    grow_all(scheduler, harvest);
    if (!settings_.journal.replay && services.answered() && constrain.settle()) decided(true);

    detail::write_file(folder.next() / "accounts.json", services.accounts());
    summary.notes = method_->notes();
    const auto note = [&](const std::string& remark) {
      std::string& notes = summary.notes["answers.jsonl"];
      notes += (notes.empty() ? "" : "; ") + remark;
    };
    for (const auto& [server, remark] : settings_.servers.watch->remarks()) note(remark);
    if (const auto old = services.renewed()) note(fmt::format("{} failures in the journal were asked again", old));
    if (expanding() && !settings_.values.source.empty())
      note("--values was not asked: `answer` asks it, expand labels");
    for (const auto& [purpose, why] : constrain.refused)
      note(fmt::format("the grammar of '{}' was refused, so its replies are free: {}", purpose, why));
    for (const std::string& broken : harvest.broken_grammars()) note(broken);
    if (const std::size_t texts = harvest.unknown_tokens)
      summary.notes["tokens.jsonl"] = fmt::format("the tokens of {} sampled texts are not known", texts);
    summary.seconds = seconds_since(start);
    tell("");
    RunResult result{summary.json(), summary.open(), harvest.why_open(), false, std::move(earlier.changed)};
    detail::write_file(folder.next() / "summary.json", result.summary + '\n');
    if (kept && result.open > 0) return result;  // the files of the run stay as they are
    output::detail::FlatFields fields =
        in_place ? output::detail::read_flat_fields((folder / "run.json").string()) : record.fields(version);
    if (annotating()) detail::mark_annotated(fields);
    if (add_outputs) add_outputs(folder.next());
    detail::note_outputs(fields, folder.next());
    output::detail::write_flat_json(folder.next() / "run.json", fields);
    folder.commit();
    return result;
  }

  [[nodiscard]] bool simulated() const {
    return std::ranges::any_of(settings_.models(), [](const auto& one) { return one.model == "simulated"; });
  }
  [[nodiscard]] bool expanding() const { return settings_.task != Settings::Task::answer; }
  [[nodiscard]] bool annotating() const { return settings_.task == Settings::Task::annotate; }

  /// Keeps those of the first `limit` questions that stand in the shard, and their places in the whole run.
  void take_questions(const std::vector<rag::Example>& all) {
    const detail::Shard shard(settings_.shard);
    const std::size_t last = settings_.limit > 0 ? std::min<std::size_t>(all.size(), settings_.limit) : all.size();
    examples_.clear();
    places_.clear();
    for (std::size_t place = 0; place < last; ++place) {
      if (!shard.takes(all[place].question.id)) continue;
      examples_.push_back(all[place]);
      places_.push_back(place);
    }
  }

  Task<rag::Tree> search(const rag::Example& example) {
    // It stays open. A server's client asks nothing more by itself, and the journal may have its answers.
    if (const auto& lost = settings_.servers.watch->given_up(); lost && !settings_.given.models.empty())
      return [](BackendError why) -> Task<rag::Tree> {
        throw why;
        co_return rag::Tree();
      }(*lost);
    if (annotating()) return recorded_.annotate(*method_, example, settings_.with);
    return expanding() ? method_->grow(rag::State(example), settings_.seed)
                       : method::answer(*method_, rag::State(example.question), settings_.seed);
  }

  void grow_all(Scheduler& scheduler, detail::Harvest& harvest) {
    std::vector<Clock::time_point> starts(examples_.size());
    scheduler.for_each(
        examples_.size(), settings_.execution.open_questions,
        [&](std::size_t i) {
          starts[i] = Clock::now();
          return search(examples_[i]);
        },
        [&](std::size_t i, Outcome<rag::Tree> outcome) {
          harvest.take(i, std::move(outcome), seconds_since(starts[i]));
        });
    harvest.commit();
  }

  /// Reads the trees that are to be annotated. Returns true if their file is in the run's own folder.
  bool take_recorded(const detail::WorkFolder& folder) {
    const std::filesystem::path source = std::filesystem::absolute(settings_.trees).parent_path();
    const bool own = std::filesystem::equivalent(source, folder.path());
    if (!own) detail::settle(source);
    if (std::ranges::count(detail::EarlierRun::in(source).changed, "trees.jsonl") > 0)
      throw InputError((source / "trees.jsonl").string(), 0, "",
                       "is not as the run left it. Do the run again: it makes this file again");
    recorded_ = detail::RecordedTrees(settings_.trees);
    if (settings_.retriever.source == "bm25")  // no annotation looks anything up
      settings_.retriever.corpus = settings_.retriever.index = "";
    return own;
  }

  Settings settings_;
  std::unique_ptr<method::Method> method_;
  sim::Skills skills_;
  Lexical lexical_;
  std::vector<rag::Example> examples_;
  std::vector<std::size_t> places_;  ///< of the examples among all questions of the run, shards together
  detail::RecordedTrees recorded_;   ///< the trees to annotate
};

}  // namespace espalier::run
