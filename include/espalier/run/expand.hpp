#pragma once

#include <espalier/backend/chat/extra_body.hpp>
#include <espalier/output/dataset.hpp>
#include <espalier/output/report.hpp>
#include <espalier/run/annotate.hpp>
#include <espalier/run/configure.hpp>
#include <espalier/run/matched.hpp>
#include <espalier/run/ordered_files.hpp>
#include <espalier/run/registry.hpp>
#include <espalier/run/run_record.hpp>
#include <espalier/run/services.hpp>
#include <espalier/run/stops.hpp>
#include <espalier/run/summary.hpp>
#include <espalier/version.hpp>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// What a run leaves besides its files.
class RunResult {
 public:
  RunResult(std::string json, std::size_t open_questions, bool finished_before)
      : summary(std::move(json)), open(open_questions), recognised(finished_before) {}
  std::string summary;  ///< the content of summary.json
  std::size_t open;     ///< questions that a failed backend left open; running again goes on with them
  bool recognised;      ///< the folder held this run already, finished
};

/// One run of a method over a set of questions, from the settings to the files of a run's folder. Killed at any moment, it
/// goes on when it is started again with the same search options.
class Run {
 public:
  /// Throws std::invalid_argument for unknown or bad options.
  explicit Run(Settings settings) : settings_(std::move(settings)), method_(make_method(settings_.method)) {
    configure(settings_, *method_, skills_, lexical_);
    backend::check_extra_body(settings_.extra_body);  // run.json will hold it
    if (settings_.out.empty()) throw std::invalid_argument("option 'out' is missing: the folder of the run");
    if (settings_.replay && !settings_.journal) throw std::invalid_argument("a replay needs the journal");
    if (settings_.open_questions == 0) settings_.open_questions = 4 * settings_.in_flight;
  }

  /// Runs to the end. Throws InputError for bad data, StoreError for a bad journal, std::invalid_argument for options that
  /// do not fit the folder's earlier run.
  RunResult operator()(const ProgressHook& hook = nullptr) {
    const auto start = Clock::now();
    // A simulated model knows the whole file's questions, whatever the limit: it stays the same model.
    const std::vector<rag::Example> known = output::read_questions(settings_.questions, {.limit = simulated() ? 0 : settings_.limit, .require_gold = expanding()});
    examples_ = known;
    if (settings_.limit > 0 && examples_.size() > settings_.limit) examples_.resize(settings_.limit);
    const rag::PromptSet prompts = settings_.prompts.empty() ? method_->prompts() : method_->prompts().replaced_from(settings_.prompts);
    const RunRecord record = describe(prompts);
    const std::filesystem::path folder = open_folder();
    const bool in_place = annotating() && folder / "trees.jsonl" == settings_.trees;
    if (annotating()) recorded_ = RecordedTrees(settings_.trees);
    if (annotating() && settings_.retriever == "bm25") settings_.corpus = settings_.index = "";  // nothing is looked up
    if (!settings_.overwrite && !in_place) {
      record.compare_with(folder / "run.json");
      if (std::filesystem::exists(folder / "summary.json") && !settings_.replay && !annotating()) {
        if (auto json = finished_summary(folder / "summary.json")) return RunResult(std::move(*json), 0, true);
      }
    }
    if (!in_place) {
      std::filesystem::remove(folder / "summary.json");
      record.write(folder / "run.json", version);
    }

    Scheduler scheduler;
    Services services(scheduler, settings_, known, skills_, lexical_, RunJournal(settings_, folder, record.identity()));
    summary_.emplace(examples_.size());
    summary_->method = settings_.method;
    summary_->model = services.model_label;
    summary_->retriever = services.retriever_label;
    summary_->oracle = expanding();
    services.ports.timeout = remembered_stops(settings_, folder, method_->options().json());
    method_->prepare(services.ports, prompts);
    if (hook) {
      hook(progress(services.calls(), start));  // it may take its time to begin: no question's clock runs yet
      scheduler.on_turn([&] { hook(progress(services.calls(), start)); });
    }
    grow_all(scheduler, folder);

    write_file(folder / "accounts.json", services.accounts());
    summary_->notes = method_->notes();
    summary_->seconds = seconds_since(start);
    if (hook) hook(progress(services.calls(), start));
    return finish(folder);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }
  [[nodiscard]] bool simulated() const {
    return settings_.model == "simulated" || std::any_of(settings_.models.begin(), settings_.models.end(), [](const ModelFor& other) { return other.model == "simulated"; });
  }
  [[nodiscard]] bool expanding() const { return settings_.task != Settings::Task::answer; }
  [[nodiscard]] bool annotating() const { return settings_.task == Settings::Task::annotate; }

