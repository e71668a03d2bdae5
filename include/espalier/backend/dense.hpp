#pragma once

#include <espalier/backend/dense/detail/byte_codes.hpp>
#include <espalier/backend/dense/detail/candidates.hpp>
#include <espalier/backend/dense/stored_vectors.hpp>
#include <espalier/backend/vector_retriever.hpp>

#include <future>
#include <limits>

namespace espalier::backend {

/// Exact search over all rows. A first pass over the rows' bytes finds every row that can be among the best k, given
/// the largest possible error of the bytes (by Cauchy-Schwarz). These rows are scored again in double precision and
/// ranked. So the result equals that of a plain double-precision loop, bit by bit, for any batch, thread count,
/// compiler and processor.
class DenseIndex {
 public:
  struct Options {
    Metric metric = Metric::inner_product;
    std::size_t threads = 1;  ///< >= 1, an execution option that changes no result
  };

  /// Throws std::invalid_argument for a bad option or a row that is not finite.
  explicit DenseIndex(const Vectors& vectors) : DenseIndex(vectors, Options()) {}
  DenseIndex(const Vectors& vectors, const Options& options) : DenseIndex(options, checked(vectors, options)) {}
  /// From rows that are already checked and coded.
  DenseIndex(detail::StoredVectors vectors, detail::ByteCodes codes, const Options& options, Hash identity)
      : vectors_(std::move(vectors)), options_(options), codes_(std::move(codes)), identity_(identity) {
    if (options_.threads == 0) bad_option("threads", options_.threads, "1 or more");
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
  [[nodiscard]] Hash fingerprint() const { return identity_; }

 private:
  static constexpr std::size_t query_block = 64, panel_block = 16;

  DenseIndex(const Options& options, const Vectors& vectors)
      : vectors_(vectors),
        options_(options),
        codes_(vectors),
        identity_(Hasher().add("dense").add(std::uint64_t(options.metric)).add(vectors.fingerprint()).finish()) {}

  static Vectors checked(const Vectors& vectors, const Options& options) {
    if (options.threads == 0) bad_option("threads", options.threads, "1 or more");
    if (vectors.rows() > std::numeric_limits<std::uint32_t>::max()) bad_option("rows", vectors.rows(), "below 2^32");
    if (vectors.dimension() > detail::most_byte_dimensions) bad_option("dimension", vectors.dimension(), "1 to 65536");
    for (std::size_t i = 0; i < vectors.rows(); ++i) {
      const std::string fault = detail::vector_fault(vectors.row(i), vectors.dimension());
      if (!fault.empty()) throw std::invalid_argument("row " + std::to_string(i) + ": " + fault);
    }
    return options.metric == Metric::cosine ? detail::normalised(vectors) : vectors;
  }

  /// A query in both forms. Rough scores are in units of `unit`, without the part that is the same for all rows.
  struct Asked {
    Asked(std::span<const float> query, std::size_t wanted, const detail::ByteCodes& codes, bool l2)
        : vector(query.begin(), query.end()),
          k(wanted),
          coded(query),
          unit(l2 ? 2 * coded.scale : coded.scale),
          square_share(l2 ? static_cast<float>(1 / coded.scale) : 0) {
      const double length = std::sqrt(detail::exact_dot(query.data(), query.data(), query.size()));
      same = l2 ? -length * length : 0;
      // The possible error of the bytes, and rounding errors: of rough scores in single precision, of exact ones in
      // double.
      const double missed = coded.error * codes.longest() + coded.length * codes.error();
      const double reach = codes.longest() + length;
      margin = (l2 ? 2 : 1) * missed + 0x1p-20 * (l2 ? reach * reach : length * codes.longest()) +
               double(std::numeric_limits<float>::min());
    }
    std::vector<float> vector;
    std::size_t k;
    detail::CodedQuery coded;
    double unit;
    float square_share;  ///< factor of half a row's square in a rough score
    double same = 0;     ///< the part of every row's score that rough scores leave out
    double margin = 0;   ///< the largest difference between a score and its rough score
  };

  void search_block(std::span<const VectorQuery> queries, std::vector<std::vector<Hit>>& results) const {
    const bool l2 = options_.metric == Metric::l2;
    std::vector<Asked> asked;
    asked.reserve(queries.size());
    for (const VectorQuery& query : queries) {
      std::vector<float> vector(query.vector.begin(), query.vector.end());
      if (options_.metric == Metric::cosine) detail::normalise(vector);
      asked.emplace_back(vector, std::min(query.k, rows()), codes_, l2);
    }
    std::vector<detail::Candidates> found = scan_all(asked);
    std::vector<float> room;
    for (std::size_t q = 0; q < asked.size(); ++q)
      results.push_back(found[q].best(
          [&](float rough) { return double(rough) * asked[q].unit + asked[q].same + asked[q].margin; },
          [&](std::uint32_t row) { return score(asked[q].vector.data(), vectors_.row(row, room).data()); }));
  }
  [[nodiscard]] double score(const float* query, const float* values) const {
    return options_.metric == Metric::l2 ? -detail::exact_square_distance(query, values, dimension())
                                         : detail::exact_dot(query, values, dimension());
  }

  /// Candidates for each query. The panels are divided among the threads.
  [[nodiscard]] std::vector<detail::Candidates> scan_all(const std::vector<Asked>& asked) const {
    const std::size_t blocks = (codes_.panels() + panel_block - 1) / panel_block;
    const std::size_t share =
        std::max<std::size_t>(1, (blocks + options_.threads - 1) / options_.threads) * panel_block;
    std::vector<std::future<std::vector<detail::Candidates>>> others;
    for (std::size_t begin = share; begin < codes_.panels(); begin += share)
      others.push_back(std::async(std::launch::async, [this, &asked, begin, share] {
        return scan(asked, begin, std::min(begin + share, codes_.panels()));
      }));
    std::vector<detail::Candidates> found = scan(asked, 0, std::min(share, codes_.panels()));
    for (auto& other : others) {
      const std::vector<detail::Candidates> theirs = other.get();
      for (std::size_t q = 0; q < asked.size(); ++q) found[q].merge(theirs[q]);
    }
    return found;
  }

  [[nodiscard]] std::vector<detail::Candidates> scan(const std::vector<Asked>& asked, std::size_t begin,
                                                     std::size_t end) const {
    constexpr std::size_t block_rows = panel_block * detail::panel_rows;
    std::vector<detail::Candidates> found;
    std::vector<detail::ByteQuery> coded;
    for (const Asked& query : asked) {
      found.emplace_back(query.k, 2 * query.margin / query.unit);
      coded.push_back(query.coded.view());
    }
    std::vector<std::int32_t> dots(asked.size() * block_rows);
    for (std::size_t panel = begin; panel < end; panel += panel_block) {
      const std::size_t panels = std::min(panel_block, end - panel), first = panel * detail::panel_rows;
      codes_.dots(coded, panel, panels, dots.data(), block_rows);
      for (std::size_t q = 0; q < asked.size(); ++q)
        if (asked[q].k > 0)
          found[q].offer(dots.data() + q * block_rows, 128 * asked[q].coded.sum, codes_.scales(panel, panels),
                         codes_.half_squares(panel, panels), asked[q].square_share,
                         std::min(panels * detail::panel_rows, rows() - first), static_cast<std::uint32_t>(first));
    }
    return found;
  }

  detail::StoredVectors vectors_;
  Options options_;
  detail::ByteCodes codes_;
  Hash identity_;
};

/// A retriever by exact search over embeddings.
using Dense = VectorRetriever<DenseIndex>;

}  // namespace espalier::backend
