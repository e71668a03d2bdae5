#include <espalier/core/error.hpp>
#include <espalier/llm/prompt.hpp>

#include "bindings.hpp"
#include "names.hpp"
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::python {

namespace {

using Texts = py::typing::Dict<py::str, py::str>;

/// The slots of a prompt's purpose with their values. Segments inside them have spans too, but are not slots.
Texts slots(const Prompt& prompt) {
  Texts found;
  const auto& body = prompt.body();
  const Protocol::Purpose* purpose = body.protocol ? body.protocol->purpose(body.purpose) : nullptr;
  if (purpose)
    for (const auto& name : purpose->slots)
      if (const auto value = prompt.slot(name)) found[py::str(name)] = std::string(*value);
  return found;
}

}  // namespace

void bind_prompt(py::module_& m) {
  py::class_<Prompt> bound(m, "Prompt", "One request to a language model: one prompt, one sample.");
  bound
      .def(py::init([](std::string text, double temperature, int max_tokens, std::vector<std::string> stop,
                       std::uint64_t seed, std::uint32_t sample, std::string prefill, std::vector<std::int32_t> ids,
                       std::string grammar, bool keep_tokens) {
             PromptBody body;
             body.messages.push_back({ids.empty() ? "user" : "", std::move(text)});
             if (!prefill.empty() && !ids.empty())
               bad_option("prefill", prefill, "none beside token ids, which go on by themselves");
             if (!prefill.empty()) body.messages.push_back({"assistant", std::move(prefill)});
             body.ids = std::move(ids);
             body.sampling = {.temperature = temperature, .max_tokens = max_tokens, .stop = std::move(stop)};
             body.sampling.grammar = std::move(grammar);
             body.sampling.keep_tokens = keep_tokens;
             return Prompt(std::make_shared<const PromptBody>(std::move(body)), seed, sample);
           }),
           py::arg("text"), py::kw_only(), py::arg("temperature") = 0.0, py::arg("max_tokens") = 512,
           py::arg("stop") = py::list(), py::arg("seed") = 0, py::arg("sample") = 0, py::arg("prefill") = "",
           py::arg("ids") = py::list(), py::arg("grammar") = "", py::arg("keep_tokens") = false,
           "A bare prompt: one user message. `prefill`: how the answer begins; the model goes on from there. `ids`: a "
           "raw prompt as token ids, sent in place of the text. `grammar`: GBNF that the text must follow. "
           "`keep_tokens`: the completion's `token_ids` and `logprobs` are wanted.")
      .def_property_readonly("text", &Prompt::text, "The last message's content.")
      .def_property_readonly("purpose", &Prompt::purpose, "What it is for: 'rollout', 'termination' ...")
      .def_property_readonly(
          "messages",
          [](const Prompt& p) {
            py::typing::List<Texts> messages;
            for (const auto& message : p.body().messages)
              messages.append(py::dict(py::arg("role") = message.role, py::arg("content") = message.content));
            return messages;
          },
          "As a chat server wants them: [{'role', 'content'}].")
      .def_property_readonly("slots", &slots, "The values that were filled into the prompt's text, by slot.")
      .def_property_readonly("seed", &Prompt::seed,
                             "Sample i of a prompt is drawn under seed + i; nothing for greedy requests.")
      .def_property_readonly("sample", &Prompt::sample)
      .def_property_readonly(
          "key", [](const Prompt& p) { return p.key().hex(); }, "Identity of the request, 32 hexadecimal digits.")
      .def("__repr__", [](const Prompt& p) {
        return py::str("Prompt(purpose={!r}, seed={}, sample={}, text={})")
            .format(p.purpose(), p.seed(), p.sample(), brief(p.text()));
      });
  const auto sampling = [&](const char* name, auto field, const char* doc) {
    bound.def_property_readonly(name, [field](const Prompt& p) { return p.sampling().*field; }, doc);
  };
  sampling("temperature", &Sampling::temperature, "0 = greedy.");
  sampling("top_p", &Sampling::top_p, "");
  sampling("top_k", &Sampling::top_k, "0 = all tokens.");
  sampling("max_tokens", &Sampling::max_tokens, "");
  sampling("stop", &Sampling::stop, "A stop string that ends a text belongs to the text.");
  sampling("grammar", &Sampling::grammar, "GBNF that the text must follow, '' = none.");
  sampling("logprobs", &Sampling::logprobs, "True if the sum of token log-probabilities is asked for.");
  sampling("token_logprobs", &Sampling::token_logprobs, "True if that of each token is asked for.");
  sampling("keep_tokens", &Sampling::keep_tokens, "True if `Completion.token_ids` are wanted.");

  py::class_<Completion>(m, "Completion", "One sampled text.")
      .def(py::init([](std::string text, const std::string& finish, std::uint32_t prompt_tokens,
                       std::uint32_t completion_tokens, std::uint32_t thinking_tokens, std::optional<double> logprob,
                       const std::vector<std::pair<std::string, double>>& tokens,
                       const std::vector<std::int64_t>& token_ids, std::vector<double> logprobs) {
             Completion completion(std::move(text));
             completion.finish = named<Completion::Finish>("finish", finish, Completion::finishes);
             completion.prompt_tokens = prompt_tokens;
             completion.completion_tokens = completion_tokens;
             completion.thinking_tokens = thinking_tokens;
             completion.logprob = logprob;
             for (const auto& [token, each] : tokens) completion.tokens.push_back({token, each});
             completion.sampled.logprobs = std::move(logprobs);
             for (const std::int64_t id : token_ids)
               completion.sampled.ids.push_back(id < 0 || id > INT32_MAX ? -1 : static_cast<std::int32_t>(id));
             if (token_ids.empty() || !completion.sampled.possible()) completion.sampled = {};
             return completion;
           }),
           py::arg("text"), py::kw_only(), py::arg("finish") = "stop", py::arg("prompt_tokens") = 0,
           py::arg("completion_tokens") = 0, py::arg("thinking_tokens") = 0, py::arg("logprob") = py::none(),
           py::arg("tokens") = py::list(), py::arg("token_ids") = py::list(), py::arg("logprobs") = py::list(),
           "`token_ids` and `logprobs` are those of all sampled tokens. What cannot be is left out.")
      .def_readonly("text", &Completion::text)
      .def_property_readonly(
          "finish", [](const Completion& c) { return name_of(c.finish, Completion::finishes); },
          "stop, length, other, too_long (the prompt did not fit into the model's context, and the text says so), or "
          "refused (the model refused to reply, and the text is its refusal).")
      .def_readonly("damaged", &Completion::damaged,
                    "A call of a tool or a part in it cannot be read, so nothing in it is read.")
      .def("_failed", &Completion::failed, py::arg("prompt"))
      .def_readonly("prompt_tokens", &Completion::prompt_tokens, "0 = not reported.")
      .def_readonly("completion_tokens", &Completion::completion_tokens, "0 = not reported.")
      .def_readonly("thinking_tokens", &Completion::thinking_tokens,
                    "Of completion_tokens, those of a thought. 0 = not reported.")
      .def_readonly("logprob", &Completion::logprob, "Sum over the tokens up to the stop string, or None.")
      .def_property_readonly(
          "tokens",
          [](const Completion& c) {
            std::vector<std::pair<std::string, double>> tokens;
            for (const Completion::TokenLogprob& token : c.tokens) tokens.emplace_back(token.text, token.logprob);
            return tokens;
          },
          "[(token, its log-probability)], empty if they were not asked for or not given.")
      .def_property_readonly("token_ids", [](const Completion& c) { return c.sampled.ids; })
      .def_property_readonly("logprobs", [](const Completion& c) { return c.sampled.logprobs; })
      .def("__repr__", [](const Completion& c) { return py::str("Completion({})").format(brief(c.text)); });
}

}  // namespace espalier::python
