#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/output/detail/flat_json.hpp>
#include <espalier/run/detail/jsonl.hpp>
#include <espalier/run/detail/outputs.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::run::detail {

/// DIR/run.json: what decides a run's results. A run is continued only under the same record.
class RunRecord {
 public:
  /// Adds a field with a dotted name and a JSON value. Fields keep their order in the file.
  void add(std::string name, std::string json) { fields_.emplace_back(std::move(name), std::move(json)); }
  void add_text(std::string name, std::string_view text) {
    std::string json;
    JsonWriter(json).value(text);
    add(std::move(name), std::move(json));
  }

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
      if (undecided(name, old == before.end() ? "null" : old->second, json)) continue;
      const auto younger = absent_fields().find(name);
      if (old != before.end() ? old->second == json : younger != absent_fields().end() && younger->second == json)
        continue;
      throw std::invalid_argument(
          fmt::format("{}: this folder holds a run with another {} ({}, now {}); use another folder or overwrite",
                      file.string(), name, old == before.end() ? "none" : old->second, json));
    }
  }

  /// The fields of the run that a shard is part of, from those of the shard's run.json. `journal`: where its journal
  /// is.
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
    std::string quoted_version, quoted_identity;
    JsonWriter(quoted_version).value(version);
    JsonWriter(quoted_identity).value(identity());
    output::detail::FlatFields all{{"version", quoted_version}, {"identity", quoted_identity}};
    all.insert(all.end(), fields_.begin(), fields_.end());
    return all;
  }

 private:
  /// True for the option of a purpose that is decided only now, and for its default where records had none.
  static bool undecided(std::string_view name, std::string_view old, std::string_view now) {
    return old == "null" && (name == "options.constrain" ? now == R"("off")" : name.ends_with(".constrain"));
  }
  /// Fields that records of earlier versions lack, with the value they had then.
  static const std::map<std::string, std::string, std::less<>>& absent_fields() {
    static const std::map<std::string, std::string, std::less<>> fields{
        {"inputs.value_head", R"("")"},   {"retriever.reranker", R"("")"},
        {"retriever.rerank_depth", "0"},  {"encoder.name", R"("")"},
        {"encoder.profile", R"("none")"}, {"encoder.cut", R"("none")"},
        {"value.name", R"("")"},          {"shard", R"("")"}};
    return fields;
  }

  output::detail::FlatFields fields_;
  std::size_t notes_ = 0;  ///< of the fields, the last so many
};

/// Writes fields as a run.json.
inline void write_record(const std::filesystem::path& file, const output::detail::FlatFields& fields) {
  std::string out;
  output::detail::append_flat_json(out, fields);
  AtomicFile target(file.string());
  target.write(out + '\n');
  target.commit();
}

/// Writes the run.json of a folder into `next`, with what is in `next` among its outputs. Throws InputError.
inline void renote_outputs(const std::filesystem::path& folder, const std::filesystem::path& next) {
  output::detail::FlatFields fields = output::detail::read_flat_fields((folder / "run.json").string());
  note_outputs(fields, next);
  write_record(next / "run.json", fields);
}

}  // namespace espalier::run::detail
