#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// Another model for one purpose of a method.
struct ModelFor {
  std::string purpose;
  std::string model;  ///< "simulated" or a URL
  std::string name;   ///< at the server
};

/// How the lexical index reads the corpus: search options, set by name as bm25.k1 ...
struct Lexical {
  double k1 = 1.2;
  double b = 0.75;
  std::string analyzer = "simple";
  friend bool operator==(const Lexical&, const Lexical&) = default;
};

/// What `espalier expand` and `espalier answer` are asked to do. Search options are in `set`; all other numbers are
/// execution options and change no tree.
struct Settings {
  enum class Task : std::uint8_t {
    expand,  ///< grow trees with gold answers in the reward, harvest data
    answer,  ///< answer without gold
    annotate ///< add what a model says to the trees of a recorded run, and harvest again
  };
  Task task = Task::expand;
  std::string method = "decex";
  std::string preset;                   ///< "paper" or "code": what the options are before `set`; "" = the method's own defaults
  std::string questions;                ///< JSONL file
  std::string corpus;                   ///< JSONL file; may be empty with a remote retriever
  std::string index;                    ///< index folder, in place of the corpus
  std::string model = "simulated";      ///< "simulated" or the URL of an OpenAI-compatible server
  std::vector<std::string> endpoints;   ///< further servers with a model: [PURPOSE=]URL[*WEIGHT], the purpose one of `models`; the model's own URL weighs 1
  std::string model_name;               ///< the model's name at the server
  std::string model_revision;           ///< of its weights, part of the journal's key
  bool chat = true;                     ///< chat completions, or plain ones
  std::string server = "auto";          ///< what sort of server the model is behind (backend/chat/dialect.hpp); "auto" = it is asked
  bool stream = false;                  ///< replies come in chunks
  bool native_n = false;                ///< a server of another sort knows `n`
  std::string extra_body;               ///< a JSON object merged into every request to a model; part of the journal's key
  std::string ca_file;                  ///< PEM file of trusted authorities; "" = $SSL_CERT_FILE or the system's
  std::string proxy;                    ///< on the way to all servers; "" = that of the environment
  std::string api_key_file;             ///< file with the servers' key; "" = the variable OPENAI_API_KEY
  std::string retriever = "bm25";       ///< "bm25", "dense" or "hybrid" (an index's vectors), "dense:FILE", "hybrid:FILE", "faiss:INDEX" or the URL of a retrieval server
  std::string retriever_name = "default";  ///< what a remote retriever searches: corpus and index, part of the journal's key
  std::string retriever_protocol = "search-r1";  ///< which the server speaks: search-r1, rerank, pyserini, elasticsearch
  std::string reranker;                 ///< URL of a reranker that orders what the retriever found anew; "" = none
  std::string reranker_name;            ///< its model's name at the server
  std::uint32_t rerank_depth = 50;      ///< passages that it sees
  std::string encoder_profile = "none"; ///< what the encoder was trained with: encoder_profile.hpp
  std::string encoder_cut = "none";     ///< how texts are cut to the profile's length: none, vllm, llamacpp
  std::string encoder;                  ///< URL of an embeddings server: for dense, faiss, value heads, choices by embedding
  std::string encoder_name;             ///< the encoder's name at its server
  std::string value_server;             ///< URL of a server that gives plan and search values
  std::string value_name = "default";   ///< of the model behind it, part of the journal's key
  std::string value_head;               ///< file of a trained head over the encoder's embeddings
  std::string out;                      ///< folder of the run
  std::string trees;                    ///< trees.jsonl of the recorded run, for `annotate`
  std::vector<std::string> with;        ///< what `annotate` adds
  std::string prompts;                  ///< folder of prompts to use instead of the built-in ones
  std::size_t limit = 0;                ///< the first so many questions, 0 = all
  std::uint64_t seed = 1;
  std::size_t in_flight = 64;           ///< outstanding requests, or the largest batch of a synchronous model
  std::size_t open_questions = 0;       ///< live trees, 0 = 4 times in_flight
  double timeout = 300;                 ///< seconds an attempt
  double deadline = 600;                ///< seconds a request with all its attempts
  int attempts = 0;                     ///< attempts a request, 0 = as many as the deadline allows
  double hedge = 0;                     ///< requests slower than this quantile are copied to a second endpoint; 0 = never
  bool overwrite = false;               ///< start over where search options, inputs or seed have changed; keeps the journal
  bool journal = true;
  std::string journal_file;             ///< a journal that several runs share; "" = journal.sqlite in the run's folder
  std::string batch_file;               ///< gets the requests to models called "batch", which are answered another day
  bool replay = false;                  ///< answer from the folder's journal alone; what is not in it leaves a question open
  std::vector<ModelFor> models;         ///< other models for single purposes
  std::vector<std::pair<std::string, std::string>> set;  ///< search options by name

  /// The purpose that an endpoint names, "" = none: it is one of the main model's.
  static std::string purpose_of(const std::string& endpoint) {
    const std::size_t equals = endpoint.find('=');
    return equals < endpoint.find("://") ? endpoint.substr(0, equals) : "";
  }
  /// Further servers with the model of a purpose, "" = the main model: URL[*WEIGHT].
  [[nodiscard]] std::vector<std::string> endpoints_for(const std::string& purpose) const {
    std::vector<std::string> urls;
    for (const std::string& endpoint : endpoints)
      if (purpose_of(endpoint) == purpose) urls.push_back(purpose.empty() ? endpoint : endpoint.substr(purpose.size() + 1));
    return urls;
  }
};

/// How far a run is.
struct Progress {
  std::size_t questions_done = 0;
  std::size_t questions = 0;
  std::uint64_t calls = 0;   ///< completions applied
  std::uint64_t tokens = 0;  ///< prompt + completion tokens of the finished questions
  double best_reward = 0;    ///< mean over the finished questions of the chosen answer's reward
  double seconds = 0;
};

/// Called at least every 50 ms; may throw to stop the run, which leaves a resumable journal.
using ProgressHook = std::function<void(const Progress&)>;

}  // namespace espalier::run
