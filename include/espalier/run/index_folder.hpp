#pragma once

#include <espalier/backend/bm25.hpp>
#include <espalier/backend/dense_file.hpp>
#include <espalier/backend/index/checked_file.hpp>
#include <espalier/backend/index/mapped_corpus.hpp>
#include <espalier/core/json_writer.hpp>
#include <espalier/output/flat_json.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/run/work_folder.hpp>

#include <fmt/format.h>

#include <filesystem>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace espalier::run::detail {

/// DIR/index.json: an index's parts, each a checked file `DIR/<part>.bin` with its identity. It is written last.
struct IndexManifest {
  static constexpr const char* name = "index.json";
  std::map<std::string, std::string> fields{{"format", "1"}};  ///< as JSON, under "part.name"

  static IndexManifest read(const std::filesystem::path& folder) {
    const std::filesystem::path file = folder / name;
    if (!std::filesystem::exists(file))
      throw InputError(folder.string(), 0, "",
                       fmt::format("is not the folder of a finished index: it has no {}", name));
    IndexManifest manifest{output::detail::read_flat_json(file.string())};
    if (manifest.fields["format"] != "1")
      throw InputError(file.string(), 0, "format", "is not 1, which this version reads: build the index again");
    return manifest;
  }
  void set(const std::string& field, std::string_view text) { fields[field] = output::detail::quoted(text); }
  [[nodiscard]] std::string json(const std::string& field) const {
    const auto found = fields.find(field);
    return found == fields.end() ? "null" : found->second;
  }
  /// The field "part.identity" of a file.
  static std::string identity(const backend::detail::CheckedFile& file) {
    return Hash{0, file.identity()}.hex().substr(16);
  }
};

/// An opened index folder: a corpus and its indexes. Its files are mapped into memory, so it opens at once and
/// processes share it. Throws InputError for anything missing, damaged or from another build.
class IndexFolder {
 public:
  explicit IndexFolder(std::filesystem::path folder)
      : folder_(std::move(folder)),
        manifest_(IndexManifest::read(folder_)),
        corpus_(file<backend::MappedCorpus>("corpus")),
        lexical_(file<backend::LexicalIndex>("bm25")) {
    if (lexical_.facts().corpus != corpus_.hash() || lexical_.passages() != corpus_.size())
      throw InputError(folder_.string(), 0, "", "holds a BM25 index of another corpus: build the index again");
  }

  [[nodiscard]] const backend::MappedCorpus& corpus() const { return corpus_; }
  [[nodiscard]] const IndexManifest& manifest() const { return manifest_; }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_; }
  /// The options with which the BM25 index was built.
  [[nodiscard]] Lexical lexical() const { return {lexical_.facts().k1, lexical_.facts().b, lexical_.analyzer()}; }
  [[nodiscard]] backend::Bm25 bm25(unsigned threads = 0) const {
    return backend::Bm25(corpus_, lexical_, backend::Analyzer::named(lexical_.analyzer()), threads);
  }

  /// The vectors of the passages. Throws std::invalid_argument if the index was built without an encoder.
  [[nodiscard]] backend::DenseFile dense() const {
    if (!manifest_.fields.contains("dense.identity"))
      throw std::invalid_argument(
          fmt::format("option 'index': {} was built without --encoder: it has no vectors", folder_.string()));
    backend::DenseFile vectors(file<backend::DenseFile>("dense"));
    if (vectors.rows() != corpus_.size())
      throw InputError(folder_.string(), 0, "", "holds vectors of another corpus: build the index again");
    return vectors;
  }
  /// Throws std::invalid_argument for queries of another encoder. A `name` "" without a fingerprint = unknown.
  void check_encoder(const std::string& name, std::optional<Hash> fingerprint) const {
    const std::string built = manifest_.json("dense.encoder"), printed = manifest_.json("dense.fingerprint");
    if (fingerprint && printed != "null" ? printed == output::detail::quoted(fingerprint->hex())
                                         : name.empty() || built == output::detail::quoted(name))
      return;
    bad_option("encoder_name", name,
               fmt::format("{} with the profile {} and the revision that made the vectors of {}", built,
                           manifest_.json("dense.profile"), folder_.string()));
  }
  /// Identity of what a run reads from it.
  [[nodiscard]] std::string hash(bool dense) const {
    return dense ? Hasher().add(corpus_.hash()).add(this->dense().fingerprint()).finish().hex() : corpus_.hash().hex();
  }

  /// Reads every byte of every part. Throws at the first damage.
  void verify() const {
    file<backend::MappedCorpus>("corpus").verify();
    file<backend::LexicalIndex>("bm25").verify();
    if (manifest_.fields.contains("dense.identity")) file<backend::DenseFile>("dense").verify();
  }

 private:
  /// Opens the file of a part. It must be the file that the build wrote.
  template <class Part>
  [[nodiscard]] backend::detail::CheckedFile file(const std::string& name) const {
    const std::string path = (folder_ / (name + ".bin")).string();
    backend::detail::CheckedFile opened(path, Part::kind, Part::version);
    if (manifest_.json(name + ".identity") != output::detail::quoted(IndexManifest::identity(opened)))
      throw InputError(path, 0, "",
                       fmt::format("is not the file that {} names: build the index again", IndexManifest::name));
    return opened;
  }

  std::filesystem::path folder_;
  IndexManifest manifest_;
  backend::MappedCorpus corpus_;
  backend::LexicalIndex lexical_;
};

