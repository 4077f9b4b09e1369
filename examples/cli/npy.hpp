// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// NumPy's array files (.npy, formats 1 to 3): whole numbers in one or two dimensions.

namespace ballast_cli {

[[nodiscard]] inline bool is_npy(std::string_view bytes) noexcept { return bytes.starts_with("\x93NUMPY"); }

/// A view of an array in memory, perhaps a mapped file; nothing is copied.
class npy_view {
 public:
  /// Reads the header. Throws bad_input, naming `name`.
  npy_view(std::string_view bytes, std::string const& name);
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  [[nodiscard]] std::size_t columns() const noexcept { return columns_; }  ///< 1 for one dimension
  [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
  /// Element `i` in row-major order, sign-extended to 64 bits; whether it is negative is `is_negative(i)`.
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept;
  [[nodiscard]] bool is_negative(std::size_t i) const noexcept { return signed_ && ((*this)[i] >> 63) != 0; }
  [[nodiscard]] std::string text(std::size_t i) const;

 private:
  char const* data_ = nullptr;
  std::size_t item_ = 0;  // bytes of an element
  bool signed_ = false, big_endian_ = false;
  std::size_t rows_ = 0, columns_ = 1, dimensions_ = 1;
};

/// The header of a little-endian array in C order, `descr` as in "<u8".
[[nodiscard]] std::string npy_header(std::string_view descr, std::span<std::size_t const> shape);

}  // namespace ballast_cli
