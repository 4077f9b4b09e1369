// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

/// @file
/// @brief `groups`, the one container of results: packs, steps, ranks and stages are all stored as groups of indices.

namespace ballast::inline v0_2 {

/// @brief Sets of indices in two flat arrays (compressed sparse rows), with the interface of a random-access range of spans.
///
/// Group `g` holds `members[offsets[g]] … members[offsets[g + 1] - 1]`. GPU kernels, NumPy arrays and `cu_seqlens` use the same two
/// arrays, so no result has to be converted.
///
/// @tparam Index  type of the member indices
template <index_type Index = std::uint32_t>
struct groups {
  std::vector<std::uint64_t> offsets{0};  ///< size() + 1 entries, from 0 to members.size(), never decreasing
  std::vector<Index> members;             ///< indices of the items, group after group

  using value_type = std::span<Index const>;  ///< one group

  /// @brief Number of groups.
  [[nodiscard]] std::size_t size() const noexcept { return offsets.empty() ? 0 : offsets.size() - 1; }
  /// @brief Whether there is no group.
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  /// @brief The members of group `g < size()`. @param g group number @return a view into `members`
  [[nodiscard]] value_type operator[](std::size_t g) const& noexcept {
    return {members.data() + offsets[g], static_cast<std::size_t>(offsets[g + 1] - offsets[g])};
  }
  value_type operator[](std::size_t) const&& = delete;  ///< a view of a temporary would dangle
  /// @brief Appends one group. @param group its members; must not be a view into this object
  void push_back(std::span<Index const> group) {
    members.insert(members.end(), group.begin(), group.end());
    offsets.push_back(members.size());
  }
  /// @brief Removes every group and keeps the memory.
  void clear() {
    offsets.assign(1, 0);
    members.clear();
  }

  /// @brief Random-access iterator over the groups; dereferences to a span by value.
  class iterator {
   public:
    using value_type = std::span<Index const>;                 ///< one group
    using difference_type = std::ptrdiff_t;                    ///< distance in groups
    using iterator_concept = std::random_access_iterator_tag;  ///< the C++20 category
    using iterator_category = std::input_iterator_tag;         ///< the C++17 category: the reference is a value

    iterator() = default;
    /// @brief Points at one group. @param of the groups @param at group number
    iterator(groups const& of, std::size_t at) noexcept : of_(&of), at_(static_cast<difference_type>(at)) {}

    value_type operator*() const noexcept { return (*of_)[static_cast<std::size_t>(at_)]; }
    value_type operator[](difference_type n) const noexcept { return *(*this + n); }
    iterator& operator+=(difference_type n) noexcept { return at_ += n, *this; }
    iterator& operator-=(difference_type n) noexcept { return at_ -= n, *this; }
    iterator& operator++() noexcept { return *this += 1; }
    iterator& operator--() noexcept { return *this -= 1; }
    iterator operator++(int) noexcept {
      auto old = *this;
      return ++*this, old;
    }
    iterator operator--(int) noexcept {
      auto old = *this;
      return --*this, old;
    }
    friend iterator operator+(iterator it, difference_type n) noexcept { return it += n; }
    friend iterator operator+(difference_type n, iterator it) noexcept { return it += n; }
    friend iterator operator-(iterator it, difference_type n) noexcept { return it -= n; }
    friend difference_type operator-(iterator a, iterator b) noexcept { return a.at_ - b.at_; }
    friend bool operator==(iterator a, iterator b) noexcept { return a.at_ == b.at_; }
    friend auto operator<=>(iterator a, iterator b) noexcept { return a.at_ <=> b.at_; }

   private:
    groups const* of_ = nullptr;
    difference_type at_ = 0;
  };

  /// @brief First group.
  [[nodiscard]] iterator begin() const& noexcept { return {*this, 0}; }
  iterator begin() const&& = delete;  ///< a view of a temporary would dangle
  /// @brief Past the last group.
  [[nodiscard]] iterator end() const& noexcept { return {*this, size()}; }
  iterator end() const&& = delete;  ///< a view of a temporary would dangle

  friend bool operator==(groups const&, groups const&) = default;
};

static_assert(std::random_access_iterator<groups<>::iterator>);

namespace detail {

/// Groups as lists, whose members can be exchanged; and back.
template <index_type Index>
[[nodiscard]] std::vector<std::vector<Index>> lists_of(groups<Index> const& of) {
  std::vector<std::vector<Index>> lists(of.size());
  for (std::size_t g = 0; g < lists.size(); ++g) lists[g].assign(of[g].begin(), of[g].end());
  return lists;
}
template <class Lists>
[[nodiscard]] auto groups_of(Lists const& lists) {
  groups<typename Lists::value_type::value_type> out;
  out.offsets.reserve(lists.size() + 1);
  for (auto const& list : lists) out.push_back(list);
  return out;
}

}  // namespace detail

}  // namespace ballast::inline v0_2
