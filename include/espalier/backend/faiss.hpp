#pragma once

#include <espalier/backend/vector_retriever.hpp>

#include <faiss/AutoTune.h>
#include <faiss/IVFlib.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/HNSW.h>  // brings OpenMP's declarations
#include <faiss/index_factory.h>
#include <faiss/index_io.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <memory>

namespace espalier::backend {

struct FaissOptions {
  std::string factory = "Flat";           ///< what is built: "Flat", "HNSW32", "IVF256,Flat" ...; not used by load()
  Metric metric = Metric::inner_product;  ///< of what is built: inner_product or l2; normalise both sides for cosine
  std::size_t nprobe = 0;                 ///< lists to visit of an IVF index; 0 = as the index says
  std::size_t ef_search = 0;              ///< breadth of the search of an HNSW index; 0 = as the index says
  std::size_t threads = 1;                ///< >= 1; an option of execution: it changes no result
};

/// Any index of faiss; row i is passage i. Each query is searched alone on one thread, because faiss computes a batch by other
/// routines than a single query, with other roundings: so a result depends on its query only. An index is built on one thread
/// for the same reason. For an exact search of large batches DenseIndex is faster.
class FaissIndex {
 public:
  using Options = FaissOptions;

  /// Builds the index that the factory string describes. Throws std::invalid_argument for a bad option.
  explicit FaissIndex(const Vectors& vectors, const Options& options = {}) : FaissIndex(options) {
    if (options.metric == Metric::cosine) bad_option("metric", "cosine", "inner_product or l2; normalise the vectors for cosine");
    const auto metric = options.metric == Metric::l2 ? faiss::METRIC_L2 : faiss::METRIC_INNER_PRODUCT;
    const auto rows = static_cast<faiss::Index::idx_t>(vectors.rows());
    const OneThread alone;
    try {
      index_.reset(faiss::index_factory(static_cast<int>(vectors.dimension()), options.factory.c_str(), metric));
      index_->train(rows, vectors.values().data());
      index_->add(rows, vectors.values().data());
    } catch (const faiss::FaissException& error) {
      bad_option("factory", options.factory, "what faiss can build from these vectors: " + error.msg);
    }
    apply();
    identity_ = Hasher().add("faiss").add(options.factory).add(std::uint64_t(options.metric)).add(vectors.fingerprint()).finish();
  }

  /// Reads an index file, or maps it into memory: see warning(). Throws InputError that names the file.
  static FaissIndex load(const std::string& file, bool map = false, const Options& options = {}) {
    FaissIndex loaded(options);
    if (!std::filesystem::is_regular_file(file)) throw InputError(file, 0, "", "there is no such file");
    try {
      loaded.index_.reset(faiss::read_index(file.c_str(), map ? faiss::IO_FLAG_MMAP : 0));
    } catch (const std::exception& error) {
      throw InputError(file, 0, "", std::string("faiss cannot read it: ") + error.what());
    }
    loaded.apply();
    loaded.file_ = file;
    if (map && !faiss::ivflib::try_extract_index_ivf(loaded.index_.get()))
      loaded.warning_ = file + ": faiss maps IVF indexes only; this one was read into memory as a whole";
    return loaded;
  }

  [[nodiscard]] std::vector<std::vector<Hit>> search(std::span<const VectorQuery> queries) const {
    std::vector<std::vector<Hit>> results(queries.size());
    const std::size_t share = (queries.size() + options_.threads - 1) / options_.threads;
    const auto search_share = [&](std::size_t begin) {
      const OneThread alone;
      for (std::size_t i = begin; i < std::min(begin + share, queries.size()); ++i) results[i] = search_one(queries[i]);
    };
    std::vector<std::future<void>> others;
    for (std::size_t begin = share; begin < queries.size(); begin += share)
      others.push_back(std::async(std::launch::async, search_share, begin));
    search_share(0);
    for (auto& other : others) other.get();
    return results;
  }

  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(index_->ntotal); }
  [[nodiscard]] std::size_t dimension() const { return static_cast<std::size_t>(index_->d); }
  /// What the user should know about a loaded index; "" if nothing.
  [[nodiscard]] const std::string& warning() const { return warning_; }
  /// Identity of the index and how it is searched. Of a loaded index it reads the whole file.
  [[nodiscard]] Hash fingerprint() const {
    const Hash what = file_.empty() ? identity_ : file_hash(file_);
    return Hasher().add(what).add(std::uint64_t(options_.nprobe)).add(std::uint64_t(options_.ef_search)).finish();
  }

 private:
  /// Keeps this thread's calls of OpenMP to this thread.
  class OneThread {
   public:
    OneThread() { omp_set_num_threads(1); }
    OneThread(const OneThread&) = delete;
    OneThread& operator=(const OneThread&) = delete;
    ~OneThread() { omp_set_num_threads(before_); }

   private:
    int before_ = omp_get_max_threads();
  };

  explicit FaissIndex(const Options& options) : options_(options) {
    if (options_.threads == 0) bad_option("threads", options_.threads, "1 or more");
  }

  void apply() const {
    const auto set = [this](const char* option, const char* parameter, std::size_t value) {
      try {
        if (value) faiss::ParameterSpace().set_index_parameter(index_.get(), parameter, static_cast<double>(value));
      } catch (const faiss::FaissException&) {
        bad_option(option, value, "0, because this index has no such parameter");
      }
    };
    set("nprobe", "nprobe", options_.nprobe);
    set("ef_search", "efSearch", options_.ef_search);
  }

  [[nodiscard]] std::vector<Hit> search_one(const VectorQuery& query) const {
    const std::size_t k = std::min(query.k, rows());
    std::vector<Hit> hits;
    if (k == 0) return hits;
    std::vector<float> scores(k);
    std::vector<faiss::Index::idx_t> labels(k);
    try {
      index_->search(1, query.vector.data(), static_cast<faiss::Index::idx_t>(k), scores.data(), labels.data());
    } catch (const faiss::FaissException& error) {
      throw BackendError("faiss: " + error.msg, BackendError::Kind::permanent);
    }
    const double sign = index_->metric_type == faiss::METRIC_L2 ? -1 : 1;
    for (std::size_t i = 0; i < k; ++i) {
      if (labels[i] < 0) continue;  // fewer than k were found
      if (static_cast<std::size_t>(labels[i]) >= rows())
        throw BackendError("the faiss index holds id " + std::to_string(labels[i]) + ", but ids must be row numbers below " +
                               std::to_string(rows()), BackendError::Kind::permanent);
      hits.emplace_back(static_cast<std::uint32_t>(labels[i]), sign * double(scores[i]));
    }
    std::sort(hits.begin(), hits.end());
    return hits;
  }

  static Hash file_hash(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::string chunk(std::size_t(1) << 20, '\0');
    Hasher hasher;
    while (in.read(chunk.data(), static_cast<std::streamsize>(chunk.size())) || in.gcount() > 0)
      hasher.add(std::string_view(chunk).substr(0, static_cast<std::size_t>(in.gcount())));
    if (!in.eof()) throw InputError(file, 0, "", "cannot be read");
    return hasher.finish();
  }

  Options options_;
  std::unique_ptr<faiss::Index> index_;
  Hash identity_;
  std::string file_;
  std::string warning_;
};

/// A retriever by a faiss index over embeddings.
using Faiss = VectorRetriever<FaissIndex>;

}  // namespace espalier::backend
