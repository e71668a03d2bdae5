#pragma once

#include <espalier/core/error.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/method/option_table.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/sim/skills.hpp>

#include <algorithm>
#include <cstdint>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace espalier::run::detail {

/// Where the value of a setting is kept, by its type.
using SettingField =
    std::variant<std::string*, bool*, double*, int*, std::uint32_t*, std::uint64_t*, std::vector<std::string>*,
                 std::vector<Settings::ModelFor>*, std::vector<std::pair<std::string, std::string>>*>;

/// One setting of a run. The command's options, Python's keywords and the pages of the docs are made from these rows.
struct Setting {
  std::string_view name;  ///< Python's keyword
  SettingField field;
  std::string_view option;  ///< the command's option, "" = none, "OPTION?KEY" = part of the address in an option
  std::string_view value;   ///< what stands for its value in help
  std::string_view record;  ///< its name in run.json. "" = an execution option, which changes no tree
  std::string_view help;
  std::string_view choices = "";  ///< all allowed values, "a, b", empty = anything of its type
};

struct SettingGroup {
  std::string_view name;
  std::vector<Setting> settings;
};

/// The settings of a run, with the fields of `s`, which must outlive the table.
inline std::vector<SettingGroup> settings_table(Settings& s) {
  return {
      {"search",
       {{"method", &s.method, "method", "METHOD", "method", "which method searches"},
        {"preset", &s.preset, "preset", "", "options", "as its paper (BM25 too) or its code has them", "paper, code"},
        {"set", &s.set, "set", "OPTION=VALUE", "options", "a search option. `espalier options` lists them"},
        {"prune", &s.prune, "prune", "POLICY", "options", "the search option `prune`, as top_k:2 or threshold:0.3"},
        {"constrain", &s.constrain, "constrain", "", "options",
         "whether replies follow a grammar. auto: for purposes where too few probes of the model can be read",
         "auto, off, always, draft"},
        {"seed", &s.seed, "seed", "S", "seed", "seed of the run"},
        {"questions", &s.questions, "questions", "FILE", "inputs.questions", "JSONL with id, question, golden_answers"},
        {"limit", &s.limit, "limit", "N", "limit", "the number of questions, the first ones of the file, 0 = all"},
        {"shard", &s.shard, "shard", "I/N", "shard",
         "part I of N of the questions, 1/N to N/N. It counts after --limit. `espalier merge` joins the parts"},
        {"prompts", &s.prompts, "prompts", "DIR", "inputs.prompts", "folder of prompts in place of the built-in ones"},
        {"trees", &s.trees, "", "FILE", "", "trees.jsonl of the recorded run, for `annotate`"},
        {"with", &s.with, "", "NAME", "", "what `annotate` adds"}}},
      {"model",
       {{"model", &s.model.url, "model", "MODEL", "model.name",
         "simulated, the URL of an OpenAI-compatible server, or in process gguf:FILE[?slots=N&context=N&threads=N] and "
         "hf:FOLDER[?device=NAME&batch=N]"},
        {"model_name", &s.model.name, "model-name", "NAME", "model.name", "the model's name at the server"},
        {"model_revision", &s.model.revision, "model-revision", "REVISION", "model.revision",
         "revision of its weights. It is part of the journal's keys"},
        {"models", &s.model.others, "model-for", "PURPOSE=MODEL[,NAME]", "model.for",
         "another model for one purpose, such as rollout. It may be repeated"},
        {"endpoints", &s.model.endpoints, "endpoint", "[PURPOSE=]URL[*WEIGHT]", "",
         "a further server with that model, or with a purpose's own. The model's own URL weighs 1. It may be repeated"},
        {"api", &s.model.api, "model?api", "", "model.api", "which interface is asked", "chat, completions"},
        {"extra_body", &s.model.extra_body, "extra-body", "JSON", "model.extra_body",
         "JSON object merged into every request to a model. It is part of the journal's keys"}}},
      {"retriever",
       {{"corpus", &s.retriever.corpus, "corpus", "FILE", "inputs.corpus",
         "JSON lines with id, title, contents, or TSV. A retrieval server needs none"},
        {"index", &s.retriever.index, "index", "DIR", "inputs.index", "folder that `index build` made of the corpus"},
        {"retriever", &s.retriever.source, "retriever", "NAME|URL", "retriever.kind",
         "bm25, dense or hybrid (an index's vectors), faiss:INDEX or a server's URL"},
        {"retriever_name", &s.retriever.name, "retriever?name", "NAME", "retriever.name",
         "what a retrieval server searches. It is part of the journal's keys"},
        {"retriever_api", &s.retriever.api, "retriever?api", "", "", "which interface the retrieval server has",
         "search-r1, rerank, pyserini, elasticsearch"},
        {"reranker", &s.retriever.reranker, "reranker", "URL", "retriever.reranker", "URL of a reranker (/rerank)"},
        {"reranker_name", &s.retriever.reranker_name, "reranker?name", "NAME", "retriever.reranker",
         "the reranker's model"},
        {"rerank_depth", &s.retriever.rerank_depth, "reranker?depth", "N", "retriever.rerank_depth",
         "passages that it sees"}}},
      {"encoder and values",
       {{"encoder", &s.encoder.url, "encoder", "URL", "",
         "an embeddings server, or in process gguf:FILE: for dense, faiss, value heads, choices by embedding"},
        {"encoder_name", &s.encoder.name, "encoder?name", "NAME", "encoder.name", "the encoder's name at its server"},
        {"encoder_profile", &s.encoder.profile, "encoder?profile", "NAME", "encoder.profile",
         "prefixes, scaling, length: e5, e5-instruct, bge, gte, minilm"},
        {"values", &s.values.source, "values", "URL|FILE", "inputs.value_head",
         "URL of a server of plan and search values, or file of a trained head over the encoder (decouple)"},
        {"value_name", &s.values.name, "values?name", "NAME", "value.name",
         "name of the model behind the value server. It is part of the journal's keys"}}},
      {"servers",
       {{"server", &s.servers.kind, "server", "KIND", "",
         "the kind of the model's server: vllm, sglang, llamacpp, ollama, openai or other. auto asks it"},
        {"stream", &s.servers.stream, "stream", "", "", "chunked replies, for gateways that cut silent connections"},
        {"api_key_file", &s.servers.api_key_file, "api-key-file", "FILE", "", "file of the key (else OPENAI_API_KEY)"},
        {"session", &s.servers.session, "model?session", "NAME:TEMPLATE", "", "header, or by NAME= field, for routers"},
        {"timeout", &s.servers.timeout, "timeout", "S", "", "seconds per attempt"},
        {"deadline", &s.servers.deadline, "deadline", "S", "", "seconds per request with all its attempts"},
        {"attempts", &s.servers.attempts, "attempts", "N", "", "attempts per request, 0 = what the deadline allows"},
        {"wait", &s.servers.wait, "wait", "S", "", "seconds to wait for a server that is starting"}}},
      {"journal",
       {{"journal_file", &s.journal.file, "journal", "FILE", "",
         "file that keeps the responses, shared with other runs (journal.sqlite in the run's folder)"},
        {"journal", &s.journal.keep, "no-journal", "", "", "without a journal a run that was stopped starts over"},
        {"batch_file", &s.journal.batch_file, "", "FILE", "", "file for requests to models called \"batch\""},
        {"replay", &s.journal.replay, "replay", "", "", "answer from the journal alone"},
        {"keep_tokens", &s.journal.keep_tokens, "keep-tokens", "", "",
         "keep ids and log-probabilities of sampled tokens (tokens.jsonl), where the server tells them"}}},
      {"execution",
       {{"in_flight", &s.execution.in_flight, "in-flight", "N", "", "outstanding requests, or the largest batch"},
        {"open_questions", &s.execution.open_questions, "open-questions", "N", "",
         "trees that grow at once, 0 = 4 times --in-flight"}}},
      {"output",
       {{"out", &s.output.folder, "out", "DIR", "", "folder of the run. The same command goes on where it was stopped"},
        {"overwrite", &s.output.overwrite, "overwrite", "", "",
         "start over where options, inputs or seed have changed. The journal is kept"}}}};
}

