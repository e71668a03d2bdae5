// Exact search beside the plain Eigen product with a partial sort that it is built on (which gives other bits for other
// batches). Interleaved runs, medians, one thread. 50,000 clustered rows of 384, top 10.

#include <espalier/backend/dense.hpp>
#include <espalier/core/seed.hpp>

#include <chrono>
#include <cstdio>
#include <numeric>

namespace {

using namespace espalier;
using backend::DenseIndex;
using backend::VectorQuery;
using backend::Vectors;

constexpr std::size_t rows = 50000, dimension = 384, k = 10, repeats = 5;

Vectors clustered(std::size_t count, std::uint64_t seed) {
  Random random{Seed(seed)};
  std::vector<float> values;
  values.reserve(count * dimension);
  for (std::size_t i = 0; i < count; ++i) {
    Random centre{Seed(random.below(500))};
    for (std::size_t j = 0; j < dimension; ++j)
      values.push_back(static_cast<float>(centre.uniform() - 0.5 + 0.5 * (random.uniform() - 0.5)));
    backend::normalise(std::span(values).last(dimension));
  }
  return Vectors(std::move(values), dimension);
}

/// Row numbers of the best k of each query by single-precision products.
std::vector<std::uint32_t> plain(const Vectors& index, const Vectors& queries, std::size_t begin, std::size_t count) {
  using Matrix = Eigen::Map<const Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  const auto size = [](std::size_t n) { return static_cast<Eigen::Index>(n); };
  const Matrix p(index.values().data(), size(index.rows()), size(dimension));
  const Matrix q(queries.row(begin).data(), size(count), size(dimension));
  const Eigen::MatrixXf scores = p * q.transpose();
  std::vector<std::uint32_t> order(index.rows()), best;
  for (std::size_t i = 0; i < count; ++i) {
    std::iota(order.begin(), order.end(), 0U);
    const float* column = scores.col(size(i)).data();
    std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](auto a, auto b) { return column[a] > column[b]; });
    best.insert(best.end(), order.begin(), order.begin() + k);
  }
  return best;
}

template <class F>
double rate(std::size_t operations, F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return double(operations) / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  const Vectors base = clustered(rows, 1), queries = clustered(512, 2);
  const DenseIndex index(base);
  std::printf("%-24s %12s %12s %8s %10s\n", "queries a second", "espalier", "plain Eigen", "ratio", "same rows");
  for (const std::size_t batch : {1UL, 4UL, 16UL, 64UL, 256UL}) {
    const std::size_t asked = std::min<std::size_t>(512, batch * 32);
    std::vector<double> a, b;
    std::size_t same = 0;
    for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
      std::vector<std::uint32_t> ours, theirs;
      a.push_back(rate(asked, [&] {
        for (std::size_t begin = 0; begin < asked; begin += batch) {
          std::vector<VectorQuery> searches;
          for (std::size_t i = begin; i < begin + batch; ++i) searches.emplace_back(queries.row(i), k);
          for (const auto& hits : index.search(searches))
            for (const auto& hit : hits) ours.push_back(hit.row);
        }
      }));
      b.push_back(rate(asked, [&] {
        for (std::size_t begin = 0; begin < asked; begin += batch) {
          const auto best = plain(base, queries, begin, batch);
          theirs.insert(theirs.end(), best.begin(), best.end());
        }
      }));
      for (std::size_t i = 0; i < ours.size(); ++i) same += ours[i] == theirs[i];
    }
    std::printf("%3zu at once              %12.0f %12.0f %8.2f %9.2f%%\n", batch, median(a), median(b), median(a) / median(b),
                100.0 * double(same) / double(repeats * asked * k));
  }
}
