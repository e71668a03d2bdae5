#pragma once

#include <espalier/backend/detail/index/parallel.hpp>
#include <espalier/backend/index/vectors.hpp>
#include <espalier/backend/vector_retriever.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>
#include <espalier/core/input_file.hpp>

#include <faiss/AutoTune.h>
#include <faiss/IndexHNSW.h>
#include <faiss/IndexScalarQuantizer.h>
#include <faiss/impl/FaissException.h>
#include <faiss/impl/HNSW.h>  // brings OpenMP's declarations
#include <faiss/index_io.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <typeinfo>
#include <utility>
#include <vector>

namespace espalier::backend {

struct FaissOptions {
  std::size_t nprobe = 0;     ///< lists that an IVF index visits, 0 = its own setting
  std::size_t ef_search = 0;  ///< search breadth of an HNSW index, 0 = its own setting
  std::size_t threads = 1;    ///< >= 1, an execution option that changes no result
};

namespace detail {

/// While alive, OpenMP calls of this thread use one thread only.
class FaissOnOneThread {
 public:
  FaissOnOneThread() { omp_set_num_threads(1); }
  FaissOnOneThread(const FaissOnOneThread&) = delete;
  FaissOnOneThread& operator=(const FaissOnOneThread&) = delete;
  ~FaissOnOneThread() { omp_set_num_threads(before_); }

 private:
  int before_ = omp_get_max_threads();
};

}  // namespace detail

/// Any faiss index, where row i is passage i. A result depends only on its query. faiss alone does not guarantee this,
/// because it computes large and small batches by different routines with different rounding. So only graphs and scalar
/// codes are searched in batches, and every other kind of index one query at a time.
class FaissIndex {
 public:
  /// Reads an index file. It is mapped, page by page when needed, where faiss can do that: IVF. Throws InputError that
  /// names the file, std::invalid_argument for an option that the index does not have.
  static FaissIndex load(const std::string& file, const FaissOptions& options = {}) {
    if (options.threads == 0) bad_option("threads", options.threads, "1 or more");
    if (!std::filesystem::is_regular_file(file)) throw InputError(file, 0, "", "there is no such file");
    FaissIndex loaded(file, options);
    try {
      loaded.index_.reset(faiss::read_index(file.c_str(), faiss::IO_FLAG_MMAP));
    } catch (const std::exception& error) {
      throw InputError(file, 0, "", std::string("faiss cannot read it: ") + error.what());
    }
    loaded.set("nprobe", "nprobe", options.nprobe);
    loaded.set("ef_search", "efSearch", options.ef_search);
    const faiss::Index& index = *loaded.index_;
    const auto is = [&index](const auto&... types) { return ((typeid(index) == types) || ...); };
    loaded.batched_ = is(typeid(faiss::IndexHNSWFlat), typeid(faiss::IndexHNSWSQ), typeid(faiss::IndexScalarQuantizer));
    return loaded;
  }

  [[nodiscard]] std::vector<std::vector<Hit>> search(std::span<const VectorQuery> queries) const {
    std::vector<std::vector<Hit>> results(queries.size());
    const std::size_t share = std::max<std::size_t>(1, (queries.size() + options_.threads - 1) / options_.threads);
    const std::size_t shares = (queries.size() + share - 1) / share;
    detail::parallel_for(shares, shares, [&](std::size_t part, std::size_t) {
      const detail::FaissOnOneThread alone;
      const std::size_t end = std::min((part + 1) * share, queries.size());
      for (std::size_t i = part * share, next = 0; i < end; i = next) {
        next = i + 1;  // neighbouring queries of equal k go together
        while (batched_ && next < end && queries[next].k == queries[i].k) ++next;
        search_together(queries.subspan(i, next - i), &results[i]);
      }
    });
    return results;
  }

  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(index_->ntotal); }
  [[nodiscard]] std::size_t dimension() const { return static_cast<std::size_t>(index_->d); }
  /// Identity of the index and of how it is searched. It reads the whole file.
  [[nodiscard]] Hash fingerprint() const {
    return Hasher()
        .add(espalier::detail::hash_file(file_))
        .add(std::uint64_t(options_.nprobe))
        .add(std::uint64_t(options_.ef_search))
        .finish();
  }

 private:
  using Row = std::int64_t;

  FaissIndex(std::string file, const FaissOptions& options) : options_(options), file_(std::move(file)) {}

  /// Sets a parameter of the index, or of the index inside its wrappers. 0 = leave its own.
  void set(const char* option, const char* parameter, std::size_t value) {
    try {
      if (value) faiss::ParameterSpace().set_index_parameter(index_.get(), parameter, static_cast<double>(value));
    } catch (const faiss::FaissException&) {
      bad_option(option, value, "0, because this index has no such parameter");
    }
  }

  /// Searches queries that have the same k.
  void search_together(std::span<const VectorQuery> queries, std::vector<Hit>* results) const {
    const std::size_t k = std::min(queries.front().k, rows());
    if (k == 0) return;
    std::vector<float> packed;
    for (const VectorQuery& query : queries) packed.insert(packed.end(), query.vector.begin(), query.vector.end());
    std::vector<float> scores(queries.size() * k);
    std::vector<Row> labels(queries.size() * k);
    try {
      index_->search(Row(queries.size()), packed.data(), Row(k), scores.data(), labels.data());
    } catch (const faiss::FaissException& error) {
      throw BackendError("faiss: " + error.msg, BackendError::Kind::permanent);
    }
    const double sign = index_->metric_type == faiss::METRIC_INNER_PRODUCT ? 1 : -1;  // the others are distances
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] < 0) continue;  // fewer than k were found
      const std::string row = std::to_string(labels[i]), all = std::to_string(rows());
      std::string fault;
      if (static_cast<std::size_t>(labels[i]) >= rows()) fault = "holds id " + row + ", but ids must be below " + all;
      else if (!std::isfinite(scores[i])) fault = "gives row " + row + " a score that is not finite";
      if (!fault.empty()) throw BackendError("the faiss index " + fault, BackendError::Kind::permanent);
      results[i / k].emplace_back(static_cast<std::uint32_t>(labels[i]), sign * double(scores[i]));
    }
    for (std::size_t i = 0; i < queries.size(); ++i) std::sort(results[i].begin(), results[i].end());
  }

  FaissOptions options_;
  std::unique_ptr<faiss::Index> index_;
  bool batched_ = false;
  std::string file_;
};

/// A retriever by a faiss index over embeddings.
using Faiss = VectorRetriever<FaissIndex>;

}  // namespace espalier::backend