/// Adds the search options that every run has beside its method's, as fields of these three. The table refers to them.
inline void add_run_options(method::OptionTable& table, Settings::Model& model, sim::Skills& skills, Lexical& bm25) {
  for (const auto& [name, rate] : sim::Skills::rates())
    table.add("sim." + std::string(name), skills.*rate, "a rate of the simulated model", method::Range::between(0, 1));
  table.add("bm25.k1", bm25.k1, "saturation of repeated words", method::Range::at_least(0))
      .add("bm25.b", bm25.b, "weight of a passage's length", method::Range::between(0, 1))
      .add("bm25.analyzer", bm25.analyzer, "what a word is", "simple, english-lucene")
      .add("thinking", model.thinking, "whether a model thinks, or the most tokens of a thought", "on, off, 1 or more")
      .shown_if_changed()
      .add("finish_reasons", model.finish_reasons, "endings of a server's answers besides the usual ones", "NAME,NAME")
      .shown_if_changed();
}

/// The present value of a setting as JSON. Lists are shown as they begin, empty.
inline std::string setting_json(const Setting& setting) {
  std::string out;
  JsonWriter json(out);
  std::visit(
      [&](const auto* field) {
        using T = std::decay_t<decltype(*field)>;
        if constexpr (std::is_same_v<T, std::string> || std::is_arithmetic_v<T>) json.value(*field);
        else json.begin_array().end_array();
      },
      setting.field);
  return out;
}

/// Throws std::invalid_argument that names the first setting with a value that is not allowed.
inline void check_choices(Settings settings) {
  const auto lists = [](std::string_view choices, std::string_view value) {
    return std::ranges::any_of(choices | std::views::split(std::string_view(", ")),
                               [&](const auto& one) { return std::string_view(one.begin(), one.end()) == value; });
  };
  for (const SettingGroup& group : settings_table(settings))
    for (const Setting& setting : group.settings) {
      if (setting.choices.empty()) continue;
      const std::string& chosen = *std::get<std::string*>(setting.field);
      const bool none = chosen.empty() && setting.name == "preset";
      if (!none && !lists(setting.choices, chosen)) bad_option(setting.name, chosen, setting.choices);
    }
}

}  // namespace espalier::run::detail
