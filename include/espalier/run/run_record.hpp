#pragma once

#include <espalier/core/input_file.hpp>
#include <espalier/method/method.hpp>
#include <espalier/output/flat_json.hpp>
#include <espalier/output/tree_reader.hpp>

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace espalier::run::detail {

/// DIR/run.json: what decides a run's results. A run is continued only under the same record.
class RunRecord {
 public:
  /// Adds a field with a dotted name and a JSON value. Fields keep their order in the file.
  void add(std::string name, std::string json) { fields_.emplace_back(std::move(name), std::move(json)); }
  void add_text(std::string name, std::string_view text) { add(std::move(name), output::detail::quoted(text)); }

  /// A hash of everything that determines the results. Runs of the same identity make the same requests.
  [[nodiscard]] std::string identity() const {
    Hasher hasher;
    for (const auto& [name, json] : std::span(fields_).first(fields_.size() - notes_)) hasher.add(name).add(json);
    return hasher.finish().hex();
  }
  /// Adds a field as a note, for commands that start from the folder. It determines nothing.
  void note(std::string name, std::string_view text) {
    add_text("noted." + std::move(name), text);
    ++notes_;
  }

  /// Throws std::invalid_argument that names the first field that differs from an earlier record in the folder.
  void compare_with(const std::filesystem::path& file) const {
    if (!std::filesystem::exists(file)) return;
    const auto before = output::detail::read_flat_json(file.string());
    for (const auto& [name, json] : std::span(fields_).first(fields_.size() - notes_)) {
      const auto old = before.find(name);
      const std::string& before_json = old == before.end() ? "null" : old->second;
      if (before_json == json || undecided(name, before_json)) continue;
      throw std::invalid_argument(
          fmt::format("{}: this folder holds a run with another {} ({}, now {}); use another folder, or --overwrite",
                      file.string(), name, old == before.end() ? "none" : old->second, json));
    }
  }

  /// The fields of the run that a shard is part of, from those of the shard's run.json, with the file of its journal.
  [[nodiscard]] static output::detail::FlatFields whole(const output::detail::FlatFields& shard,
                                                        std::string_view journal) {
    RunRecord record;
    std::string version;
    for (const auto& [name, json] : shard) {
      if (name == "version") version = json.substr(1, json.size() - 2);
      else if (name == "shard") record.add_text(name, "");
      else if (name == "noted.journal") record.note("journal", journal);
      else if (name != "identity" && name != "annotated" && !name.starts_with("outputs.")) record.add(name, json);
      record.notes_ += name.starts_with("noted.") && name != "noted.journal";
    }
    return record.fields(version);
  }

  /// All that stands in the file when the run begins.
  [[nodiscard]] output::detail::FlatFields fields(std::string_view version) const {
    output::detail::FlatFields all{{"version", output::detail::quoted(version)},
                                   {"identity", output::detail::quoted(identity())}};
    all.insert(all.end(), fields_.begin(), fields_.end());
    return all;
  }

 private:
  /// True for the option of a purpose that is decided only now.
  static bool undecided(std::string_view name, std::string_view old) {
    return old == "null" && name.starts_with("options.sampling.") && name.ends_with(".constrain");
  }

  output::detail::FlatFields fields_;
  std::size_t notes_ = 0;  ///< of the fields, the last so many
};

using espalier::detail::hash_file;

/// The size of a file and the nanoseconds since 1970 when it was written, both as JSON. Nothing if it is not there.
struct FileState {
  std::string bytes, modified;
  static std::optional<FileState> of(const std::filesystem::path& file) {
    struct stat found{};
    if (::stat(file.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return std::nullopt;
    return FileState{std::to_string(found.st_size),
                     std::to_string(std::int64_t(found.st_mtim.tv_sec) * 1'000'000'000 + found.st_mtim.tv_nsec)};
  }
};

/// Notes that the outputs are not the search's alone: running again would not make them.
inline void mark_annotated(output::detail::FlatFields& fields) {
  std::erase_if(fields, [](const auto& field) { return field.first == "annotated"; });
  fields.insert(fields.begin(), {"annotated", "true"});
}

/// Notes a folder's files among the fields of a run.json, anew: outputs.NAME.bytes, .hash and .modified.
inline void note_outputs(output::detail::FlatFields& fields, const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    const std::string name = "outputs." + file.filename().string() + '.';
    std::erase_if(fields, [&](const auto& field) { return field.first.starts_with(name); });
    const FileState state = FileState::of(file).value();
    fields.emplace_back(name + "bytes", state.bytes);
    fields.emplace_back(name + "hash", output::detail::quoted(hash_file(file.string()).hex()));
    fields.emplace_back(name + "modified", state.modified);
  }
}

/// The outputs of a run that are not as its run.json notes them, in its order. A file not written since is not read.
inline std::vector<std::string> changed_outputs(const std::filesystem::path& folder,
                                                const output::detail::FlatFields& fields) {
  constexpr std::string_view group = "outputs.", size = ".bytes";
  std::vector<std::string> changed;
  for (auto field = fields.begin(); field != fields.end(); ++field) {
    if (!field->first.starts_with(group) || !field->first.ends_with(size) || fields.end() - field < 3) continue;
    const std::string name = field->first.substr(group.size(), field->first.size() - group.size() - size.size());
    const auto state = FileState::of(folder / name);
    const bool same = state && state->bytes == field[0].second &&
                      (state->modified == field[2].second ||
                       output::detail::quoted(hash_file((folder / name).string()).hex()) == field[1].second);
    if (!same) changed.push_back(name);
  }
  return changed;
}

/// What an earlier process left of a run.
struct EarlierRun {
  std::optional<std::string> summary;  ///< of a run without open questions whose outputs are all unchanged
  std::vector<std::string> changed;    ///< outputs of a run that ended which are not as it left them
  bool annotated = false;              ///< the outputs are not the search's alone

  /// Throws InputError if an output was changed and cannot be made again: without a journal, or annotated.
  void check_mendable(const std::filesystem::path& folder, bool journal) const {
    if (changed.empty() || (journal && !annotated)) return;
    throw InputError(
        (folder / changed.front()).string(), 0, "",
        fmt::format("is not as {}. --overwrite does the run again{}",
                    annotated ? "`annotate` left it" : "the run left it, and there is no journal to make it again from",
                    annotated ? ". Then annotate it again" : ""));
  }
  /// What an earlier process left in this folder, which may hold no run. Throws InputError.
  static EarlierRun in(const std::filesystem::path& folder) {
    EarlierRun run;
    if (!std::filesystem::exists(folder / "run.json")) return run;
    const output::detail::FlatFields fields = output::detail::read_flat_fields((folder / "run.json").string());
    run.annotated = std::ranges::any_of(fields, [](const auto& field) { return field.first == "annotated"; });
    run.changed = changed_outputs(folder, fields);
    const std::filesystem::path summary = folder / "summary.json";
    if (!run.changed.empty() || !std::filesystem::exists(summary)) return run;
    const auto counts = output::detail::read_flat_json(summary.string());
    if (const auto open = counts.find("open"); open == counts.end() || open->second != "0") return run;
    run.summary = espalier::detail::read_input(summary.string());
    return run;
  }
};

class RecordedTrees {
 public:
  RecordedTrees() = default;
  /// Throws InputError.
  explicit RecordedTrees(const std::string& path) {
    for (auto& recorded : output::read_trees(path)) {
      const std::string id = recorded.tree.state(rag::Tree::root()).question().id;
      trees_.insert_or_assign(id, std::move(recorded.tree));
    }
  }
  /// Hands over a question's tree with a method's annotations. A BackendError if the run left the question open.
  Task<rag::Tree> annotate(method::Method& method, const rag::Example& example, const std::vector<std::string>& with) {
    const auto found = trees_.find(example.question.id);
    if (found == trees_.end()) return left_open();
    rag::Tree tree = std::move(found->second);
    trees_.erase(found);
    if (rag::State& root = tree.state(rag::Tree::root()); root.has_gold())
      root = rag::State(example);  // with its chain
    return method.annotate(std::move(tree), with);
  }

 private:
  static Task<rag::Tree> left_open() {
    throw BackendError("the run left this question open: go on with it first", BackendError::Kind::permanent);
    co_return rag::Tree();
  }
  std::map<std::string, rag::Tree> trees_;
};

}  // namespace espalier::run::detail
