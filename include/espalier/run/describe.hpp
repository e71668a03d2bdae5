#pragma once

#include <espalier/method/method.hpp>
#include <espalier/run/index_folder.hpp>
#include <espalier/run/outputs.hpp>
#include <espalier/run/retrievers.hpp>
#include <espalier/run/run_record.hpp>
#include <espalier/run/settings.hpp>

#include <filesystem>
#include <string>
#include <utility>

namespace espalier::run {

/// Everything that decides the result of a run.
inline detail::RunRecord describe(const Settings& settings, method::Method& method, const rag::PromptSet& prompts) {
  detail::RunRecord record;
  record.add_text("task", settings.task != Settings::Task::answer ? "expand" : "answer");
  record.add_text("method", settings.method);
  record.add("seed", std::to_string(settings.seed));
  record.add("limit", std::to_string(settings.limit));
  Hasher texts;
  for (const auto& [purpose, text] : prompts.texts()) texts.add(purpose).add(text);
  record.add_text("inputs.questions", detail::hash_file(settings.questions).hex());
  record.add_text("inputs.corpus", settings.corpus.empty() ? "" : detail::hash_file(settings.corpus).hex());
  if (!settings.index.empty())
    record.add_text(
        "inputs.index",
        detail::IndexFolder(settings.index).hash(settings.retriever == "dense" || settings.retriever == "hybrid"));
  if (const std::string file = detail::retriever_file(settings); !file.empty())
    record.add_text("inputs.retriever", detail::hash_file(file).hex());
  record.add_text("inputs.prompts", texts.finish().hex());
  record.add_text("inputs.value_head", settings.value_head.empty() ? "" : detail::hash_file(settings.value_head).hex());
  record.add_text("model.name", settings.model == "simulated" ? "simulated" : settings.model_name);
  record.add_text("model.revision", settings.model_revision);
  record.add_text("model.api", settings.chat ? "chat" : "completions");
  record.add_text("model.extra_body", settings.extra_body);
  std::string others;
  for (const ModelFor& other : settings.models)
    others +=
        (others.empty() ? "" : ", ") + other.purpose + "=" + (other.model == "simulated" ? other.model : other.name);
  record.add_text("model.for", others);
  record.add_text("retriever.kind", detail::is_url(settings.retriever) ? "remote" : settings.retriever);
  record.add_text("retriever.name", settings.retriever_name);
  record.add_text("retriever.reranker", settings.reranker.empty() ? "" : settings.reranker_name);
  record.add("retriever.rerank_depth", settings.reranker.empty() ? "0" : std::to_string(settings.rerank_depth));
  record.add_text("encoder.name", settings.encoder_name);
  record.add_text("encoder.profile", settings.encoder_profile);
  record.add_text("encoder.cut", settings.encoder_cut);
  record.add_text("value.name", settings.value_server.empty() ? "" : settings.value_name);
  for (const auto& option : method.options().help()) record.add("options." + option[0], option[1]);
  const std::pair<const char*, const std::string&> files[] = {{"questions", settings.questions},
                                                              {"corpus", settings.corpus},
                                                              {"index", settings.index},
                                                              {"prompts", settings.prompts},
                                                              {"journal", settings.journal_file}};
  for (const auto& [name, file] : files)
    record.note(name, file.empty() ? file : std::filesystem::absolute(file).lexically_normal().string());
  return record;
}

}  // namespace espalier::run
