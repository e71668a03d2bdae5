#ifdef ESPALIER_HAS_SIMDJSON
#include <espalier/backend/http/options.hpp>
#include <espalier/run/answering.hpp>

#include "callable.hpp"
#include "settings.hpp"
#include "tree.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace espalier::python {

namespace {

/// Runs without the interpreter lock, and takes it to report the end of a question.
void run(run::detail::Answering& answering, const py::object& done) {
  const run::detail::Answering::Done tell = [&](run::detail::Answering::Id id, std::uint64_t seed,
                                                Outcome<rag::Tree> outcome) {
    const py::gil_scoped_acquire lock;
    if (!outcome.ok()) done(id, python_error(outcome.error()));
    else
      done(id, std::make_shared<GrownTree>(GrownTree{std::move(outcome).value(), answering.settings().method, seed,
                                                     answering.options(), answering.prompts()}));
  };
  const py::gil_scoped_release unlock;
  answering.run(tell);
}

}  // namespace

void bind_answering(py::module_& m) {
  using run::detail::Answering;
  py::class_<Answering>(m, "Answering", "A method's inference form that takes questions while it runs.")
      .def(py::init([](const py::dict& settings) {
             run::Settings chosen = make_settings("answer", settings);
             OneRun::Watch watch = std::make_shared<backend::HttpWatch>(chosen.servers.deadline, &warn);
             chosen.servers.watch = watch;
             const OneRun run(&watch);
             const py::gil_scoped_release unlock;
             return std::make_unique<Answering>(std::move(chosen));
           }),
           py::arg("settings"))
      .def("run", &run, py::arg("done"),
           "Answers questions until stop(), and then the open ones. Tells done(id, tree or error) of each. Once.")
      .def(
          "ask",
          [](Answering& answering, Answering::Id id, const std::string& text, const std::string& question_id,
             std::uint64_t seed) { answering.ask(id, rag::Question{question_id, text}, seed); },
          py::arg("id"), py::arg("text"), py::arg("question_id"), py::arg("seed"),
          "From any thread. Trees are seeded by seed and question_id.")
      .def("cancel", &Answering::cancel, py::arg("id"),
           "Drops a question without a report of its end. Any thread may call it.")
      .def("stop", &Answering::stop, "From any thread.")
      .def_property_readonly("options", &Answering::options, "The search options as JSON.");
}

}  // namespace espalier::python

#endif
