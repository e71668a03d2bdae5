#include <espalier/backend/journal.hpp>
#include <espalier/llm/scheduler.hpp>

#include "parts.hpp"
#include "search.hpp"
#include "settings.hpp"
#include "tree.hpp"
#ifdef ESPALIER_HAS_SQLITE
#include <espalier/backend/sqlite_store.hpp>
#endif

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

namespace {

/// The retriever of a search that was given none.
std::vector<Passages> without_retriever(std::span<const Query>) {
  throw std::invalid_argument("this search looks something up: give it a retriever");
}

void check_ids(const std::vector<rag::Example>& questions) {
  std::map<std::string, std::size_t> seen;
  for (std::size_t i = 0; i < questions.size(); ++i)
    if (const auto [known, fresh] = seen.emplace(questions[i].question.id, i); !fresh)
      throw std::invalid_argument(
          fmt::format("questions {} and {} share the id '{}'", known->second, i, questions[i].question.id));
}

/// A backend as a service, null for None. A retriever with an identity and every model stand behind the journal, if
/// `file` names one. Throws std::invalid_argument for a model without an identity, and MissingPart without SQLite.
template <class In, class Out>
std::unique_ptr<Service<In, Out>> opened(const py::object& backend, const std::string& role, const std::string& file,
                                         const std::optional<std::string>& fingerprint) {
  if (backend.is_none()) return nullptr;
  auto service = open_backend<In, Out>(backend, role);
  const auto known = identity<In, Out>(backend, fingerprint);
  if (file.empty() || (!known && role == "retriever")) return service;
  if (!known)
    throw std::invalid_argument("a journal of a Python function needs fingerprint=, the name of the model behind it");
#ifdef ESPALIER_HAS_SQLITE
  return std::make_unique<backend::Journaled<In, Out>>(std::move(service), std::make_shared<backend::SqliteStore>(file),
                                                       *known, fingerprint.value_or(role));
#else
  throw MissingPart("the journal", "libsqlite3-dev");
#endif
}

/// Trees under way over one scheduler.
class Session {
 public:
  /// If `model` is None, prompts are answered from outside by pending() and resume().
  Session(std::shared_ptr<const Search> search, std::vector<rag::Example> questions, const py::object& model,
          const py::object& retriever, const py::object& reward, std::uint64_t seed, std::size_t in_flight,
          const std::string& journal = "", const std::optional<std::string>& fingerprint = std::nullopt,
          const std::optional<std::string>& retriever_fingerprint = std::nullopt)
      : search_(std::move(search)),
        questions_(std::move(questions)),
        seed_(seed),
        options_(search_->options()),
        trees_(questions_.size()) {
    check_ids(questions_);
    const OneRun run(&watch_);
    model_ = scheduler_.model(opened<Prompt, Completion>(model, "model", journal, fingerprint), in_flight);
    auto looks_up = opened<Query, Passages>(retriever, "retriever", journal, retriever_fingerprint);
    const py::object own = reward.is_none() ? search_->reward : reward;
    options_ = py::module_::import("espalier.search.trees").attr("with_reward")(options_, own).cast<std::string>();
    grow_ = search_->on(scheduler_, *model_,
                        looks_up ? scheduler_.retriever(std::move(looks_up)) : scheduler_.retriever(&without_retriever),
                        own);
    scheduler_.on_turn(check_signals);
  }

  /// Grows all trees, at most `open` at once. Backend errors are kept. Any other error ends the session.
  void run(std::size_t open) {
    if (open == 0) bad_option("open_questions", open, "1 or more");
    const OneRun run(&watch_);
    scheduler_.for_each(
        questions_.size(), open, [&](std::size_t i) { return grow(i); },
        [&](std::size_t i, Outcome<rag::Tree> outcome) {
          const bool first = !outcome.ok() && errors_.empty() && questions_.size() > 1;  // one alone is raised at once
          finish(i, std::move(outcome));
          if (first)
            warn(fmt::format("question '{}' failed: {}", questions_[i].question.id,
                             py::str(errors_[py::int_(i)]).cast<std::string>()));
        });
    tell();
  }

  /// Starts all trees, for sessions answered from outside.
  void start() {
    for (std::size_t i = 0; i < questions_.size(); ++i) {
      tasks_.push_back(grow(i));
      scheduler_.start(tasks_.back());
    }
    settle();
  }

  std::vector<std::pair<Ticket, Prompt>> pending() {
    std::vector<std::pair<Ticket, Prompt>> asked;
    for (const auto& [ticket, prompt] : model_->pending()) asked.emplace_back(ticket, *prompt);
    return asked;
  }

  void resume(const std::map<Ticket, py::object>& replies) {
    std::vector<std::pair<Ticket, Outcome<Completion>>> outcomes;
    for (const auto& [ticket, reply] : replies) {
      if (halved(reply)) throw std::invalid_argument(fmt::format("replies[{}] holds half of a surrogate pair", ticket));
      if (PyUnicode_Check(reply.ptr())) outcomes.emplace_back(ticket, Completion(reply.cast<std::string>()));
      else if (py::isinstance<Completion>(reply)) outcomes.emplace_back(ticket, reply.cast<Completion>());
      else if (py::isinstance(reply, error_class("BackendError")))
        outcomes.emplace_back(ticket, std::make_exception_ptr(PythonBackendError(reply)));
      else
        throw py::type_error(fmt::format("a reply is a str, a Completion or a BackendError, not {}", type_name(reply)));
    }
    for (auto& [ticket, outcome] : outcomes) scheduler_.resume(*model_, ticket, std::move(outcome));
    settle();
  }

