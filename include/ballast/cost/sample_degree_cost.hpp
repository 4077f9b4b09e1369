// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/cost/degree_cost.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

/// @file
/// @brief `sample_degree_cost`: the time of a sample that a group of ranks shares, where samples of one length differ.

namespace ballast::inline v0_2 {

/// @brief Maps the index of a sample, a number of its first tokens, and the number of ranks that share it to an integer time on each of
/// these ranks. The callable must be pure and cheap to copy.
template <class C>
concept sample_degree_cost_model =
    std::copy_constructible<C> && std::regular_invocable<C const&, std::size_t, std::int64_t, std::int64_t> &&
    integer<std::invoke_result_t<C const&, std::size_t, std::int64_t, std::int64_t>>;

/// @brief A cost that planners of shards take: by the length alone, or by the sample and its length.
template <class C>
concept shard_cost_model = degree_cost_model<C> || sample_degree_cost_model<C>;

/// @brief A `degree_cost` whose work differs from sample to sample: `(linear_i n + square_i n^2) / ranks + exchange n`.
///
/// The length still says how many tokens a sample has, which memory and exchanges go by. Sparse attention has a `square` for each sample,
/// the kept part of its pairs. Samples of several images, which attend within an image alone, have a `square` for each: that of the model
/// times the sum of the squared tokens of the images over n^2. The spans must outlive the cost.
struct sample_degree_cost {
  degree_cost common;                      ///< work of samples without their own, and exchanges of all
  std::span<std::int64_t const> linear{};  ///< picoseconds per token of each sample, in place of `common.linear`; empty = none
  std::span<std::int64_t const> square{};  ///< picoseconds per squared token of each sample, in place of `common.square`; empty = none

  /// @brief The time. @param sample index of the sample @param length its first tokens @param ranks that share it, at least 1; with `fits`
  /// @return nanoseconds
  [[nodiscard]] std::int64_t operator()(std::size_t sample, std::int64_t length, std::int64_t ranks) const noexcept {
    return detail::shared_time(linear_of(sample), square_of(sample), common.exchange_of(ranks), length, ranks);
  }
  /// @brief Whether the time can be computed in 63 bits and no constant is negative. @param sample index of the sample
  /// @param length its first tokens @param ranks number of ranks
  /// @throws invalid_input if the sample has no entry
  [[nodiscard]] bool fits(std::size_t sample, std::int64_t length, std::int64_t ranks) const {
    for (auto const& of : {linear, square})
      require(of.empty() || sample < of.size(),
              [&] { return sentence("sample ", sample, " has no entry among ", of.size(), " of its cost"); });
    return ranks > 0 && detail::shared_time_fits(linear_of(sample), square_of(sample), common.exchange_of(ranks), length);
  }
  /// @brief Work of a sample. @param sample its index @return picoseconds per token
  [[nodiscard]] std::int64_t linear_of(std::size_t sample) const noexcept { return linear.empty() ? common.linear : linear[sample]; }
  /// @brief Work of a sample. @param sample its index @return picoseconds per squared token
  [[nodiscard]] std::int64_t square_of(std::size_t sample) const noexcept { return square.empty() ? common.square : square[sample]; }
};

static_assert(sample_degree_cost_model<sample_degree_cost>);

namespace detail {

/// The time of the first `length` tokens of a sample.
template <shard_cost_model Cost>
[[nodiscard]] auto shard_time(Cost const& cost, std::size_t sample, std::int64_t length, std::int64_t ranks) {
  if constexpr (sample_degree_cost_model<Cost>)
    return cost(sample, length, ranks);
  else
    return cost(length, ranks);
}

/// Whether that time can be computed, of costs that say so.
template <shard_cost_model Cost>
[[nodiscard]] bool shard_time_fits(Cost const& cost, std::size_t sample, std::int64_t length, std::int64_t ranks) {
  if constexpr (requires { static_cast<bool>(cost.fits(sample, length, ranks)); })
    return cost.fits(sample, length, ranks);
  else if constexpr (requires { static_cast<bool>(cost.fits(length, ranks)); })
    return cost.fits(length, ranks);
  else
    return true;
}

/// A cost of groups by their number of units, of `ranks` ranks each.
template <shard_cost_model Cost>
struct cost_of_units {
  Cost const* cost;
  std::int64_t ranks;
  [[nodiscard]] auto operator()(std::int64_t length, std::int64_t units) const
    requires degree_cost_model<Cost>
  {
    return (*cost)(length, units * ranks);
  }
  [[nodiscard]] auto operator()(std::size_t sample, std::int64_t length, std::int64_t units) const
    requires sample_degree_cost_model<Cost>
  {
    return (*cost)(sample, length, units * ranks);
  }
  [[nodiscard]] bool fits(std::int64_t length, std::int64_t units) const
    requires requires { cost->fits(length, units); }
  {
    return cost->fits(length, units * ranks);
  }
  [[nodiscard]] bool fits(std::size_t sample, std::int64_t length, std::int64_t units) const
    requires requires { cost->fits(sample, length, units); }
  {
    return cost->fits(sample, length, units * ranks);
  }
};

}  // namespace detail
}  // namespace ballast::inline v0_2
