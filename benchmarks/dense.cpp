// Exact search beside faiss's flat index and a plain Eigen product with a partial sort (both give other bits for other
// batches), and our front to faiss beside faiss called directly. Interleaved runs, medians, one thread; CPU seconds, so
// that other programs on the machine count less. 50,000 clustered rows of 384, 20,000 for faiss, top 10.

#include <espalier/backend/dense.hpp>
#include <espalier/core/seed.hpp>
#ifdef ESPALIER_HAS_FAISS
#include <espalier/backend/faiss.hpp>

#include <faiss/index_factory.h>
#endif

#include <Eigen/Core>

#include <cstdint>
#include <cstdio>
#include <ctime>
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
    backend::detail::normalise(std::span(values).last(dimension));
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
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](auto a, auto b) { return column[a] > column[b]; });
    best.insert(best.end(), order.begin(), order.begin() + k);
  }
  return best;
}

template <class F>
double rate(std::size_t operations, F f) {
  const std::clock_t start = std::clock();
  f();
  return double(operations) * CLOCKS_PER_SEC / double(std::max<std::clock_t>(1, std::clock() - start));
}
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Asks for the first `asked` queries, `batch` at a time.
template <class Index>
std::vector<std::uint32_t> ours(const Index& index, const Vectors& queries, std::size_t asked, std::size_t batch) {
  std::vector<std::uint32_t> found;
  for (std::size_t begin = 0; begin < asked; begin += batch) {
    std::vector<VectorQuery> searches;
    for (std::size_t i = begin; i < begin + batch; ++i) searches.emplace_back(queries.row(i), k);
    for (const auto& hits : index.search(searches))
      for (const auto& hit : hits) found.push_back(hit.row);
  }
  return found;
}

/// Rates of `a` and `b` in turn, their ratio, and how many of the rows that they found are the same.
template <class A, class B>
void compare(const char* name, std::size_t batch, std::size_t asked, A a, B b) {
  std::vector<double> first, second;
  std::size_t same = 0, all = 0;
  for (std::size_t repeat = 0; repeat < repeats; ++repeat) {
    std::vector<std::uint32_t> one, other;
    first.push_back(rate(asked, [&] { one = a(); }));
    second.push_back(rate(asked, [&] { other = b(); }));
    for (std::size_t i = 0; i < one.size(); ++i) same += one[i] == other[i];
    all += one.size();
  }
  std::printf("%-22s %4zu %12.0f %12.0f %8.2f %9.2f%%\n", name, batch, median(first), median(second),
              median(first) / median(second), 100.0 * double(same) / double(all));
}

#ifdef ESPALIER_HAS_FAISS
std::vector<std::uint32_t> direct(const faiss::Index& index, const Vectors& queries, std::size_t asked,
                                  std::size_t batch) {
  std::vector<float> scores(batch * k);
  std::vector<std::int64_t> labels(batch * k);
  std::vector<std::uint32_t> found;
  for (std::size_t begin = 0; begin < asked; begin += batch) {
    index.search(static_cast<std::int64_t>(batch), queries.row(begin).data(), k, scores.data(), labels.data());
    found.insert(found.end(), labels.begin(), labels.end());
  }
  return found;
}
#endif

}  // namespace

int main() {
  const Vectors base = clustered(rows, 1), queries = clustered(512, 2);
  const DenseIndex index(base);
  std::printf("%-22s %4s %12s %12s %8s %10s\n", "queries a CPU second", "at once", "espalier", "peer", "ratio",
              "same rows");
  for (const std::size_t batch : {1UL, 4UL, 16UL, 64UL, 256UL}) {
    const std::size_t asked = std::min<std::size_t>(512, batch * 32);
    compare(
        "exact / plain Eigen", batch, asked, [&] { return ours(index, queries, asked, batch); },
        [&] {
          std::vector<std::uint32_t> found;
          for (std::size_t begin = 0; begin < asked; begin += batch)
            for (const auto row : plain(base, queries, begin, batch)) found.push_back(row);
          return found;
        });
  }
#ifdef ESPALIER_HAS_FAISS
  omp_set_num_threads(1);
  const Vectors fewer = clustered(20000, 1);  // a graph takes its time to build
  for (const char* factory : {"Flat", "HNSW16", "IVF128,Flat", "IVF128,SQ8"}) {
    const std::string file = std::string("bench_dense.") + std::to_string(std::time(nullptr)) + ".faiss";
    const std::unique_ptr<faiss::Index> peer(
        faiss::index_factory(static_cast<int>(dimension), factory, faiss::METRIC_INNER_PRODUCT));
    peer->train(static_cast<std::int64_t>(fewer.rows()), fewer.values().data());
    peer->add(static_cast<std::int64_t>(fewer.rows()), fewer.values().data());
    faiss::write_index(peer.get(), file.c_str());
    const auto front = backend::FaissIndex::load(file);
    std::filesystem::remove(file);
    for (const std::size_t batch : {1UL, 64UL})
      compare((std::string(factory) + " / faiss").c_str(), batch, 512 - 512 % batch,
              [&] { return ours(front, queries, 512, batch); }, [&] { return direct(*peer, queries, 512, batch); });
  }
#endif
}
