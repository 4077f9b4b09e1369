// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// NumPy's array files (.npy, formats 1 to 3) of whole numbers or, of lengths, of floats.

namespace ballast_cli {

[[nodiscard]] inline bool is_npy(std::string_view bytes) noexcept { return bytes.starts_with("\x93NUMPY"); }

/// A view of an array in memory, perhaps a mapped file; nothing is copied.
class npy_view {
 public:
  /// Reads the header. Throws bad_input, naming `name`, also for 0 dimensions or more than the limit.
  npy_view(std::string_view bytes, std::string const& name, std::size_t most_dimensions = 2, bool floats = false);
  [[nodiscard]] std::vector<std::size_t> const& shape() const noexcept { return shape_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< all elements
  [[nodiscard]] std::size_t rows() const noexcept { return shape_[0]; }
  [[nodiscard]] std::size_t columns() const noexcept { return shape_.size() == 1 ? 1 : shape_[1]; }  ///< of one or two dimensions
  /// Element `i` in row-major order, sign-extended to 64 bits; whether it is negative is `is_negative(i)`.
  [[nodiscard]] std::uint64_t operator[](std::size_t i) const noexcept;
  [[nodiscard]] bool is_negative(std::size_t i) const noexcept { return signed_ && ((*this)[i] >> 63) != 0; }
  [[nodiscard]] bool is_float() const noexcept { return float_; }
  /// Element `i` of an array of floats.
  [[nodiscard]] double real(std::size_t i) const noexcept;
  [[nodiscard]] std::string text(std::size_t i) const;

 private:
  char const* data_ = nullptr;
  std::size_t item_ = 0;  // bytes of an element
  bool signed_ = false, float_ = false, big_endian_ = false;
  std::vector<std::size_t> shape_;
  std::size_t size_ = 1;
};

/// The header of a little-endian array in C order, `descr` as in "<u8".
[[nodiscard]] std::string npy_header(std::string_view descr, std::span<std::size_t const> shape);

}  // namespace ballast_cli
