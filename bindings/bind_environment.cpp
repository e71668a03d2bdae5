#include <espalier/core/json_writer.hpp>
#include <espalier/method/decex/prompts.hpp>

#include "environment.hpp"
#include "names.hpp"

#include <string>

namespace espalier::python {

namespace {

constexpr Names<2> dedups{"exact", "normalised"};

Loop make_loop(std::uint32_t documents, std::uint32_t max_rounds, const std::string& dedup, double temperature,
               double top_p, int max_tokens, std::uint32_t resample, const std::string& prompts) {
  if (documents == 0) bad_option("documents", documents, "1 or more");
  if (max_rounds == 0) bad_option("max_rounds", max_rounds, "1 or more");
  if (!(temperature >= 0)) bad_option("temperature", temperature, "0 or more");
  if (!(top_p > 0 && top_p <= 1)) bad_option("top_p", top_p, "above 0, up to 1");
  if (max_tokens < 1) bad_option("max_tokens", max_tokens, "1 or more");
  Sampling sampling;
  sampling.temperature = temperature;
  sampling.top_p = top_p;
  sampling.max_tokens = max_tokens;
  const rag::PromptSet texts = method::decex_prompts();
  return {{documents, max_rounds, named<rag::Environment::Dedup>("dedup", dedup, dedups)},
          {sampling, {}, resample, {}},
          prompts.empty() ? texts : texts.replaced_from(prompts)};
}

}  // namespace

void Loop::show(JsonWriter& json) const {
  json.field("documents", options_.documents).field("max_rounds", options_.max_rounds);
  json.field("dedup", name_of(options_.dedup, dedups)).field("resample", sampling_.resample);
  json.field("temperature", sampling_.sampling.temperature).field("top_p", sampling_.sampling.top_p);
  json.field("max_tokens", sampling_.sampling.max_tokens);
}

void bind_environment(py::module_& m) {
  const rag::Environment::Options options;
  py::class_<Loop>(m, "Environment", "The loop of think, search or answer that searches run in, and how it is sampled.")
      .def(py::init(&make_loop), py::kw_only(), py::arg("documents") = options.documents,
           py::arg("max_rounds") = options.max_rounds, py::arg("dedup") = "normalised", py::arg("temperature") = 0.7,
           py::arg("top_p") = 1.0, py::arg("max_tokens") = 512, py::arg("resample") = 2, py::arg("prompts") = "",
           "`documents`: passages per search. `resample`: new samples for a reply that cannot be read. `prompts`: a "
           "folder of prompt files to use instead of the built-in ones.");
}

}  // namespace espalier::python
