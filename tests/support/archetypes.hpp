// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <vector>

// The least that the concepts ask for. What compiles and works with these asks for no more.

namespace ballast_test {

/// Lengths that are made on access, of a narrow type, with a narrow difference type and nothing contiguous.
class weakest_lengths {
 public:
  explicit weakest_lengths(std::vector<std::int64_t> const& of) : of_(of.begin(), of.end()) {}
  class iterator {
   public:
    using value_type = short;
    using difference_type = int;
    using iterator_concept = std::random_access_iterator_tag;
    iterator() = default;
    iterator(short const* base, int at) : base_(base), at_(at) {}
    value_type operator*() const { return base_[at_]; }
    value_type operator[](int n) const { return base_[at_ + n]; }
    iterator& operator+=(int n) { return at_ += n, *this; }
    iterator& operator-=(int n) { return at_ -= n, *this; }
    iterator& operator++() { return *this += 1; }
    iterator& operator--() { return *this -= 1; }
    iterator operator++(int) { return {base_, at_++}; }
    iterator operator--(int) { return {base_, at_--}; }
    friend iterator operator+(iterator it, int n) { return it += n; }
    friend iterator operator+(int n, iterator it) { return it += n; }
    friend iterator operator-(iterator it, int n) { return it -= n; }
    friend int operator-(iterator a, iterator b) { return a.at_ - b.at_; }
    friend bool operator==(iterator a, iterator b) { return a.at_ == b.at_; }
    friend auto operator<=>(iterator a, iterator b) { return a.at_ <=> b.at_; }

   private:
    short const* base_ = nullptr;
    int at_ = 0;
  };
  [[nodiscard]] iterator begin() const { return {of_.data(), 0}; }
  [[nodiscard]] iterator end() const { return {of_.data(), static_cast<int>(of_.size())}; }

 private:
  std::vector<short> of_;
};
static_assert(ballast::length_range<weakest_lengths>);

/// A cost that can be copied and called, and nothing else; its result is narrow.
class smallest_cost {
 public:
  explicit smallest_cost(int factor) : factor_(factor) {}
  smallest_cost(smallest_cost const&) = default;
  smallest_cost& operator=(smallest_cost const&) = delete;
  unsigned short operator()(std::int64_t length) const { return static_cast<unsigned short>(length * factor_); }

 private:
  int factor_;
};
static_assert(ballast::cost_model<smallest_cost> && !ballast::bounded_cost_model<smallest_cost>);

}  // namespace ballast_test
