#pragma once

#include <espalier/method/match_budget.hpp>
#include <espalier/method/registry.hpp>
#include <espalier/output/dataset.hpp>
#include <espalier/run/detail/configure.hpp>
#include <espalier/run/detail/services.hpp>
#include <espalier/run/work_folder.hpp>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// A method's inference form for questions that come while it runs, as to `espalier serve`. None has gold.
class Answering {
 public:
  using Id = std::uint64_t;  ///< the caller's id of one question
  /// Called by the running thread when a question ends, with its seed and its tree or error.
  using Done = std::function<void(Id, std::uint64_t, Outcome<rag::Tree>)>;

  /// A simulated model knows the questions of `settings.questions`. `out` and `limit` are ignored. A journal is used
  /// only if `journal_file` is set. Throws std::invalid_argument for bad options and InputError for bad files.
  explicit Answering(Settings settings)
      : settings_(std::move(settings)), method_(method::make_method(settings_.method)) {
    settings_.journal.keep = !settings_.journal.file.empty();
    with_files([&] {
      configure(settings_, *method_, skills_, lexical_);
      check_searchable(settings_, *method_);
      const auto known =
          settings_.questions.empty() ? std::vector<rag::Example>() : output::read_questions(settings_.questions);
      services_ =
          std::make_unique<Services>(scheduler_, settings_, known, skills_, lexical_, RunJournal(settings_, "", ""));
      prompts_ = std::make_shared<const rag::PromptSet>(method_->prompts(settings_.prompts));
      method_->prepare(services_->ports, *prompts_);
    });
    scheduler_.on_turn([this] {  // no coroutine is about to run, so one may be dropped
      const std::lock_guard lock(mutex_);
      for (const Id id : std::exchange(cancelled_, {})) open_.erase(id);
    });
  }

  /// Answers questions until stop(), then finishes the open ones. Call it once. It throws errors that are not a failure
  /// of a backend or of one search, such as a journal that cannot be written.
  void run(const Done& done) {
    while (admit()) {
      const bool under_way = scheduler_.step();
      if (finish(done) == 0 && !under_way && !open_.empty())
        throw Error("searches wait for requests that nobody answers");
    }
  }

  /// Adds a question under an id that no open question has. Any thread may call this and the functions below.
  void ask(Id id, rag::Question question, std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    asked_.push_back({id, std::move(question), seed});
    wake_.notify_one();
  }
  /// Drops a question and everything it waits for, without calling `done`. Does nothing if it has ended.
  void cancel(Id id) {
    const std::lock_guard lock(mutex_);
    if (std::erase_if(asked_, [id](const Waiting& asked) { return asked.id == id; }) == 0) cancelled_.push_back(id);
  }
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    wake_.notify_one();
  }

  [[nodiscard]] const Settings& settings() const { return settings_; }
  /// The search options as JSON.
  [[nodiscard]] std::string options() const { return method_->options().json(); }
  [[nodiscard]] std::shared_ptr<const rag::PromptSet> prompts() const { return prompts_; }

 private:
  struct Waiting {
    Id id;
    rag::Question question;
    std::uint64_t seed;
  };

  struct Open {
    std::uint64_t seed;
    Task<rag::Tree> tree;
  };

  /// Starts the questions that were asked. Waits for one if none is open. False if there is nothing left to do.
  bool admit() {
    std::unique_lock lock(mutex_);
    if (open_.empty()) {
      cancelled_.clear();
      wake_.wait(lock, [this] { return stopped_ || !asked_.empty(); });
    }
    std::vector<Waiting> asked = std::exchange(asked_, {});
    lock.unlock();
    if (const auto& watch = settings_.servers.watch; watch && watch->given_up() && !asked.empty()) watch->begin_anew();
    for (Waiting& next : asked) {
      Task<rag::Tree> tree = method::answer(*method_, rag::State(std::move(next.question)), next.seed);
      scheduler_.start(open_.emplace(next.id, Open{next.seed, std::move(tree)}).first->second.tree);
    }
    return !open_.empty();
  }

  /// Hands over the questions that have ended. Returns their number.
  std::size_t finish(const Done& done) {
    const std::size_t before = open_.size();
    for (auto entry = open_.begin(); entry != open_.end();) {
      auto& [id, open] = *entry;
      const bool ended = open.tree.done();
      if (ended) done(id, open.seed, outcome_of(open.tree));
      entry = ended ? open_.erase(entry) : std::next(entry);
    }
    return before - open_.size();
  }

  static Outcome<rag::Tree> outcome_of(Task<rag::Tree>& task) {
    try {
      return task.take();
    } catch (...) {
      return std::current_exception();
    }
  }

  Settings settings_;
  std::unique_ptr<method::Method> method_;
  sim::Skills skills_;
  Lexical lexical_;
  std::shared_ptr<const rag::PromptSet> prompts_;
  Scheduler scheduler_;
  std::unique_ptr<Services> services_;
  std::map<Id, Open> open_;

  std::mutex mutex_;  ///< guards the members below
  std::condition_variable wake_;
  std::vector<Waiting> asked_;
  std::vector<Id> cancelled_;
  bool stopped_ = false;
};

}  // namespace espalier::run::detail
