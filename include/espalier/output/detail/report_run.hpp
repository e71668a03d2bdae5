#pragma once

#include <espalier/core/error.hpp>
#include <espalier/output/detail/jsonl.hpp>

#include <simdjson.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::output::detail {

/// What a run's files hold about one question, as JSON. Empty where they hold nothing.
struct ReportQuestion {
  std::string id, answer, tree;
  std::string pairs;  ///< an array of preference pairs
};

/// The questions of a run's folder, in order: answers.jsonl, with what trees.jsonl and the preference pairs (dpo.jsonl,
/// or the pairs of prm.jsonl) hold about each.
class ReportRun {
 public:
  /// Throws InputError that names the file that cannot be read.
  explicit ReportRun(const std::filesystem::path& folder)
      : answers_(folder / "answers.jsonl"), trees_(folder / "trees.jsonl"), pairs_(pairs_of(folder)) {}

  /// The next question. Throws InputError for a row without an id, or for a row that is out of order.
  std::optional<ReportQuestion> next() {
    if (answers_.row().empty()) {
      for (Rows* left : {&trees_, &pairs_})
        if (!left->row().empty())
          throw InputError(left->path(), 0, "id",
                           "holds a row whose question answers.jsonl does not name in its order");
      return std::nullopt;
    }
    ReportQuestion question{*answers_.question(), answers_.row(), "", ""};
    answers_.take();
    if (trees_.question() == question.id) question.tree = trees_.take();
    for (; pairs_.question() == question.id; pairs_.take()) {
      if (!pairs_.is_pair()) continue;
      (question.pairs += question.pairs.empty() ? '[' : ',') += pairs_.row();
    }
    if (!question.pairs.empty()) question.pairs += ']';
    return question;
  }

 private:
  /// The lines of a file, of which one is read ahead. Without a file name there are none.
  class Rows {
   public:
    explicit Rows(const std::filesystem::path& path) : path_(path.string()) {
      if (path.empty()) return;
      file_.open(path, std::ios::binary);
      if (!file_) throw InputError(path_, 0, "", "cannot be read");
      take();
    }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::string& row() const { return row_; }
    std::string take() {
      std::string taken = std::move(row_), line;
      row_ = std::getline(file_, line) ? std::move(line) : std::string();
      question_.reset();
      return taken;
    }
    /// The id of the question of the current row, nothing after the last row.
    const std::optional<std::string>& question() {
      if (row_.empty() || question_) return question_;
      const auto row = parser_.parse(row_);
      std::string_view id;
      if (row["provenance"]["tree"].get(id) != simdjson::SUCCESS && row["id"].get(id) != simdjson::SUCCESS)
        throw InputError(path_, 0, "id", "a row has none");
      pair_ = row["rejected"].error() == simdjson::SUCCESS;
      return question_ = std::string(id);
    }
    [[nodiscard]] bool is_pair() const { return pair_; }

   private:
    std::string path_, row_;
    std::ifstream file_;
    std::optional<std::string> question_;
    bool pair_ = false;
    simdjson::dom::parser parser_;
  };

  static std::filesystem::path pairs_of(const std::filesystem::path& folder) {
    for (const char* name : {"dpo.jsonl", "prm.jsonl"})
      if (std::filesystem::exists(folder / name)) return folder / name;
    return {};
  }

  Rows answers_, trees_, pairs_;
};

/// The text of a run's summary.json.
inline std::string read_summary(const std::filesystem::path& folder) {
  std::ifstream file(folder / "summary.json", std::ios::binary);
  if (!file) throw InputError((folder / "summary.json").string(), 0, "", "cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace espalier::output::detail
