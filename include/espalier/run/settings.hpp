#pragma once

#include <espalier/backend/http/watch.hpp>

#include <cstdint>
#include <functional>
#include <memory>
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

/// The settings of `espalier expand` and `espalier answer`. Search options are in `set`. All other numbers are
/// execution options and change no tree.
struct Settings {
  enum class Task : std::uint8_t {
    expand,   ///< grow trees with gold answers in the reward, and write data
    answer,   ///< answer without gold
    annotate  ///< add what a model says to the trees of a recorded run, and write data again
  };
  Task task = Task::expand;
  std::string method = "decex";
  std::string preset;                  ///< "paper" or "code": options before `set`. "" = the method's own defaults
  std::string questions;               ///< JSONL file
  std::string corpus;                  ///< JSONL file, may be empty with a remote retriever
  std::string index;                   ///< index folder, instead of the corpus
  std::string model = "simulated";     ///< "simulated" or the URL of an OpenAI-compatible server
  std::vector<std::string> endpoints;  ///< further servers of a model: [PURPOSE=]URL[*WEIGHT]
  std::string model_name;              ///< the model's name at the server
  std::string model_revision;          ///< of the weights, part of the journal's key
  bool chat = true;                    ///< chat completions, or plain ones
  std::string server = "auto";         ///< kind of the model's server (backend/chat/dialect.hpp), "auto" = ask it
  bool stream = false;                 ///< replies come in chunks
  bool native_n = false;               ///< an `other` server supports `n`
  std::string extra_body;              ///< a JSON object merged into every model request, part of the journal's key
  std::string ca_file;                 ///< PEM file of trusted authorities, "" = $SSL_CERT_FILE or the system's
  std::string proxy;                   ///< proxy for all servers, "" = that of the environment
  std::string api_key_file;            ///< file with the servers' key, "" = the variable OPENAI_API_KEY
  std::string retriever = "bm25";  ///< "bm25", "dense", "hybrid", "dense:FILE", "hybrid:FILE", "faiss:INDEX" or a URL
  std::string retriever_name = "default";  ///< name of a remote retriever's corpus and index, part of the journal's key
  std::string retriever_protocol = "search-r1";  ///< protocol of the server: search-r1, rerank, pyserini, elasticsearch
  std::string reranker;                          ///< URL of a reranker that orders retrieved passages again, "" = none
  std::string reranker_name;                     ///< its model's name at the server
  std::uint32_t rerank_depth = 50;               ///< number of passages it sees
  std::string encoder_profile = "none";          ///< how the encoder was trained (encoder_profile.hpp)
  std::string encoder_cut = "none";              ///< how texts are cut to the profile's length: none, vllm, llamacpp
  std::string encoder;       ///< URL of an embeddings server: for dense, faiss, value heads, choices by embedding
  std::string encoder_name;  ///< the encoder's name at its server
  std::string value_server;  ///< URL of a server that gives plan and search values
  std::string value_name = "default";  ///< name of the value model, part of the journal's key
  std::string value_head;              ///< file of a trained head over the encoder's embeddings
  std::string out;                     ///< folder of the run
  std::string trees;                   ///< trees.jsonl of the recorded run, for `annotate`
  std::vector<std::string> with;       ///< what `annotate` adds
  std::string prompts;                 ///< folder of prompts to use instead of the built-in ones
  std::size_t limit = 0;               ///< number of questions to use, 0 = all
  std::uint64_t seed = 1;
  std::size_t in_flight = 64;      ///< outstanding requests, or the largest batch of a synchronous model
  std::size_t open_questions = 0;  ///< live trees, 0 = 4 times in_flight
  double timeout = 300;            ///< seconds per attempt
  double deadline = 600;           ///< seconds per request with all its attempts
  int attempts = 0;                ///< attempts per request, 0 = as many as the deadline allows
  double contact = 30;             ///< seconds without a server's reply before this is reported, 0 = never
  std::shared_ptr<backend::HttpWatch> watch = nullptr;  ///< reports it, null = nobody
  double hedge = 0;        ///< latency quantile after which a request is copied to another endpoint, 0 = never
  bool overwrite = false;  ///< start over if options, inputs or seed have changed, keeping the journal
  bool journal = true;
  std::string journal_file;      ///< a journal shared by several runs, "" = journal.sqlite in the run's folder
  std::string batch_file;        ///< file for the requests to models called "batch", which are answered later
  bool replay = false;           ///< answer only from the folder's journal. Without an answer a question stays open
  std::vector<ModelFor> models;  ///< other models for single purposes
  std::vector<std::pair<std::string, std::string>> set;  ///< search options by name

  /// The purpose that an endpoint names, "" = the main model.
  static std::string purpose_of(const std::string& endpoint) {
    const std::size_t equals = endpoint.find('=');
    return equals < endpoint.find("://") ? endpoint.substr(0, equals) : "";
  }
  /// More servers for the model of a purpose ("" = the main model), as URL[*WEIGHT].
  [[nodiscard]] std::vector<std::string> endpoints_for(const std::string& purpose) const {
    std::vector<std::string> urls;
    for (const std::string& endpoint : endpoints)
      if (purpose_of(endpoint) == purpose)
        urls.push_back(purpose.empty() ? endpoint : endpoint.substr(purpose.size() + 1));
    return urls;
  }
};

/// The progress of a run.
struct Progress {
  std::size_t questions_done = 0;
  std::size_t questions = 0;
  std::uint64_t calls = 0;   ///< completions applied
  std::uint64_t tokens = 0;  ///< prompt + completion tokens of the finished questions
  double best_reward = 0;    ///< mean reward of the chosen answers over the finished questions
  double seconds = 0;
  std::string trouble;  ///< servers that do not reply, or the reason of the first open question, "" = none
};

/// Called at least every 50 ms. It may throw to stop the run, which leaves a resumable journal.
using ProgressHook = std::function<void(const Progress&)>;

}  // namespace espalier::run
