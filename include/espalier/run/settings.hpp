#pragma once

#include <espalier/backend/http/options.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/llm/passage.hpp>
#include <espalier/llm/prompt.hpp>
#include <espalier/policy/any_pruning.hpp>

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace espalier::run {

template <class In, class Out>
struct Backend;

/// A backend that the program hands to a run.
template <class In, class Out>
struct Given {
  /// Identity of its answers. Without it the journal keeps them no longer than the process.
  std::optional<Hash> fingerprint;
  bool by_name = false;        ///< the fingerprint is made from the name in the settings alone
  bool takes_grammar = false;  ///< a language model that can follow a grammar
  /// Called when the run begins to search, and before its probes. A finished run and a replay never call it.
  std::function<Backend<In, Out>()> open;
};

/// How the lexical index reads the corpus: search options, set by name as bm25.k1 ...
struct Lexical {
  double k1 = 1.2;
  double b = 0.75;
  std::string analyzer = "simple";
  friend bool operator==(const Lexical&, const Lexical&) = default;
};

/// The settings of `espalier expand` and `espalier answer`, in groups. run/settings_table.hpp says what each means,
/// under which name users set it, and whether it decides the trees.
struct Settings {
  enum class Task : std::uint8_t {
    expand,   ///< grow trees with gold answers in the reward, and write data
    answer,   ///< answer without gold
    annotate  ///< add what a model says to the trees of a recorded run, and write data again
  };
  /// Another model for one purpose of a method.
  struct ModelFor {
    std::string purpose;
    std::string model;  ///< "simulated", a URL or the name of a given one
    std::string name;   ///< at the server
  };
  struct Model {
    std::string url = "simulated";
    std::string name;
    std::string revision;
    std::string api = "chat";
    std::string extra_body;
    std::string thinking, finish_reasons;  ///< search options, set by these names
    std::vector<ModelFor> others;          ///< models for single purposes
    std::vector<std::string> endpoints;    ///< further servers: [PURPOSE=]URL[*WEIGHT]
  };
  struct Retriever {
    std::string source = "bm25";
    std::string corpus, index;
    std::string name = "default";
    std::string api = "search-r1";
    std::string reranker, reranker_name;
    std::uint32_t rerank_depth = 50;
  };
  struct Encoder {
    std::string url, name;
    std::string profile = "none";
  };
  struct Values {
    std::string source;  ///< the URL of a value server, or the file of a trained head
    std::string name = "default";
    [[nodiscard]] bool served() const { return source == GivenBackends::source || source.find("://") != source.npos; }
    [[nodiscard]] std::string head() const { return served() ? "" : source; }
  };
  struct Servers {
    std::string kind = "auto";
    bool stream = false;
    std::string api_key_file;
    std::string session;  ///< what names a question to routers
    double timeout = 300, deadline = 600, wait = 0;
    int attempts = 0;
    std::shared_ptr<backend::HttpWatch> watch = nullptr;  ///< told of silent servers, null = nobody
  };
  struct Journal {
    bool keep = true, replay = false, keep_tokens = false;
    std::string file;        ///< "" = journal.sqlite in the run's folder
    std::string batch_file;  ///< file for the requests to models called "batch", which are answered later
  };
  struct Execution {
    std::uint64_t in_flight = 64, open_questions = 0;
  };
  struct Output {
    std::string folder;
    bool overwrite = false;
  };
  /// Backends of a program. A setting names one in place of a URL: "given", for models a key of `models`.
  struct GivenBackends {
    static constexpr const char* source = "given";
    std::map<std::string, Given<Prompt, Completion>> models;  ///< by "given", or "given:PURPOSE" for one purpose
    std::optional<Given<Query, Passages>> retriever;
    std::optional<Given<EncodeRequest, Embedding>> encoder, values;
    AnyPruning prune;  ///< in place of the text
  };

  Task task = Task::expand;
  std::string method = "decex";
  std::string preset;                                    ///< "paper" or "code": options before `set`
  std::vector<std::pair<std::string, std::string>> set;  ///< search options by name
  std::string prune;                                     ///< pruning policies by text
  std::string constrain = "auto";                        ///< off, always, draft, or auto: as probes of the model show
  std::uint64_t seed = 1;
  std::string questions;
  std::uint64_t limit = 0;
  std::string shard;  ///< "I/N": of these questions part I of N, "" = all
  std::string prompts;
  std::string trees;              ///< trees.jsonl of the recorded run, for `annotate`
  std::vector<std::string> with;  ///< what `annotate` adds
  Model model;
  Retriever retriever;
  Encoder encoder;
  Values values;
  Servers servers;
  Journal journal;
  Execution execution;
  Output output;
  GivenBackends given;  ///< what settings call "given"

  /// The main model, whose purpose is "", and those for single purposes.
  [[nodiscard]] std::vector<ModelFor> models() const {
    std::vector<ModelFor> all{{"", model.url, model.name}};
    all.insert(all.end(), model.others.begin(), model.others.end());
    return all;
  }
  [[nodiscard]] ModelFor model_for(const std::string& purpose) const {
    for (const ModelFor& other : model.others)
      if (other.purpose == purpose) return other;
    return models().front();
  }
  /// The purpose that an endpoint names, "" = the main model.
  static std::string purpose_of(const std::string& endpoint) {
    const std::size_t equals = endpoint.find('=');
    return equals < endpoint.find("://") ? endpoint.substr(0, equals) : "";
  }
  /// More servers for the model of a purpose ("" = the main model), as URL[*WEIGHT].
  [[nodiscard]] std::vector<std::string> endpoints_for(const std::string& purpose) const {
    std::vector<std::string> urls;
    for (const std::string& endpoint : model.endpoints)
      if (purpose_of(endpoint) == purpose)
        urls.push_back(purpose.empty() ? endpoint : endpoint.substr(purpose.size() + 1));
    return urls;
  }
};

namespace detail {

/// One of N parts of a run's questions, which its machine works on alone. The hash of a question's id says in which
/// part it stands, so that a part is the same wherever and whenever it is taken.
class Shard {
 public:
  /// `text` is "I/N" with 1 <= I <= N, or "" for all questions. Throws std::invalid_argument.
  explicit Shard(const std::string& text) {
    if (text.empty()) return;
    const char* const end = text.data() + text.size();
    const auto part = std::from_chars(text.data(), end, part_);
    const bool cut = part.ec == std::errc() && part.ptr != end && *part.ptr == '/';
    const auto whole = cut ? std::from_chars(part.ptr + 1, end, parts_) : part;
    if (!cut || whole.ec != std::errc() || whole.ptr != end || part_ < 1 || part_ > parts_)
      bad_option("shard", text, "I/N, from 1/N to N/N");
  }
  /// Whether the question with this id stands in this part.
  [[nodiscard]] bool takes(std::string_view id) const { return Hasher().add(id).finish().low % parts_ == part_ - 1; }

 private:
  std::uint64_t part_ = 1, parts_ = 1;
};

}  // namespace detail

/// The progress of a run.
struct Progress {
  std::size_t questions_done = 0;
  std::size_t questions = 0;
  std::uint64_t calls = 0;   ///< completions applied
  std::uint64_t tokens = 0;  ///< prompt + completion tokens of the finished questions
  double best_reward = 0;    ///< mean reward of the chosen answers over the finished questions
  double seconds = 0;
  std::string trouble;  ///< servers that do not reply, or the reason of the first open question, "" = none
  std::optional<std::uint64_t> probes{};  ///< while probes of the model are asked: how many were answered
};

/// Called at least every 50 ms. It may throw to stop the run, which leaves a resumable journal.
using ProgressHook = std::function<void(const Progress&)>;

/// Called with the folder of a run's new files before they take their places. What it writes there is an output too.
using OutputHook = std::function<void(const std::filesystem::path&)>;

}  // namespace espalier::run
