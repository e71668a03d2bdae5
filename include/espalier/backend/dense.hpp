#pragma once

#include <espalier/backend/dense_file.hpp>
#include <espalier/backend/detail/index/parallel.hpp>
#include <espalier/backend/index/vectors.hpp>
#include <espalier/backend/vector_retriever.hpp>
#include <espalier/core/error.hpp>
#include <espalier/core/hash.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

namespace detail {

/// The rows that may be among the best k of a query, by rough scores. Two rows can be in the wrong order only if their
/// rough scores differ by at most `slack`.
class Candidates {
 public:
  Candidates(std::size_t k, double slack) : k_(k), slack_(slack), limit_(2 * k + 256) {}

  void offer(float rough, std::size_t row) {
    if (k_ == 0 || !(rough >= bound_)) return;
    pool_.emplace_back(rough, static_cast<std::uint32_t>(row));
    if (pool_.size() >= limit_) tighten();
  }
  void merge(const Candidates& other) { pool_.insert(pool_.end(), other.pool_.begin(), other.pool_.end()); }

  /// The best k by score(row). A row with a rough score can have at most highest(rough).
  template <class Highest, class Score>
  [[nodiscard]] std::vector<Hit> best(const Highest& highest, const Score& score) {
    std::vector<Hit> hits;  // a heap whose front is the worst
    if (k_ == 0) return hits;
    std::sort(pool_.begin(), pool_.end(), std::greater<>());
    for (const auto& [rough, row] : pool_) {
      if (hits.size() == k_ && highest(rough) < hits.front().score) break;
      hits.emplace_back(row, score(row));
      std::push_heap(hits.begin(), hits.end());
      if (hits.size() <= k_) continue;
      std::pop_heap(hits.begin(), hits.end());
      hits.pop_back();
    }
    std::sort(hits.begin(), hits.end());
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
/// and ranked. So the result equals that of a plain double-precision loop, bit by bit, for any batch, thread count,
/// compiler and processor.
class DenseIndex {
 public:
  struct Options {
    Metric metric = Metric::inner_product;
    std::size_t threads = 1;  ///< >= 1, an execution option that changes no result
  };

  /// Throws std::invalid_argument for a bad option or a row that is not finite.
  explicit DenseIndex(const Vectors& vectors) : DenseIndex(vectors, Options()) {}
  DenseIndex(const Vectors& vectors, const Options& options)
      : DenseIndex(longest_of(vectors, options),
                   options.metric == Metric::cosine ? detail::normalised(vectors) : vectors, options) {}
  /// Over the mapped rows of a file.
  explicit DenseIndex(const DenseFile& file, std::size_t threads = 1)
      : DenseIndex(file.vectors(), file.longest(), {file.metric(), threads}, file.fingerprint()) {}

  /// Queries must have dimension() finite values.
  [[nodiscard]] std::vector<std::vector<Hit>> search(std::span<const VectorQuery> queries) const {
    std::vector<std::vector<Hit>> results;
    results.reserve(queries.size());
    for (std::size_t begin = 0; begin < queries.size(); begin += query_block)
      search_block(queries.subspan(begin, std::min(query_block, queries.size() - begin)), results);
    return results;
  }

  [[nodiscard]] std::size_t rows() const { return vectors_.rows(); }
  [[nodiscard]] std::size_t dimension() const { return vectors_.dimension(); }
  [[nodiscard]] Hash fingerprint() const { return identity_; }

 private:
  static constexpr std::size_t query_block = 64, row_block = 512;
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Rows = Eigen::Map<const Matrix>;

  DenseIndex(double longest, const Vectors& vectors, const Options& options)
      : DenseIndex(vectors, longest, options,
                   Hasher().add("dense").add(std::uint64_t(options.metric)).add(vectors.fingerprint()).finish()) {}
  DenseIndex(detail::StoredVectors vectors, double longest, const Options& options, Hash identity)
      : vectors_(std::move(vectors)), longest_(longest), options_(options), identity_(identity) {
    if (options_.threads == 0) bad_option("threads", options_.threads, "1 or more");
  }

  /// The length of the longest row, after checking them all.
  static double longest_of(const Vectors& vectors, const Options& options) {
    if (vectors.rows() > std::numeric_limits<std::uint32_t>::max()) bad_option("rows", vectors.rows(), "below 2^32");
    if (vectors.dimension() > detail::most_dimensions) bad_option("dimension", vectors.dimension(), "1 to 65536");
    double longest = 0;
    for (std::size_t i = 0; i < vectors.rows(); ++i) {
      const std::string fault = detail::vector_fault(vectors.row(i), vectors.dimension());
      if (!fault.empty()) throw std::invalid_argument("row " + std::to_string(i) + ": " + fault);
      longest = std::max(longest, detail::length_of(vectors.row(i)));
    }
    return options.metric == Metric::cosine ? 1.0001 : longest;  // cosine's rows are scaled to length 1
  }

  static Eigen::Index index(std::size_t n) { return static_cast<Eigen::Index>(n); }

  /// A rough score of l2 is 2 q.row - |row|^2. It lacks -|q|^2, which is the same for all rows.
  void search_block(std::span<const VectorQuery> queries, std::vector<std::vector<Hit>>& results) const {
    const bool l2 = options_.metric == Metric::l2;
    Matrix asked(index(queries.size()), index(dimension()));
    std::vector<double> margins, same;
    std::vector<detail::Candidates> none;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const std::span<float> vector(asked.row(index(q)).data(), dimension());
      std::copy(queries[q].vector.begin(), queries[q].vector.end(), vector.begin());
      if (options_.metric == Metric::cosine) detail::normalise(vector);
      const double length = detail::length_of(vector), size = double(dimension());
      const double reach = l2 ? (longest_ + length) * (longest_ + length) : longest_ * length;
      // The error of a sum of n products in any order is at most about n 2^-24 of the lengths' product, plus what is
      // lost where numbers are tiny.
      margins.push_back((size + 16) * 0x1.1p-24 * reach + size * double(std::numeric_limits<float>::min()));
      same.push_back(l2 ? -length * length : 0);
      none.emplace_back(std::min(queries[q].k, rows()), 2 * margins.back());
    }
    const std::size_t blocks = (rows() + row_block - 1) / row_block;
    const std::size_t workers = std::max<std::size_t>(1, std::min(options_.threads, blocks));
    std::vector<std::vector<detail::Candidates>> found(workers, none);
    detail::parallel_for(blocks, workers, [&](std::size_t block, std::size_t worker) {
      scan(asked, block * row_block, std::min(row_block, rows() - block * row_block), found[worker]);
    });
    std::vector<float> room;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      for (std::size_t worker = 1; worker < workers; ++worker) found[0][q].merge(found[worker][q]);
      const float* query = asked.row(index(q)).data();
      results.push_back(found[0][q].best([&](float rough) { return double(rough) + same[q] + margins[q]; },
                                         [&](std::uint32_t row) {
                                           const float* values = vectors_(row, 1, room).data();
                                           return l2 ? -detail::exact_square_distance(query, values, dimension())
                                                     : detail::exact_dot(query, values, dimension());
                                         }));
    }
  }

  /// Offers `count` rows from row `first` on to each query's candidates.
  void scan(const Matrix& asked, std::size_t first, std::size_t count, std::vector<detail::Candidates>& found) const {
    std::vector<float> room;
    const Rows block(vectors_(first, count, room).data(), index(count), index(dimension()));
    Matrix scores = asked * block.transpose();
    if (options_.metric == Metric::l2) scores = (2 * scores).rowwise() - block.rowwise().squaredNorm().transpose();
    for (std::size_t q = 0; q < found.size(); ++q)
      for (std::size_t i = 0; i < count; ++i) found[q].offer(scores(index(q), index(i)), first + i);
  }

  detail::StoredVectors vectors_;
  double longest_;
  Options options_;
  Hash identity_;
};

/// A retriever by exact search over embeddings.
using Dense = VectorRetriever<DenseIndex>;

}  // namespace espalier::backend
