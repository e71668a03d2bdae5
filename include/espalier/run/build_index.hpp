#pragma once

#include <espalier/backend/bm25.hpp>
#include <espalier/backend/dense_file.hpp>
#include <espalier/backend/index/mapped_corpus.hpp>
#include <espalier/output/dataset.hpp>
#include <espalier/output/file_bytes.hpp>
#include <espalier/run/index_folder.hpp>
#include <espalier/run/settings.hpp>
#include <espalier/run/work_folder.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace espalier::run {

struct IndexOptions {
  /// How the vectors of an index are made.
  struct Encoding {
    backend::detail::AnyEncoder encoder;
    std::string name;                 ///< the encoder's name. Queries must be encoded under the same name
    std::string profile = "none";     ///< only for people
    std::optional<Hash> fingerprint;  ///< the encoder's, none = unknown
    backend::Metric metric = backend::Metric::inner_product;
  };

  std::string corpus;  ///< JSONL or TSV, plain or .gz
  std::string out;     ///< folder
  Lexical lexical;
  unsigned threads = 0;                   ///< 0 = the number of hardware threads. Never changes a byte
  bool overwrite = false;                 ///< replace an existing index
  std::optional<Encoding> encoding = {};  ///< none = no vectors
};

/// Called with the progress of a build: (stage, done, all). An exception from it stops the build.
using IndexProgress = std::function<void(std::string_view, std::uint64_t, std::uint64_t)>;

namespace detail {

inline backend::MappedCorpus write_corpus(const std::string& source, const std::string& target,
                                          const IndexProgress& progress) {
  output::detail::FileStream in(source);
  const std::uint64_t size = std::filesystem::is_regular_file(source) ? std::filesystem::file_size(source) : 0;
  backend::MappedCorpus::Writer writer(target, source);
  std::size_t passages = 0;
  output::detail::for_each_line(in, source, [&](const output::detail::JsonLine& row) {
    writer.add(output::detail::read_passage(row), row.line());
    if (progress && size > 0 && ++passages % 4096 == 0) progress("corpus", std::min(in.position(), size), size);
    return true;
  });
  return writer.commit();
}

/// Builds all files of an index. The manifest comes last.
inline void build(const IndexOptions& options, const IndexProgress& progress) {
  backend::Bm25Options bm25{
      options.lexical.k1, options.lexical.b, backend::Analyzer::named(options.lexical.analyzer), options.threads, {}};
  if (options.encoding && options.encoding->name.empty())
    bad_option("encoder_name", "", "what the encoder is called, not empty");
  if (progress)
    bm25.progress = [&](std::string_view stage, std::uint64_t done, std::uint64_t all) {
      progress(fmt::format("bm25 {}", stage), done, all);
    };
  const std::filesystem::path folder = options.out;
  std::filesystem::create_directories(folder);
  const detail::FolderLock lock(folder, "espalier index build");
  if (std::filesystem::exists(folder / IndexManifest::name)) {
    if (!options.overwrite)
      throw std::invalid_argument(
          fmt::format("option 'out': {} holds an index already; use another folder, or --overwrite", options.out));
    std::filesystem::remove(folder / IndexManifest::name);
  }

  const std::string corpus_file = (folder / "corpus.bin").string(), bm25_file = (folder / "bm25.bin").string();
  backend::detail::LexicalBuilder builder(bm25, bm25_file);  // refuses bad options before anything is read
  const backend::MappedCorpus corpus = write_corpus(options.corpus, corpus_file, progress);
  const backend::detail::CheckedFile lexical = builder(corpus);
  const std::string dense_file = (folder / "dense.bin").string();
  std::filesystem::remove(dense_file);

  IndexManifest manifest;
  manifest.set("corpus.source", std::filesystem::path(options.corpus).filename().string());
  manifest.set("corpus.identity", IndexManifest::identity(corpus.file()));
  manifest.set("bm25.identity", IndexManifest::identity(lexical));
  if (const auto& encoding = options.encoding) {
    backend::DenseFile::write(dense_file, corpus, encoding->encoder, encoding->metric, 512, [&](std::size_t rows) {
      if (progress) progress("vectors", rows, corpus.size());
    });
    manifest.set("dense.encoder", encoding->name);
    manifest.set("dense.profile", encoding->profile);
    if (encoding->fingerprint) manifest.set("dense.fingerprint", encoding->fingerprint->hex());
    const backend::detail::CheckedFile vectors(dense_file, backend::DenseFile::kind, backend::DenseFile::version);
    manifest.set("dense.identity", IndexManifest::identity(vectors));
  }
  output::detail::write_flat_json(folder / IndexManifest::name, {manifest.fields.begin(), manifest.fields.end()});
}

}  // namespace detail

/// Builds an index folder. A stopped build leaves no index, whatever stopped it. Throws InputError for bad data and for
/// a folder where another process works, std::invalid_argument for options and for a folder that has an index.
inline void build_index(const IndexOptions& options, const IndexProgress& progress = nullptr) {
  detail::with_files([&] { detail::build(options, progress); });
}

}  // namespace espalier::run