  [[nodiscard]] bool done() const {
    return std::all_of(tasks_.begin(), tasks_.end(), [](const auto& task) { return task.done(); });
  }

  /// One tree per question, None while it grows or if a backend failed.
  [[nodiscard]] const std::vector<std::shared_ptr<GrownTree>>& trees() const { return trees_; }
  /// The backend errors by index of the question.
  [[nodiscard]] py::typing::Dict<py::int_, py::object> errors() const { return errors_; }

 private:
  Task<rag::Tree> grow(std::size_t i) { return grow_(rag::State(questions_[i]), seed_); }

  void finish(std::size_t i, Outcome<rag::Tree> outcome) {
    if (!outcome.ok()) errors_[py::int_(i)] = python_error(outcome.error());
    else
      trees_[i] = std::make_shared<GrownTree>(
          GrownTree{std::move(outcome).value(), search_->method, seed_, options_, search_->environment.prompts});
  }

  /// Runs everything that needs no reply from outside, and takes the finished trees.
  void settle() {
    while (scheduler_.step()) {
    }
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (!tasks_[i].done() || trees_[i] || errors_.contains(py::int_(i))) continue;
      try {
        finish(i, tasks_[i].take());
      } catch (const BackendError&) {
        finish(i, std::current_exception());
      }
    }
    if (done()) tell();
  }

  void tell() const { py::module_::import("espalier.search.trees").attr("tell")(trees_); }

  std::shared_ptr<const Search> search_;
  std::vector<rag::Example> questions_;
  std::uint64_t seed_;
  std::string options_;
  std::vector<std::shared_ptr<GrownTree>> trees_;
  py::dict errors_;
  OneRun::Watch watch_;
  Scheduler scheduler_;
  std::optional<ModelPort> model_;
  Grow grow_;
  std::vector<Task<rag::Tree>> tasks_;
};

}  // namespace

void bind_search(py::module_& m) {
  py::class_<RolloutPart>(m, "Rollout", "The value of a state: the mean reward of n simulated ends.")
      .def(py::init([](py::object reward, std::uint32_t n, std::uint32_t max_steps) {
             if (n == 0) bad_option("n", n, "1 or more");
             if (max_steps == 0) bad_option("max_steps", max_steps, "1 or more");
             return RolloutPart{std::move(reward), n, max_steps};
           }),
           py::arg("reward"), py::kw_only(), py::arg("n") = 4, py::arg("max_steps") = 8);

  py::class_<Session> bound(m, "Session",
                            "Searches that are answered from outside: ask with pending(), tell with resume().");
  py::class_<Search, std::shared_ptr<Search>>(m, "Search", "A search: options and parts, no backends.")
      .def_readonly("method", &Search::method)
      .def(
          "start",
          [](std::shared_ptr<const Search> search, std::vector<rag::Example> questions, const py::object& retriever,
             const py::object& reward, std::uint64_t seed) {
            auto session = std::make_unique<Session>(std::move(search), std::move(questions), py::none(), retriever,
                                                     reward, seed, 1);
            session->start();
            return session;
          },
          py::arg("questions"), py::kw_only(), py::arg("retriever") = py::none(), py::arg("reward") = py::none(),
          py::arg("seed") = 1, "Starts one tree per question. The caller answers in place of the model.")
      .def_property_readonly("options", &Search::options,
                             "The search options as JSON, as they stand in a tree's provenance.");

  bound.def("pending", &Session::pending, "(ticket, prompt) of every request that waits, first asked first.")
      .def("resume", &Session::resume, py::arg("replies"),
           "Answers requests: {ticket: text, Completion or BackendError}.")
      .def("run", &Session::run, py::arg("open_questions"), "Grows all trees. The session needs backends.")
      .def_property_readonly("done", &Session::done)
      .def_property_readonly("trees", &Session::trees, "A tree a question, None while it grows.")
      .def_property_readonly("errors", &Session::errors, "{index of the question: BackendError} of open trees.");

  m.def(
      "open_session",
      [](std::shared_ptr<const Search> search, std::vector<rag::Example> questions, const py::object& model,
         const py::object& retriever, const py::object& reward, std::uint64_t seed, std::size_t in_flight,
         const std::string& journal, const std::optional<std::string>& fingerprint,
         const std::optional<std::string>& retriever_fingerprint) {
        return std::make_unique<Session>(std::move(search), std::move(questions), model, retriever, reward, seed,
                                         in_flight, journal, fingerprint, retriever_fingerprint);
      },
      py::arg("search"), py::arg("questions"), py::arg("model"), py::arg("retriever"), py::arg("reward"),
      py::arg("seed"), py::arg("in_flight"), py::arg("journal"), py::arg("fingerprint"),
      py::arg("retriever_fingerprint"), "A search over backends, ready to run.");
}

}  // namespace espalier::python
