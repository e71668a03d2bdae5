#include <espalier/backend/dense_file.hpp>
#ifdef ESPALIER_HAS_EIGEN
#include <espalier/backend/dense.hpp>
#endif
#ifdef ESPALIER_HAS_FAISS
#include <espalier/backend/faiss.hpp>
#endif

#include "encoders.hpp"
#include <fmt/format.h>

namespace espalier::python {

namespace {

using Dense = OwnPart<RetrieverPart, struct DenseTag>;
using Faiss = OwnPart<RetrieverPart, struct FaissTag>;

/// A matrix of floats [passages, dimension], from an array or from rows of numbers.
backend::Vectors make_vectors(const py::object& matrix) {
  std::vector<float> values;
  std::size_t dimension = 0, row = 0;
  for (const py::handle item : matrix) {
    std::vector<float> numbers;
    if (!read_floats(item, numbers))
      throw py::type_error(fmt::format("vectors: row {} is no row of floats but {}", row, type_name(item)));
    if (row == 0) dimension = numbers.size();
    if (numbers.size() != dimension)
      throw std::invalid_argument(
          fmt::format("vectors: row {} has {} numbers, row 0 has {}", row, numbers.size(), dimension));
    values.insert(values.end(), numbers.begin(), numbers.end());
    ++row;
  }
  return backend::Vectors(std::move(values), dimension);
}

}  // namespace

void bind_dense([[maybe_unused]] py::module_& m) {
#ifdef ESPALIER_HAS_EIGEN
  auto dense = part_class<Dense>(m, "Dense", "Exact search over embeddings.");
  dense.def(py::init([](std::vector<Passage> passages, const py::object& encoder, const py::object& vectors,
                        const std::string& metric, std::size_t threads) -> Dense {
              using Index = backend::VectorRetriever<backend::DenseIndex>;
              const backend::DenseIndex::Options options{backend::detail::metric_named(metric), threads};
              auto encode = make_encoder(encoder, Opened::each_batch);
              return shares<Dense>(vectors.is_none()
                                       ? std::make_shared<Index>(std::move(passages), std::move(encode), options)
                                       : std::make_shared<Index>(std::move(passages),
                                                                 backend::DenseIndex(make_vectors(vectors), options),
                                                                 std::move(encode)));
            }),
            py::arg("passages"), py::arg("encoder"), py::kw_only(), py::arg("vectors") = py::none(),
            py::arg("metric") = "inner_product", py::arg("threads") = 1,
            "`vectors`: one row per passage. Without them the encoder encodes the passages too.");
#endif
#ifdef ESPALIER_HAS_FAISS
  auto faiss = part_class<Faiss>(m, "Faiss", "Search by an index of faiss, read from a file.");
  faiss.def(
      py::init([](std::vector<Passage> passages, const py::object& encoder, const std::string& file, std::size_t nprobe,
                  std::size_t ef_search, std::size_t threads) -> Faiss {
        using Index = backend::VectorRetriever<backend::FaissIndex>;
        auto encode = make_encoder(encoder, Opened::each_batch);
        return shares<Faiss>(std::make_shared<Index>(
            std::move(passages), backend::FaissIndex::load(file, {nprobe, ef_search, threads}), std::move(encode)));
      }),
      py::arg("passages"), py::arg("encoder"), py::kw_only(), py::arg("file"), py::arg("nprobe") = 0,
      py::arg("ef_search") = 0, py::arg("threads") = 1, "Row i of the index in `file` is passage i.");
#endif
}

}  // namespace espalier::python
