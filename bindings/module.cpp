#include "bindings.hpp"

PYBIND11_MODULE(_core, m) {
  namespace python = espalier::python;
  m.doc() = "The compiled part of Espalier. Use the package espalier, which names everything here.";
  python::bind_errors();
  python::bind_build(m);
  python::bind_data(m);
  python::bind_prompt(m);
  python::bind_rewards(m);
  python::bind_local_backends(m);
  python::bind_dense(m);
  python::bind_http(m);
  python::bind_index(m);
  python::bind_ranking(m);
  python::bind_environment(m);
  python::bind_tree(m);
  python::bind_read(m);
  python::bind_search(m);
  python::bind_mcts(m);
  python::bind_beam(m);
  python::bind_job(m);
  python::bind_answering(m);
  python::bind_batch(m);
  python::bind_work_folder(m);
  python::bind_shards(m);
  python::bind_journal(m);
  python::bind_method(m);
  python::bind_problem_tree(m);
  python::bind_problem(m);
  python::shorten_mismatches(m);
}
