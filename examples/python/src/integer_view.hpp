// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

namespace ballast_python {

/// Integers of one of four types, read where they lie.
class integer_view {
 public:
  enum class kind : std::uint8_t { i32, i64, u16, u32 };

  integer_view() = default;
  integer_view(void const* data, std::size_t size, kind what) noexcept : data_(data), size_(size), kind_(what) {}

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::int64_t operator[](std::size_t i) const noexcept {
    switch (kind_) {
      case kind::i32: return static_cast<std::int32_t const*>(data_)[i];
      case kind::i64: return static_cast<std::int64_t const*>(data_)[i];
      case kind::u16: return static_cast<std::uint16_t const*>(data_)[i];
      case kind::u32: return static_cast<std::uint32_t const*>(data_)[i];
    }
    return 0;
  }
  /// The integers as a range of int64, whatever the array holds.
  [[nodiscard]] auto range() const noexcept {
    return std::views::iota(std::int32_t{0}, static_cast<std::int32_t>(size_)) |
           std::views::transform([this](std::int32_t i) { return (*this)[static_cast<std::size_t>(i)]; });
  }
  /// Calls `body` with a span of the array's own type.
  template <class Body>
  [[nodiscard]] decltype(auto) visit(Body const& body) const {
    switch (kind_) {
      case kind::i32: return body(span<std::int32_t>());
      case kind::u16: return body(span<std::uint16_t>());
      case kind::u32: return body(span<std::uint32_t>());
      case kind::i64: break;
    }
    return body(span<std::int64_t>());
  }
  [[nodiscard]] std::vector<std::int64_t> copy() const {
    std::vector<std::int64_t> out(size_);
    for (std::size_t i = 0; i < size_; ++i) out[i] = (*this)[i];
    return out;
  }

 private:
  template <class T>
  [[nodiscard]] std::span<T const> span() const noexcept {
    return {static_cast<T const*>(data_), size_};
  }

  void const* data_ = nullptr;
  std::size_t size_ = 0;
  kind kind_ = kind::i64;
};

}  // namespace ballast_python
