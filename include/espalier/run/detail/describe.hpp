#pragma once

#include <espalier/method/method.hpp>
#include <espalier/run/detail/index_folder.hpp>
#include <espalier/run/detail/outputs.hpp>
#include <espalier/run/detail/retrievers.hpp>
#include <espalier/run/detail/run_record.hpp>
#include <espalier/run/settings.hpp>

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::run::detail {

/// The given backends whose names are their fingerprints, so that a replay can do without them: "model, retriever".
inline std::string given_by_name(const Settings::GivenBackends& given) {
  std::string names;
  const auto add = [&](const std::string& name) { names += (names.empty() ? "" : ", ") + name; };
  for (const auto& [source, model] : given.models)
    if (model.by_name) add("model" + source.substr(std::string_view(Settings::GivenBackends::source).size()));
  if (given.retriever && given.retriever->by_name) add("retriever");
  if (given.encoder && given.encoder->by_name) add("encoder");
  if (given.values && given.values->by_name) add("values");
  return names;
}

/// Everything that decides the result of a run.
inline RunRecord describe(const Settings& settings, method::Method& method, const rag::PromptSet& prompts) {
  RunRecord record;
  record.add_text("task", settings.task != Settings::Task::answer ? "expand" : "answer");
  record.add_text("method", settings.method);
  record.add("seed", std::to_string(settings.seed));
  record.add("limit", std::to_string(settings.limit));
  record.add_text("shard", settings.shard);
  Hasher texts;
  for (const auto& [purpose, text] : prompts.texts()) texts.add(purpose).add(text);
  record.add_text("inputs.questions", hash_file(settings.questions).hex());
  record.add_text("inputs.corpus", settings.retriever.corpus.empty() ? "" : hash_file(settings.retriever.corpus).hex());
  if (!settings.retriever.index.empty())
    record.add_text("inputs.index",
                    IndexFolder(settings.retriever.index)
                        .hash(settings.retriever.source == "dense" || settings.retriever.source == "hybrid"));
  if (const std::string file = faiss_file(settings); !file.empty())
    record.add_text("inputs.retriever", hash_file(file).hex());
  record.add_text("inputs.prompts", texts.finish().hex());
  record.add_text("inputs.value_head", settings.values.head.empty() ? "" : hash_file(settings.values.head).hex());
  record.add_text("model.name", settings.model.url == "simulated" ? "simulated" : settings.model.name);
  record.add_text("model.revision", settings.model.revision);
  record.add_text("model.api", settings.model.api);
  record.add_text("model.extra_body", settings.model.extra_body);
  if (!settings.model.thinking.empty()) record.add_text("model.thinking", settings.model.thinking);
  std::string others;
  for (const Settings::ModelFor& other : settings.model.others)
    others +=
        (others.empty() ? "" : ", ") + other.purpose + "=" + (other.model == "simulated" ? other.model : other.name);
  record.add_text("model.for", others);
  record.add_text("retriever.kind", is_url(settings.retriever.source) ? "remote" : settings.retriever.source);
  record.add_text("retriever.name", settings.retriever.name);
  record.add_text("retriever.reranker", settings.retriever.reranker.empty() ? "" : settings.retriever.reranker_name);
  record.add("retriever.rerank_depth",
             settings.retriever.reranker.empty() ? "0" : std::to_string(settings.retriever.rerank_depth));
  record.add_text("encoder.name", settings.encoder.name);
  record.add_text("encoder.profile", settings.encoder.profile);
  record.add_text("value.name", settings.values.server.empty() ? "" : settings.values.name);
  for (const auto& option : method.options().help()) record.add("options." + option[0], option[1]);
  const std::pair<const char*, const std::string&> files[] = {{"questions", settings.questions},
                                                              {"corpus", settings.retriever.corpus},
                                                              {"index", settings.retriever.index},
                                                              {"prompts", settings.prompts},
                                                              {"journal", settings.journal.file}};
  for (const auto& [name, file] : files)
    record.note(name, file.empty() ? file : std::filesystem::absolute(file).lexically_normal().string());
  if (const std::string named = given_by_name(settings.given); !named.empty()) record.note("given", named);
  return record;
}

}  // namespace espalier::run::detail
