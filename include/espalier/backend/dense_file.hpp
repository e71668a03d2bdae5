#pragma once

#include <espalier/backend/dense.hpp>
#include <espalier/backend/index/detail/checked_file.hpp>
#include <espalier/backend/index/detail/checked_writer.hpp>

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace espalier::backend {

namespace detail {

/// The first section of a file of vectors.
struct DenseFileAbout {
  static constexpr const char* kind = "dense";
  static constexpr std::uint32_t version = 2;

  std::uint64_t rows, dimension;
  std::uint64_t precision;    ///< of the rows: 0 = float32, 1 = float16
  std::uint64_t metric;       ///< 0 = inner_product, 1 = cosine (rows have length 1), 2 = l2
  std::uint64_t identity[2];  ///< hash of values, shape and metric
  std::uint64_t encoder[2];   ///< fingerprint of the encoder, 0 = unknown
  double error, longest;      ///< of the bytes (ByteCodes)
};

/// Writes a file of vectors for exact search, row by row: the rows and their bytes. Holds the bytes of all rows in
/// memory until commit(). With float16 each number is rounded to the nearest 16-bit number. Throws
/// std::invalid_argument for a row that is not finite, has another dimension, or is too large for float16.
class DenseFileWriter {
 public:
  DenseFileWriter(const std::string& path, std::size_t dimension, Metric metric = Metric::inner_product,
                  Hash encoder = {}, Precision precision = Precision::float32)
      : file_(path, DenseFileAbout::kind, DenseFileAbout::version),
        coder_(dimension),
        dimension_(dimension),
        metric_(metric),
        precision_(precision),
        encoder_(encoder) {
    if (dimension == 0 || dimension > most_byte_dimensions) bad_option("dimension", dimension, "1 to 65536");
    file_.begin("vectors");
  }
  void add(std::span<const float> vector) {
    if (const std::string fault = vector_fault(vector, dimension_); !fault.empty())
      throw std::invalid_argument("row " + std::to_string(coder_.rows) + ": " + fault);
    std::vector<float> row(vector.begin(), vector.end());
    if (metric_ == Metric::cosine) normalise(row);
    if (precision_ == Precision::float16) write_halves(row);
    else file_.write(std::span<const float>(row));
    for (const float value : row) hasher_.add(std::uint64_t(std::bit_cast<std::uint32_t>(value)));
    coder_.add(row);
  }
  [[nodiscard]] std::size_t rows() const { return coder_.rows; }
  void commit() {
    file_.begin("bytes");
    file_.write(std::span<const std::uint8_t>(coder_.bytes));
    file_.begin("scales");
    file_.write(std::span<const float>(coder_.scales));
    file_.begin("half_squares");
    file_.write(std::span<const float>(coder_.half_squares));
    const Hash identity = hasher_.add(std::uint64_t(dimension_)).add(std::uint64_t(metric_)).finish();
    const DenseFileAbout about{coder_.rows,
                               dimension_,
                               std::uint64_t(precision_),
                               std::uint64_t(metric_),
                               {identity.high, identity.low},
                               {encoder_.high, encoder_.low},
                               coder_.error,
                               coder_.longest};
    file_.begin("about");
    file_.write(std::span<const DenseFileAbout>(&about, 1));
    file_.commit();
  }

 private:
  void write_halves(std::span<float> row) {
    std::vector<std::uint16_t> halves;
    for (float& value : row) {
      if (!fits_half(value))
        throw std::invalid_argument("row " + std::to_string(coder_.rows) + ": an embedding holds " +
                                    std::to_string(value) + ", float16 no more than 65504");
      halves.push_back(to_half(value));
      value = from_half(halves.back());
    }
    file_.write(std::span<const std::uint16_t>(halves));
  }

  CheckedWriter file_;
  ByteCoder coder_;
  std::size_t dimension_;
  Metric metric_;
  Precision precision_;
  Hash encoder_;
  Hasher hasher_;
};

}  // namespace detail

/// A file of vectors, mapped into memory. Every part is checked when it is read. Throws InputError that names the file.
class DenseFile {
 public:
  static constexpr const char* kind = detail::DenseFileAbout::kind;
  static constexpr std::uint32_t version = detail::DenseFileAbout::version;

  /// Encodes all passages of a corpus into a file of vectors, `batch` at a time. told(rows) is called for each row
  /// written. `fingerprint` is the encoder's, zeros = unknown. With float16 each number is rounded to the nearest
  /// 16-bit number. The bytes of all rows are held in memory until the end. Throws the encoder's first error, and
  /// BackendError if embeddings differ in dimension. Throws std::invalid_argument if there are no passages, or for a
  /// row that is not finite or too large for float16.
  template <class Corpus, class Told>
  static void write(const std::string& path, const Corpus& passages, detail::AnyEncoder encoder, Hash fingerprint,
                    Metric metric, Precision precision, std::size_t batch, const Told& told) {
    std::optional<detail::DenseFileWriter> writer;
    const auto take = [&](std::span<const float> vector) {
      if (!writer) writer.emplace(path, vector.size(), metric, fingerprint, precision);
      writer->add(vector);
      told(writer->rows());
    };
    detail::encode_each(passages, std::move(encoder), take, batch);
    writer->commit();
  }

  explicit DenseFile(const std::string& path) : DenseFile(detail::CheckedFile(path, kind, version)) {}
  explicit DenseFile(detail::CheckedFile file)
      : file_(std::move(file)), about_(file_.section("about").items<detail::DenseFileAbout>(0, 1)[0]) {
    if (about_.dimension == 0 || about_.dimension > detail::most_byte_dimensions || about_.rows > ~std::uint32_t(0) ||
        about_.metric > 2 || about_.precision > 1)
      file_.section("about").fail("holds a number out of range");
  }
  [[nodiscard]] std::size_t rows() const { return static_cast<std::size_t>(about_.rows); }
  [[nodiscard]] std::size_t dimension() const { return static_cast<std::size_t>(about_.dimension); }
  [[nodiscard]] Metric metric() const { return static_cast<Metric>(about_.metric); }
  /// Fingerprint of the encoder, zeros = unknown.
  [[nodiscard]] Hash encoder() const { return {about_.encoder[0], about_.encoder[1]}; }
  [[nodiscard]] Precision precision() const { return static_cast<Precision>(about_.precision); }
  [[nodiscard]] detail::StoredVectors vectors() const {
    const detail::CheckedFile::Section section = file_.section("vectors");
    if (precision() == Precision::float16)
      return {detail::Column<std::uint16_t>(section, rows() * dimension()), dimension()};
    return Vectors(detail::Column<float>(section, rows() * dimension()), dimension());
  }
  /// Exact search over the mapped rows.
  [[nodiscard]] DenseIndex index(std::size_t threads = 1) const {
    const std::size_t panels = (rows() + detail::panel_rows - 1) / detail::panel_rows,
                      panel_size = (dimension() + 3) / 4 * 4 * detail::panel_rows;
    detail::ByteCodes codes(detail::Column<std::uint8_t>(file_.section("bytes"), panels * panel_size),
                            detail::Column<float>(file_.section("scales"), panels * detail::panel_rows),
                            detail::Column<float>(file_.section("half_squares"), panels * detail::panel_rows),
                            panel_size, about_.error, about_.longest);
    return DenseIndex(vectors(), std::move(codes), {metric(), threads},
                      Hasher().add("dense file").add(about_.identity[0]).add(about_.identity[1]).finish());
  }

 private:
  detail::CheckedFile file_;
  detail::DenseFileAbout about_;
};

}  // namespace espalier::backend
