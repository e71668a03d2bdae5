#pragma once

#include <espalier/core/hash.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/output/flat_json.hpp>
#include <espalier/output/jsonl.hpp>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::run {

/// Identity of a file's bytes. Throws InputError if it cannot be read.
inline Hash hash_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(path, 0, "", "cannot be read");
  Hasher hasher;
  std::string block(std::size_t(1) << 20, '\0');
  while (file.read(block.data(), static_cast<std::streamsize>(block.size())) || file.gcount() > 0)
    hasher.add(std::string_view(block.data(), static_cast<std::size_t>(file.gcount())));
  return hasher.finish();
}

/// DIR/run.json: what decides a run's results. A run is continued only under the same record.
class RunRecord {
 public:
  /// Fields in dotted names with values as JSON, in the order in which they shall stand in the file.
  void add(std::string name, std::string json) { fields_.emplace_back(std::move(name), std::move(json)); }
  void add_text(std::string name, std::string_view text) {
    std::string json;
    append_json_string(json, text);
    add(std::move(name), std::move(json));
  }

  /// One name for all that decides the results; runs of the same identity make the same requests.
  [[nodiscard]] std::string identity() const {
    Hasher hasher;
    for (const auto& [name, json] : std::span(fields_).first(fields_.size() - notes_)) hasher.add(name).add(json);
    return hasher.finish().hex();
  }
  /// A field that is only noted, for commands that start from the folder; it decides nothing.
  void note(std::string name, std::string_view text) {
    add_text("noted." + std::move(name), text);
    ++notes_;
  }

  /// Throws std::invalid_argument that names the first field in which an earlier record in the folder differs.
  void compare_with(const std::filesystem::path& file) const {
    if (!std::filesystem::exists(file)) return;
    const auto before = output::read_flat_json(file.string());
    for (const auto& [name, json] : std::span(fields_).first(fields_.size() - notes_)) {
      const auto old = before.find(name);
      const auto younger = absent_fields().find(name);
      if (old != before.end() ? old->second == json : younger != absent_fields().end() && younger->second == json) continue;
      throw std::invalid_argument(file.string() + ": this folder holds a run with another " + name + " (" +
                                  (old == before.end() ? "none" : old->second) + ", now " + json + "); use another folder or overwrite");
    }
  }

  void write(const std::filesystem::path& file, std::string_view version) const {
    std::string out, quoted_version, quoted_identity;
    append_json_string(quoted_version, version);
    append_json_string(quoted_identity, identity());
    std::vector<std::pair<std::string, std::string>> all{{"version", quoted_version}, {"identity", quoted_identity}};
    all.insert(all.end(), fields_.begin(), fields_.end());
    output::append_flat_json(out, all);
    out += '\n';
    output::AtomicFile target(file.string());
    target.write(out);
    target.commit();
  }

 private:
  /// Fields that the records of earlier versions lack, with what it means there.
  static const std::map<std::string, std::string, std::less<>>& absent_fields() {
    static const std::map<std::string, std::string, std::less<>> fields{
        {"inputs.value_head", R"("")"}, {"retriever.reranker", R"("")"}, {"retriever.rerank_depth", "0"}, {"encoder.name", R"("")"},
        {"encoder.profile", R"("none")"}, {"encoder.cut", R"("none")"}, {"value.name", R"("")"}};
    return fields;
  }

  std::vector<std::pair<std::string, std::string>> fields_;
  std::size_t notes_ = 0;  ///< of the fields, the last so many
};

}  // namespace espalier::run
