#pragma once

#include <espalier/core/scheduler.hpp>

#include "errors.hpp"
#include "parts.hpp"
#include "search.hpp"
#include "tree.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace espalier::python {

/// A journal on disk for a run's model, and for its retriever if that has a fingerprint.
struct JournalPath {
  std::string file;  ///< "" = none
  std::optional<std::string> model_fingerprint;
  std::optional<std::string> retriever_fingerprint;
};

/// A backend as a service, behind the journal if there is one. Throws std::invalid_argument if the model needs a
/// fingerprint for the journal, and MissingPart without SQLite.
std::unique_ptr<Service<Prompt, Completion>> open_model(const py::object& model, const JournalPath& journal);
std::unique_ptr<Service<Query, Passages>> open_retriever(const py::object& retriever, const JournalPath& journal);

/// Trees under way over one scheduler.
class Session {
 public:
  /// If `model` is None, prompts are answered from outside by pending() and resume().
  Session(std::shared_ptr<const Search> search, std::vector<rag::Example> questions, const py::object& model,
          const py::object& retriever, const py::object& reward, std::uint64_t seed, std::size_t in_flight,
          const JournalPath& journal);

  /// Grows all trees, at most `open` at once. Backend errors are kept. Any other error ends the session.
  void run(std::size_t open);

  /// Starts all trees, for sessions answered from outside.
  void start();
  std::vector<std::pair<Ticket, Prompt>> pending();
  void resume(const py::dict& replies);
  [[nodiscard]] bool done() const;

  /// One tree per question, None while it grows or if a backend failed.
  [[nodiscard]] const std::vector<std::shared_ptr<GrownTree>>& trees() const { return trees_; }
  /// The backend errors by index of the question.
  [[nodiscard]] const py::dict& errors() const { return errors_; }

 private:
  Task<rag::Tree> grow(std::size_t i) { return engine_->grow(rag::State(questions_[i]), seed_); }
  void finish(std::size_t i, Outcome<rag::Tree> outcome);
  void settle();
  void collect();

  std::shared_ptr<const Search> search_;
  std::vector<rag::Example> questions_;
  std::uint64_t seed_;
  std::string options_;
  std::vector<std::shared_ptr<GrownTree>> trees_;
  py::dict errors_;
  Scheduler scheduler_;
  std::optional<ModelPort> model_;
  std::unique_ptr<Engine> engine_;
  std::vector<Task<rag::Tree>> tasks_;
};

}  // namespace espalier::python
