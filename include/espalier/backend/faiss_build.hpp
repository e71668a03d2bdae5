#pragma once

#include <espalier/backend/index/vectors.hpp>
#include <espalier/core/error.hpp>

#include <faiss/impl/FaissException.h>
#include <faiss/impl/HNSW.h>  // brings OpenMP's declarations
#include <faiss/index_factory.h>
#include <faiss/index_io.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace espalier::backend {

struct FaissOptions {
  std::string factory = "Flat";           ///< "Flat", "HNSW32", "IVF256,Flat" ..., not used by load()
  Metric metric = Metric::inner_product;  ///< inner_product or l2. For cosine, normalise both sides
  std::size_t nprobe = 0;                 ///< lists that an IVF index visits, 0 = its own setting
  std::size_t ef_search = 0;              ///< search breadth of an HNSW index, 0 = its own setting
  std::size_t threads = 1;                ///< >= 1, an execution option that changes no result
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

/// Builds the index that the factory string describes. One thread builds it, so that it is the same every time. Calls
/// progress(rows added so far) from time to time. Throws std::invalid_argument for a bad option.
inline std::unique_ptr<faiss::Index> build_faiss(const Vectors& vectors, const FaissOptions& options,
                                                 const std::function<void(std::size_t)>& progress = nullptr) {
  constexpr std::size_t portion = 16384;
  if (options.metric == Metric::cosine)
    bad_option("metric", "cosine", "inner_product or l2; normalise the vectors for cosine");
  const FaissOnOneThread alone;
  try {
    std::unique_ptr<faiss::Index> index(
        faiss::index_factory(static_cast<int>(vectors.dimension()), options.factory.c_str(),
                             options.metric == Metric::l2 ? faiss::METRIC_L2 : faiss::METRIC_INNER_PRODUCT));
    index->train(static_cast<std::int64_t>(vectors.rows()), vectors.values().data());
    for (std::size_t begin = 0; begin < vectors.rows(); begin += portion) {
      const std::size_t count = std::min(portion, vectors.rows() - begin);
      index->add(static_cast<std::int64_t>(count), vectors.row(begin).data());
      if (progress) progress(begin + count);
    }
    return index;
  } catch (const faiss::FaissException& error) {
    bad_option("factory", options.factory, "what faiss can build from these vectors: " + error.msg);
  }
}

/// Writes an index to a file. Throws InputError that names it.
inline void save_faiss(const faiss::Index& index, const std::string& file) {
  try {
    faiss::write_index(&index, file.c_str());
  } catch (const faiss::FaissException& error) {
    throw InputError(file, 0, "", "faiss cannot write it: " + error.msg);
  }
}

}  // namespace detail

}  // namespace espalier::backend