/// The default BM25 options: those of the settings' index folder, if there is one.
inline Lexical lexical_of(const Settings& settings) {
  return settings.retriever.index.empty() ? Lexical() : IndexFolder(settings.retriever.index).lexical();
}

/// Throws std::invalid_argument if the settings' index folder was built with other options than the run wants.
inline void check_index(const Settings& settings, const Lexical& wanted) {
  if (settings.retriever.index.empty()) return;
  if (!settings.retriever.corpus.empty())
    throw std::invalid_argument("options 'corpus' and 'index' exclude each other");
  const Lexical built = lexical_of(settings);
  if (wanted == built) return;
  const auto shown = [](const Lexical& one) { return fmt::format("{}, k1={}, b={}", one.analyzer, one.k1, one.b); };
  throw std::invalid_argument(
      fmt::format("option 'index': {} was built with {}; the run asks for {}: build another index",
                  settings.retriever.index, shown(built), shown(wanted)));
}

/// A description of an index as a JSON object.
inline std::string describe(const IndexFolder& index) {
  const backend::Bm25 bm25 = index.bm25();
  const backend::LexicalIndex::Facts& facts = bm25.index().facts();
  std::string out;
  JsonWriter json(out);
  json.begin_object().field("folder", index.path().string());
  json.key("corpus").begin_object().key("source").raw(index.manifest().json("corpus.source"));
  json.field("passages", index.corpus().size()).field("hash", index.corpus().hash().hex());
  json.field("bytes", std::filesystem::file_size(index.path() / "corpus.bin")).end_object();
  json.key("bm25").begin_object().field("analyzer", bm25.index().analyzer()).field("k1", facts.k1).field("b", facts.b);
  json.field("terms", facts.terms).field("postings", facts.postings).field("words", facts.words);
  json.field("fingerprint", bm25.fingerprint().hex());
  json.field("bytes", std::filesystem::file_size(index.path() / "bm25.bin")).end_object();
  if (index.manifest().fields.contains("dense.identity")) {
    const backend::DenseFile vectors = index.dense();
    json.key("dense").begin_object();
    for (const char* field : {"encoder", "profile", "fingerprint"})
      json.key(field).raw(index.manifest().json(std::string("dense.") + field));
    json.field("metric", backend::detail::metric_names[std::size_t(vectors.metric())])
        .field("dimension", vectors.dimension());
    json.field("bytes", std::filesystem::file_size(index.path() / "dense.bin")).end_object();
  }
  json.end_object();
  return out;
}

}  // namespace espalier::run::detail