  /// Everything that decides the result.
  [[nodiscard]] RunRecord describe(const rag::PromptSet& prompts) {
    RunRecord record;
    record.add_text("task", expanding() ? "expand" : "answer");
    record.add_text("method", settings_.method);
    record.add("seed", std::to_string(settings_.seed));
    record.add("limit", std::to_string(settings_.limit));
    Hasher texts;
    for (const auto& [purpose, text] : prompts.texts()) texts.add(purpose).add(text);
    record.add_text("inputs.questions", hash_file(settings_.questions).hex());
    record.add_text("inputs.corpus", settings_.corpus.empty() ? "" : hash_file(settings_.corpus).hex());
    if (!settings_.index.empty()) record.add_text("inputs.index", IndexFolder(settings_.index).hash(settings_.retriever == "dense" || settings_.retriever == "hybrid"));
    if (const std::string file = retriever_file(settings_); !file.empty()) record.add_text("inputs.retriever", hash_file(file).hex());
    record.add_text("inputs.prompts", texts.finish().hex());
    record.add_text("inputs.value_head", settings_.value_head.empty() ? "" : hash_file(settings_.value_head).hex());
    record.add_text("model.name", settings_.model == "simulated" ? "simulated" : settings_.model_name);
    record.add_text("model.revision", settings_.model_revision);
    record.add_text("model.api", settings_.chat ? "chat" : "completions");
    record.add_text("model.extra_body", settings_.extra_body);
    std::string others;
    for (const ModelFor& other : settings_.models) others += (others.empty() ? "" : ", ") + other.purpose + "=" + (other.model == "simulated" ? other.model : other.name);
    record.add_text("model.for", others);
    record.add_text("retriever.kind", is_url(settings_.retriever) ? "remote" : settings_.retriever);
    record.add_text("retriever.name", settings_.retriever_name);
    record.add_text("retriever.reranker", settings_.reranker.empty() ? "" : settings_.reranker_name);
    record.add("retriever.rerank_depth", settings_.reranker.empty() ? "0" : std::to_string(settings_.rerank_depth));
    record.add_text("encoder.name", settings_.encoder_name);
    record.add_text("encoder.profile", settings_.encoder_profile);
    record.add_text("encoder.cut", settings_.encoder_cut);
    record.add_text("value.name", settings_.value_server.empty() ? "" : settings_.value_name);
    for (const auto& option : method_->options().help()) record.add("options." + option[0], option[1]);
    const std::pair<const char*, const std::string&> files[] = {{"questions", settings_.questions}, {"corpus", settings_.corpus}, {"index", settings_.index},
                                                                {"prompts", settings_.prompts}, {"journal", settings_.journal_file}};
    for (const auto& [name, file] : files) record.note(name, file.empty() ? file : std::filesystem::absolute(file).lexically_normal().string());
    return record;
  }

  [[nodiscard]] std::filesystem::path open_folder() const {
    std::error_code error;
    std::filesystem::create_directories(settings_.out, error);
    if (error || !std::filesystem::is_directory(settings_.out)) throw InputError(settings_.out, 0, "", "cannot be used as the run's folder: " + error.message());
    return settings_.out;
  }

