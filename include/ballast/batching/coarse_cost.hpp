// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/options.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/cost/chain_cost.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>

/// @file
/// @brief `coarse_cost`: the cost of a chain of layers in a unit that is large enough for all samples of a data set.

namespace ballast::inline v0_2 {

/// @brief A `chain_cost` in a larger unit. A cost is rounded up once, after it was added up: coefficients stay exact in any unit.
struct coarse_cost {
  chain_cost fine{};       ///< in the small unit, coefficients not negative
  std::int64_t units = 1;  ///< small units in a large one, at least 1

  /// @brief The cost of a sample. @param length tokens, with `fits(length)` @return large units
  [[nodiscard]] constexpr std::int64_t operator()(std::int64_t length) const noexcept { return in_units(length, 0); }
  /// @brief Whether the cost is below 2^63. @param length tokens
  [[nodiscard]] constexpr bool fits(std::int64_t length) const noexcept { return representable(length, 0); }
  /// @brief The cost of a sample of image tiles and tokens. @param tiles_and_tokens both measures, with `fits(tiles_and_tokens)`
  [[nodiscard]] constexpr std::int64_t operator()(std::span<std::int64_t const> tiles_and_tokens) const noexcept {
    return in_units(tiles_and_tokens.back(), tiles_and_tokens.front());
  }
  /// @brief Whether there are two measures, and the cost is below 2^63. @param tiles_and_tokens image tiles, then tokens
  [[nodiscard]] constexpr bool fits(std::span<std::int64_t const> tiles_and_tokens) const noexcept {
    return tiles_and_tokens.size() == 2 && representable(tiles_and_tokens[1], tiles_and_tokens[0]);
  }
  /// @brief What a micro-batch takes beside its samples. @return large units, rounded up
  [[nodiscard]] constexpr std::int64_t per_micro_batch() const noexcept { return divide_up(fine.per_micro_batch, units); }
  /// @brief Milliseconds of a large unit, which `figures_of` and `compare_with_usual` take.
  [[nodiscard]] constexpr double ms_per_unit() const noexcept { return fine.ms_per_unit() * static_cast<double>(units); }
  friend constexpr bool operator==(coarse_cost const&, coarse_cost const&) = default;

 private:
  [[nodiscard]] constexpr wide exact(std::int64_t tokens, std::int64_t tiles) const noexcept {
    auto const each = static_cast<std::uint64_t>(fine.tokens.linear + fine.tokens.quadratic * tokens);
    return multiply(static_cast<std::uint64_t>(tokens), each) +
           multiply(static_cast<std::uint64_t>(fine.per_tile), static_cast<std::uint64_t>(tiles));
  }
  [[nodiscard]] constexpr std::int64_t in_units(std::int64_t tokens, std::int64_t tiles) const noexcept {
    auto const found = divide(exact(tokens, tiles), static_cast<std::uint64_t>(units));
    return static_cast<std::int64_t>(found.whole + (found.rest != 0 ? 1U : 0U));
  }
  [[nodiscard]] constexpr bool representable(std::int64_t tokens, std::int64_t tiles) const noexcept {
    auto const each = checked(fine.tokens.linear) + checked(fine.tokens.quadratic) * checked(tokens);
    if (!each.fits() || units < 1 || fine.per_tile < 0 || tiles < 0) return false;
    return exact(tokens, tiles) < multiply(static_cast<std::uint64_t>(checked::most), static_cast<std::uint64_t>(units));
  }
};

static_assert(bounded_cost_model<coarse_cost>);

/// @brief The cost of a chain of layers in the least unit, a power of two of its own, in which a data set can be planned for sure.
///
/// The costs of all samples and micro-batches add up to half of what planners have room for at most: the rest is for fixed costs of steps.
///
/// @tparam R  range of integers
/// @param cost     such as `sample_time(model, device, kernels)`
/// @param lengths  tokens of each sample
/// @param o        options of the plan; fixed costs are not read
/// @param tiles    image tiles of all samples
/// @return the cost: plan with it, and with its `per_micro_batch()`
/// @throws invalid_input if a number is negative, as `extent_of`, or if no unit is large enough
/// @par Complexity
/// O(samples).
/// @par Determinism
/// All arithmetic is in integers.
template <length_range R>
[[nodiscard]] coarse_cost coarse_cost_of(chain_cost const& cost, R const& lengths, batching_options const& o, std::int64_t tiles = 0) {
  detail::require_valid(o);
  auto const data = extent_of(lengths);
  auto const longest = o.capacity * static_cast<std::int64_t>(o.ranks);  // that ranks can share
  auto const each = checked(cost.tokens.linear) + checked(cost.tokens.quadratic) * checked((std::min)(data.longest, longest));
  require(each.fits() && cost.per_tile >= 0 && cost.per_micro_batch >= 0 && tiles >= 0,
          [] { return "the cost of a token, a tile or a micro-batch is negative, or reaches 2^63"; });
  auto const size = [](auto number) { return static_cast<std::uint64_t>(number); };
  auto const packs = size(std::ranges::size(lengths)) + size(data.tokens / o.capacity) + o.ranks * o.micro_batches;  // at most
  auto const all = multiply(size(data.tokens), size(each.value)) + multiply(size(cost.per_tile), size(tiles)) +
                   multiply(packs, size(cost.per_micro_batch));
  std::uint64_t units = 1;
  while (multiply(units, (std::uint64_t{1} << 60) / o.stages) < all) {
    require(units < std::uint64_t{1} << 62, [] { return "the costs of all samples reach 2^120 units"; });
    units *= 2;
  }
  return {.fine = cost, .units = static_cast<std::int64_t>(units)};
}

}  // namespace ballast::inline v0_2
