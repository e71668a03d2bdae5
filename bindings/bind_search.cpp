#include "session.hpp"

namespace espalier::python {

void bind_search(py::module_& m) {
  py::class_<RolloutPart>(m, "Rollout", "The value of a state: the mean reward of n simulated ends.")
      .def(py::init([](py::object reward, std::uint32_t n, std::uint32_t max_steps) {
             if (n == 0) bad_option("n", n, "1 or more");
             if (max_steps == 0) bad_option("max_steps", max_steps, "1 or more");
             return RolloutPart{std::move(reward), n, max_steps};
           }),
           py::arg("reward"), py::kw_only(), py::arg("n") = 4, py::arg("max_steps") = 8);

  py::class_<Search, std::shared_ptr<Search>>(m, "Search", "A search: options and parts, no backends.")
      .def_readonly("method", &Search::method)
      .def(
          "start",
          [](std::shared_ptr<const Search> search, std::vector<rag::Example> questions, const py::object& retriever,
             const py::object& reward, std::uint64_t seed) {
            auto session = std::make_unique<Session>(std::move(search), std::move(questions), py::none(), retriever,
                                                     reward, seed, 1, JournalPath());
            session->start();
            return session;
          },
          py::arg("questions"), py::kw_only(), py::arg("retriever") = py::none(), py::arg("reward") = py::none(),
          py::arg("seed") = 1, "Starts one tree per question. The caller answers in place of the model.")
      .def_property_readonly("options", &Search::options,
                             "The search options as JSON, as they stand in a tree's provenance.");

  py::class_<Session>(m, "Session", "Searches that are answered from outside: ask with pending(), tell with resume().")
      .def("pending", &Session::pending, "(ticket, prompt) of every request that waits, first asked first.")
      .def("resume", &Session::resume, py::arg("replies"),
           "Answers requests: {ticket: text, Completion or BackendError}.")
      .def("run", &Session::run, py::arg("open_questions"), "Grows all trees. The session needs backends.")
      .def_property_readonly("done", &Session::done)
      .def_property_readonly("trees", &Session::trees, "A tree a question, None while it grows.")
      .def_property_readonly("errors", &Session::errors,
                             "{index of the question: BackendError} of the trees that stay open.");

  m.def(
      "open_session",
      [](std::shared_ptr<const Search> search, std::vector<rag::Example> questions, const py::object& model,
         const py::object& retriever, const py::object& reward, std::uint64_t seed, std::size_t in_flight,
         std::string journal, std::optional<std::string> fingerprint,
         std::optional<std::string> retriever_fingerprint) {
        return std::make_unique<Session>(
            std::move(search), std::move(questions), model, retriever, reward, seed, in_flight,
            JournalPath{std::move(journal), std::move(fingerprint), std::move(retriever_fingerprint)});
      },
      py::arg("search"), py::arg("questions"), py::arg("model"), py::arg("retriever"), py::arg("reward"),
      py::arg("seed"), py::arg("in_flight"), py::arg("journal"), py::arg("fingerprint"),
      py::arg("retriever_fingerprint"), "A search over backends, ready to run.");
}

}  // namespace espalier::python
