#pragma once

#include <espalier/backend/dense_file.hpp>
#include <espalier/backend/detail/index/parallel.hpp>
#include <espalier/backend/index/vectors.hpp>
#include <espalier/backend/vector_retriever.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace espalier::backend {

namespace detail {

/// The rows that may be among the best k of a query, by rough scores. Only within `slack` can their order be wrong.
class Candidates {
 public:
  Candidates(std::size_t k, double slack) : k_(k), slack_(slack), limit_(2 * k + 256) {}

  void offer(float rough, std::size_t row) {
    if (k_ == 0 || !(rough >= bound_)) return;
    pool_.emplace_back(rough, static_cast<std::uint32_t>(row));
    if (pool_.size() >= limit_) tighten();
  }
  void merge(const Candidates& other) { pool_.insert(pool_.end(), other.pool_.begin(), other.pool_.end()); }

  /// The best k by score(row).
  [[nodiscard]] std::vector<Hit> best(const auto& score) {
    if (pool_.size() > k_) tighten();
    std::vector<Hit> hits;
    for (const auto& [rough, row] : pool_) hits.emplace_back(row, score(row));
    std::sort(hits.begin(), hits.end());
    if (hits.size() > k_) hits.erase(hits.begin() + static_cast<std::ptrdiff_t>(k_), hits.end());
    return hits;
  }

 private:
  void tighten() {
    const auto kth = pool_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
    std::nth_element(pool_.begin(), kth, pool_.end(), std::greater<>());
    bound_ = std::nextafter(static_cast<float>(double(kth->first) - slack_), -std::numeric_limits<float>::infinity());
    std::erase_if(pool_, [this](const auto& candidate) { return candidate.first < bound_; });
    limit_ = 2 * pool_.size() + 256;
  }

  std::size_t k_;
  double slack_;
  std::size_t limit_;
  float bound_ = -std::numeric_limits<float>::infinity();
  std::vector<std::pair<float, std::uint32_t>> pool_;
};

}  // namespace detail

/// Exact search over all rows. Eigen's products in single precision find every row that can be among the best k, given
/// their largest possible rounding error. These rows are scored again in double precision, in a fixed order of sums,
/// and ranked. So the result is that of a plain loop, bit by bit, for any batch, thread count, compiler and processor.
class DenseIndex {
 public:
  struct Options {
    Metric metric = Metric::inner_product;
    std::size_t threads = 1;  ///< >= 1, an execution option that changes no result
  };

  /// Throws std::invalid_argument for a bad option or a row that is not finite.
  explicit DenseIndex(const Vectors& vectors) : DenseIndex(vectors, Options()) {}
  DenseIndex(const Vectors& vectors, const Options& options)
      : DenseIndex(in_memory(vectors, options.metric), options.threads) {}
  /// Encodes the passages of a corpus.
  static DenseIndex encoded(const auto& passages, const detail::AnyEncoder& encoder, const Options& options) {
    return DenseIndex(DenseFile::write(std::nullopt, passages, encoder, options.metric), options.threads);
  }
  explicit DenseIndex(DenseFile vectors, std::size_t threads = 1) : vectors_(std::move(vectors)), threads_(threads) {
    if (threads_ == 0) bad_option("threads", threads_, "1 or more");
  }

  /// Queries must have dimension() finite values.
  [[nodiscard]] std::vector<std::vector<Hit>> search(std::span<const VectorQuery> queries) const {
    std::vector<std::vector<Hit>> results;
    for (std::size_t begin = 0; begin < queries.size(); begin += query_block)
      search_block(queries.subspan(begin, std::min(query_block, queries.size() - begin)), results);
    return results;
  }

  [[nodiscard]] std::size_t rows() const { return vectors_.rows(); }
  [[nodiscard]] std::size_t dimension() const { return vectors_.dimension(); }
  [[nodiscard]] Hash fingerprint() const { return vectors_.fingerprint(); }

 private:
  static constexpr std::size_t query_block = 64, row_block = 512;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Rows = Eigen::Map<const Matrix>;

  static DenseFile in_memory(const Vectors& vectors, Metric metric) {
    DenseFile::Writer writer(std::nullopt, vectors.dimension(), metric);
    for (std::size_t i = 0; i < vectors.rows(); ++i) writer.add(vectors.row(i));
    return writer.commit();
  }

  static Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

  /// A rough score of l2 is 2 q.row - |row|^2. It lacks -|q|^2, which is the same for all rows.
  void search_block(std::span<const VectorQuery> queries, std::vector<std::vector<Hit>>& results) const {
    const bool l2 = vectors_.metric() == Metric::l2;
    const double longest = vectors_.longest(), size = double(dimension());
    Matrix asked(index(queries.size()), index(dimension()));
    std::vector<detail::Candidates> none;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const std::span<float> vector(asked.row(index(q)).data(), dimension());
      std::copy(queries[q].vector.begin(), queries[q].vector.end(), vector.begin());
      if (vectors_.metric() == Metric::cosine) detail::normalise(vector);
      const double length = detail::length_of(vector);
      const double reach = l2 ? (longest + length) * (longest + length) : longest * length;
      // The error of a sum of n products is at most about n 2^-24 of the lengths' product, plus what tiny numbers lose.
      const double margin = (size + 16) * 0x1.1p-24 * reach + size * double(std::numeric_limits<float>::min());
      none.emplace_back(std::min(queries[q].k, rows()), 2 * margin);
    }
    const std::size_t blocks = (rows() + row_block - 1) / row_block;
    const std::size_t workers = std::max<std::size_t>(1, std::min(threads_, blocks));
    std::vector<std::vector<detail::Candidates>> found(workers, none);
    detail::parallel_for(blocks, workers, [&](std::size_t block, std::size_t worker) {
      scan(asked, block * row_block, std::min(row_block, rows() - block * row_block), found[worker]);
    });
    for (std::size_t q = 0; q < queries.size(); ++q) {
      for (std::size_t worker = 1; worker < workers; ++worker) found[0][q].merge(found[worker][q]);
      const float* query = asked.row(index(q)).data();
      results.push_back(found[0][q].best([&](std::uint32_t row) {
        const float* values = vectors_.read(row, 1).data();
        return l2 ? -detail::exact_square_distance(query, values, dimension())
                  : detail::exact_dot(query, values, dimension());
      }));
    }
  }

  /// Offers `count` rows from row `first` on to each query's candidates.
  void scan(const Matrix& asked, std::size_t first, std::size_t count, std::vector<detail::Candidates>& found) const {
    const Rows block(vectors_.read(first, count).data(), index(count), index(dimension()));
    Matrix scores = asked * block.transpose();
    if (vectors_.metric() == Metric::l2) scores = (2 * scores).rowwise() - block.rowwise().squaredNorm().transpose();
    for (std::size_t q = 0; q < found.size(); ++q)
      for (std::size_t i = 0; i < count; ++i) found[q].offer(scores(index(q), index(i)), first + i);
  }

  DenseFile vectors_;
  std::size_t threads_;
};

/// A retriever by exact search over embeddings.
using Dense = VectorRetriever<DenseIndex>;

}  // namespace espalier::backend
