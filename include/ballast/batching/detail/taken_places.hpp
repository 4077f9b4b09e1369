// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>

// The places of a plan of steps that hold a pack, as a range.

namespace ballast::inline v0_2::detail {

/// A forward range over places that skips empty places; `View` says what it yields for a pack.
template <index_type Index, class View>
class taken_places {
 public:
  class iterator {
   public:
    using value_type = decltype(View()(Index{}));
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;  // the reference is a value

    iterator() = default;
    iterator(Index const* at, Index const* end, View view) noexcept : at_(at), end_(end), view_(view) { skip(); }

    value_type operator*() const noexcept { return view_(*at_); }
    iterator& operator++() noexcept {
      ++at_;
      skip();
      return *this;
    }
    iterator operator++(int) noexcept {
      auto old = *this;
      return ++*this, old;
    }
    friend bool operator==(iterator a, iterator b) noexcept { return a.at_ == b.at_; }

   private:
    void skip() noexcept {
      while (at_ != end_ && *at_ == (std::numeric_limits<Index>::max)()) ++at_;
    }
    Index const* at_ = nullptr;
    Index const* end_ = nullptr;
    View view_;
  };

  taken_places(std::span<Index const> places, View view) noexcept : places_(places), view_(view) {}
  [[nodiscard]] iterator begin() const noexcept { return {places_.data(), end_of_places(), view_}; }
  [[nodiscard]] iterator end() const noexcept { return {end_of_places(), end_of_places(), view_}; }
  [[nodiscard]] bool empty() const noexcept { return begin() == end(); }

 private:
  [[nodiscard]] Index const* end_of_places() const noexcept { return places_.data() + places_.size(); }
  std::span<Index const> places_;
  View view_;
};

/// Yields the number of a pack.
template <index_type Index>
struct pack_number {
  constexpr Index operator()(Index p) const noexcept { return p; }
};
/// Yields the samples of a pack.
template <index_type Index>
struct pack_members {
  groups<Index> const* packs = nullptr;
  std::span<Index const> operator()(Index p) const noexcept { return (*packs)[p]; }
};

static_assert(std::forward_iterator<taken_places<std::uint32_t, pack_members<std::uint32_t>>::iterator>);

}  // namespace ballast::inline v0_2::detail
