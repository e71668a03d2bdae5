#pragma once

#include <espalier/backend/vector_retriever.hpp>

#include <Eigen/Core>

#include <future>
#include <limits>

namespace espalier::backend {

struct DenseOptions {
  Metric metric = Metric::inner_product;  ///< inner_product or cosine
  std::size_t threads = 1;                ///< >= 1; an option of execution: it changes no result
};

/// Exact search over all rows. Blocked single-precision products find every row that can be among the best k, given the
/// largest error such a product may have; these are scored again in double precision and ranked. So the result is that of
/// a plain double-precision loop, bit by bit, for any batch, block, thread count and compiler.
class DenseIndex {
 public:
  using Options = DenseOptions;

  /// Throws std::invalid_argument for a bad option or a row that is not finite.
  explicit DenseIndex(Vectors vectors, const Options& options = {}) : vectors_(std::move(vectors)), options_(options) {
    if (options_.metric == Metric::l2) bad_option("metric", "l2", "inner_product or cosine");
    if (options_.threads == 0) bad_option("threads", options_.threads, "1 or more");
    if (vectors_.rows() > std::numeric_limits<std::uint32_t>::max()) bad_option("rows", vectors_.rows(), "below 2^32");
    for (std::size_t i = 0; i < vectors_.rows(); ++i) {
      const std::string fault = vector_fault(vectors_.row(i), dimension());
      if (!fault.empty()) throw std::invalid_argument("row " + std::to_string(i) + ": " + fault);
      if (options_.metric == Metric::cosine) normalise(vectors_.row(i));
      longest_ = std::max(longest_, length(vectors_.row(i)));
    }
  }

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
  [[nodiscard]] Hash fingerprint() const {
    return Hasher().add("dense").add(std::uint64_t(options_.metric)).add(vectors_.fingerprint()).finish();
  }

 private:
  static constexpr std::size_t query_block = 64, row_block = 1024;

  /// Rows whose rough score is at most `slack` below the k-th best rough score.
  class Candidates {
   public:
    Candidates(std::size_t k, double slack) : k_(k), slack_(slack), limit_(2 * k + 256) {}
    void offer(const float* scores, std::size_t count, std::size_t first_row) {
      for (std::size_t i = 0; i < count; ++i) {
        if (scores[i] < bound_) continue;
        pool_.emplace_back(scores[i], static_cast<std::uint32_t>(first_row + i));
        if (pool_.size() >= limit_) tighten();
      }
    }
    void merge(const Candidates& other) { pool_.insert(pool_.end(), other.pool_.begin(), other.pool_.end()); }
    void tighten() {
      if (pool_.size() <= k_) return;
      const auto kth = pool_.begin() + static_cast<std::ptrdiff_t>(k_ - 1);
      std::nth_element(pool_.begin(), kth, pool_.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
      bound_ = static_cast<float>(double(kth->first) - slack_);
      std::erase_if(pool_, [this](const auto& candidate) { return candidate.first < bound_; });
      limit_ = 2 * pool_.size() + 256;
    }
    [[nodiscard]] const std::vector<std::pair<float, std::uint32_t>>& pool() const { return pool_; }

   private:
    std::size_t k_;
    double slack_;
    std::size_t limit_;
    float bound_ = -std::numeric_limits<float>::infinity();
    std::vector<std::pair<float, std::uint32_t>> pool_;
  };

  static double length(std::span<const float> v) { return std::sqrt(exact_dot(v.data(), v.data(), v.size())); }

  /// Twice the error of a single-precision inner product of `query` with any row: |error| <= n u / (1 - n u) |q| |p|,
  /// u = 2^-24, in any order of summation; a few u and the smallest normal number more for the bound's own rounding.
  [[nodiscard]] double slack(std::span<const float> query) const {
    const auto n = static_cast<double>(dimension() + 16);
    const double relative = n * 0x1p-24 / (1 - std::min(0.5, n * 0x1p-24));
    return 2 * (relative * length(query) * longest_ + n * double(std::numeric_limits<float>::min()));
  }

  void search_block(std::span<const VectorQuery> queries, std::vector<std::vector<Hit>>& results) const {
    std::vector<float> packed;  // [queries, dimension]
    packed.reserve(queries.size() * dimension());
    for (const VectorQuery& query : queries) packed.insert(packed.end(), query.vector.begin(), query.vector.end());
    Vectors block(std::move(packed), dimension());
    if (options_.metric == Metric::cosine)
      for (std::size_t q = 0; q < queries.size(); ++q) normalise(block.row(q));

    std::vector<Candidates> found = scan_all(queries, block);
    for (std::size_t q = 0; q < queries.size(); ++q) {
      std::vector<Hit> hits;
      if (queries[q].k > 0) {
        found[q].tighten();
        hits.reserve(found[q].pool().size());
        for (const auto& [rough, row] : found[q].pool())
          hits.emplace_back(row, exact_dot(block.row(q).data(), vectors_.row(row).data(), dimension()));
      }
      const std::size_t kept = std::min(queries[q].k, hits.size());
      std::partial_sort(hits.begin(), hits.begin() + static_cast<std::ptrdiff_t>(kept), hits.end());
      hits.erase(hits.begin() + static_cast<std::ptrdiff_t>(kept), hits.end());
      results.push_back(std::move(hits));
    }
  }

  /// Candidates a query; the rows are shared out over the threads.
  [[nodiscard]] std::vector<Candidates> scan_all(std::span<const VectorQuery> queries, const Vectors& block) const {
    const std::size_t blocks = (rows() + row_block - 1) / row_block;
    const std::size_t share = (blocks + options_.threads - 1) / options_.threads * row_block;
    std::vector<std::future<std::vector<Candidates>>> others;
    for (std::size_t begin = share; begin < rows(); begin += share)
      others.push_back(std::async(std::launch::async, [this, queries, &block, begin, share] {
        return scan(queries, block, begin, std::min(begin + share, rows()));
      }));
    std::vector<Candidates> found = scan(queries, block, 0, std::min(share, rows()));
    for (auto& other : others) {
      const std::vector<Candidates> theirs = other.get();
      for (std::size_t q = 0; q < queries.size(); ++q) found[q].merge(theirs[q]);
    }
    return found;
  }

  [[nodiscard]] std::vector<Candidates> scan(std::span<const VectorQuery> queries, const Vectors& block, std::size_t begin,
                                             std::size_t end) const {
    using Matrix = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
    const auto index = [](std::size_t i) { return static_cast<Eigen::Index>(i); };
    const Matrix q(block.values().data(), index(queries.size()), index(dimension()));
    std::vector<Candidates> found;
    for (std::size_t i = 0; i < queries.size(); ++i) found.emplace_back(queries[i].k, slack(block.row(i)));
    Eigen::MatrixXf scores;  // [rows of the block, queries]: a query's scores lie side by side
    for (std::size_t row = begin; row < end; row += row_block) {
      const std::size_t count = std::min(row_block, end - row);
      const Matrix p(vectors_.row(row).data(), index(count), index(dimension()));
      scores.noalias() = p * q.transpose();
      for (std::size_t i = 0; i < queries.size(); ++i)
        if (queries[i].k > 0) found[i].offer(scores.col(index(i)).data(), count, row);
    }
    return found;
  }

  Vectors vectors_;
  Options options_;
  double longest_ = 0;  ///< length of the longest row
};

/// A retriever by exact search over embeddings.
using Dense = VectorRetriever<DenseIndex>;

}  // namespace espalier::backend
