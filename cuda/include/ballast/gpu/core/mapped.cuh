// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/version.hpp>

#include <cstddef>
#include <iterator>
#include <type_traits>

/// @file
/// @brief `mapped`: an iterator whose elements are computed instead of stored, as input of scans and reductions on every backend.

namespace ballast::inline v0_2::gpu {

/// @brief A random-access iterator whose element at `i` is `f(i)`.
/// @tparam F  callable on host and device with a position; returns the element
template <class F>
class mapped {
 public:
  using value_type = std::remove_cvref_t<std::invoke_result_t<F const&, std::size_t>>;  ///< result type of `f`
  using reference = value_type;                                                         ///< elements are computed, not referenced
  using pointer = void;                                                                 ///< elements have no address
  using difference_type = std::ptrdiff_t;                                               ///< distance of positions
  using iterator_category = std::random_access_iterator_tag;                            ///< category of the iterator

  /// @brief Makes an iterator at a position. @param f computes the elements @param at the position
  BALLAST_HD explicit mapped(F f, std::ptrdiff_t at = 0) : f_(f), at_(at) {}
  /// @cond members of every random-access iterator
  BALLAST_HD value_type operator*() const { return f_(static_cast<std::size_t>(at_)); }
  BALLAST_HD value_type operator[](std::ptrdiff_t i) const { return f_(static_cast<std::size_t>(at_ + i)); }
  BALLAST_HD mapped& operator+=(std::ptrdiff_t n) {
    at_ += n;
    return *this;
  }
  BALLAST_HD mapped& operator-=(std::ptrdiff_t n) { return *this += -n; }
  BALLAST_HD mapped& operator++() { return *this += 1; }
  BALLAST_HD mapped& operator--() { return *this += -1; }
  BALLAST_HD mapped operator++(int) {
    auto const old = *this;
    ++*this;
    return old;
  }
  BALLAST_HD mapped operator--(int) {
    auto const old = *this;
    --*this;
    return old;
  }
  friend BALLAST_HD mapped operator+(mapped a, std::ptrdiff_t n) { return a += n; }
  friend BALLAST_HD mapped operator+(std::ptrdiff_t n, mapped a) { return a += n; }
  friend BALLAST_HD mapped operator-(mapped a, std::ptrdiff_t n) { return a -= n; }
  friend BALLAST_HD std::ptrdiff_t operator-(mapped const& a, mapped const& b) { return a.at_ - b.at_; }
  friend BALLAST_HD bool operator==(mapped const& a, mapped const& b) { return a.at_ == b.at_; }
  friend BALLAST_HD bool operator!=(mapped const& a, mapped const& b) { return a.at_ != b.at_; }
  friend BALLAST_HD bool operator<(mapped const& a, mapped const& b) { return a.at_ < b.at_; }
  friend BALLAST_HD bool operator>(mapped const& a, mapped const& b) { return a.at_ > b.at_; }
  friend BALLAST_HD bool operator<=(mapped const& a, mapped const& b) { return a.at_ <= b.at_; }
  friend BALLAST_HD bool operator>=(mapped const& a, mapped const& b) { return a.at_ >= b.at_; }
  /// @endcond

 private:
  F f_;
  std::ptrdiff_t at_;
};

}  // namespace ballast::inline v0_2::gpu