  /// The summary of a run that left no question open.
  static std::optional<std::string> finished_summary(const std::filesystem::path& file) {
    const auto fields = output::read_flat_json(file.string());
    if (fields.at("open") != "0") return std::nullopt;
    std::ifstream in(file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }

  Task<rag::Tree> search(const rag::Example& example) {
    if (annotating()) return recorded_.annotate(*method_, example.question.id, settings_.with);
    return expanding() ? method_->grow(rag::State(example), settings_.seed) : answer(*method_, rag::State(example.question), settings_.seed);
  }

  void grow_all(Scheduler& scheduler, const std::filesystem::path& folder) {
    std::vector<std::string> names{"trees.jsonl", "answers.jsonl", "costs.jsonl"};
    const std::vector<Product> products = expanding() ? method_->products() : std::vector<Product>();
    for (const Product& product : products) names.push_back(product.file);
    OrderedFiles files(folder, names);
    std::vector<Clock::time_point> starts(examples_.size());
    const std::string options = method_->options().json();
    scheduler.for_each(
        examples_.size(), settings_.open_questions,
        [&](std::size_t i) {
          starts[i] = Clock::now();
          return search(examples_[i]);
        },
        [&](std::size_t i, Outcome<rag::Tree> outcome) {
          files.put(i, pieces(i, std::move(outcome), products, options, seconds_since(starts[i])));
        });
    files.commit();
  }

  /// What one question contributes to each file.
  std::vector<std::string> pieces(std::size_t index, Outcome<rag::Tree> outcome, const std::vector<Product>& products,
                                  const std::string& options, double seconds) {
    const double now = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
    const rag::Example& example = examples_[index];
    std::vector<std::string> parts(3 + products.size());
    output::AnswerRow row;
    Ledger::Execution execution;
    if (outcome.ok()) {
      const rag::Tree tree = std::move(outcome).value();
      const output::TreeRecord record{tree, settings_.method, settings_.seed, options};
      output::append_tree(record, parts[0]);
      row = output::answer_row(record);
      execution = tree.ledger.execution;
      for (std::size_t i = 0; i < products.size(); ++i) products[i].rows(record, parts[3 + i]);
      summary_->add(tree);
      const auto best = output::best_answer(tree);
      reward_ += best ? best->value : 0;
      const Costs costs = tree.ledger.total();
      tokens_ += costs.prompt_tokens + costs.completion_tokens;
    } else {
      row = output::open_row(example.question, outcome.error());
    }
    output::append_answer_row(row, parts[1]);
    JsonWriter json(parts[2]);
    json.begin_object().field("id", example.question.id).field("started", now - seconds).field("seconds", seconds);
    json.field("cached", execution.cached).field("attempts", execution.attempts).end_object();
    parts[2] += '\n';
    summary_->add(index, row);
    ++done_;
    return parts;
  }

  [[nodiscard]] Progress progress(std::uint64_t calls, Clock::time_point start) const {
    return {done_, examples_.size(), calls, tokens_, done_ ? reward_ / static_cast<double>(done_) : 0, seconds_since(start)};
  }

  RunResult finish(const std::filesystem::path& folder) const {
    const std::string json = summary_->json();
    output::write_report(folder, json, folder / "report.html");
    write_file(folder / "summary.json", json + '\n');
    return RunResult(json, summary_->open(), false);
  }

  static void write_file(const std::filesystem::path& path, const std::string& text) {
    output::AtomicFile file(path.string());
    file.write(text);
    file.commit();
  }

  Settings settings_;
  std::unique_ptr<Method> method_;
  sim::Skills skills_;
  Lexical lexical_;
  std::vector<rag::Example> examples_;
  RecordedTrees recorded_;  ///< where they are annotated
  std::optional<Summary> summary_;
  std::size_t done_ = 0;
  std::uint64_t tokens_ = 0;
  double reward_ = 0;
};

}  // namespace espalier::run
