// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/curriculum/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

/// @file
/// @brief Decides how many steps of each source an epoch trains, with an exact sum.

namespace ballast::inline v0_2 {

/// @brief Apportions `total` in proportion to `share` by the largest-remainder method: each entry gets its quota rounded down, and the
/// entries of largest remainder get one more.
///
/// @param share  share of each entry, in any unit; not negative, with a sum below 2^63
/// @param total  the number to apportion
/// @return one number for each share; their sum is `total`
///
/// @post each number is `total * share / sum`, rounded down or up; of equal remainders, the first is rounded up
/// @throws invalid_input if a share is negative, their sum too large, or no share is positive though `total` is
/// @par Complexity
/// O(shares log shares).
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The method of A. Hamilton; Balinski, Young, "Fair representation", 1982.
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint64_t> largest_remainder(std::span<std::int64_t const> share, std::uint64_t total) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < share.size(); ++i) {
    require(share[i] >= 0, [&] { return entry("share", i, share[i]) + " must not be negative"; });
    sum += static_cast<std::uint64_t>(share[i]);
    require(sum >> 63 == 0, [&] { return sentence("share[", i, "] brings the sum of shares to 2^63 or more"); });
  }
  require(sum > 0 || total == 0, [&] { return sentence("no share is positive, but total = ", total); });
  std::vector<std::uint64_t> count(share.size(), 0), missing(share.size(), 0);
  if (total == 0) return count;
  auto left = total;
  for (std::size_t i = 0; i < share.size(); ++i) {
    auto const s = static_cast<std::uint64_t>(share[i]);
    count[i] = multiply_divide_up(total, s, sum);
    missing[i] = count[i] * sum - total * s;  // below sum, so the low 64 bits of the two products are enough
    if (missing[i] > 0) --count[i];
    left -= count[i];
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < share.size(); ++i)
    if (missing[i] > 0) order.push_back(i);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return missing[a] != missing[b] ? missing[a] < missing[b] : a < b; });
  for (std::size_t i = 0; i < left; ++i) ++count[order[i]];
  return count;
}

/// @brief Returns how many steps to take from each source for a requested number of passes over it.
///
/// For example, `{500, 3000}` asks for half a pass over a large web crawl and three passes over a small set of books. The numbers go into
/// `curriculum_source::per_epoch`.
///
/// @param sources      the sources; only `steps` is read
/// @param thousandths  passes over each source in thousandths, at most 10^6: 1000 trains each step once, 100 every tenth step
/// @return number of steps of each source; their sum is the exact sum rounded to the nearest integer, halves up
/// @throws invalid_input unless there is one entry of `thousandths` for each source, and all numbers are in range
/// @par Complexity
/// O(sources log sources).
/// @par Determinism
/// A pure function of its arguments.
template <class = when_called>
[[nodiscard]] inline std::vector<std::uint64_t> steps_of_passes(std::span<curriculum_source const> sources,
                                                                std::span<std::uint32_t const> thousandths) {
  require(sources.size() == thousandths.size(),
          [&] { return sentence("thousandths has ", thousandths.size(), " entries for ", sources.size(), " sources"); });
  std::vector<std::int64_t> share(sources.size());
  for (std::size_t s = 0; s < sources.size(); ++s) {
    auto const at = "[" + std::to_string(s) + "]";
    require(thousandths[s] <= 1000000, [&] { return sentence("thousandths", at, " = ", thousandths[s], " exceeds 10^6"); });
    require(sources[s].steps <= detail::most_curriculum_steps,
            [&] { return sentence("sources", at, ".steps = ", sources[s].steps, " must be below 2^31"); });
    share[s] = static_cast<std::int64_t>(sources[s].steps * thousandths[s]);
  }
  auto const sum = std::accumulate(share.begin(), share.end(), std::int64_t{0});
  return largest_remainder(share, (static_cast<std::uint64_t>(sum) + 500) / 1000);
}

}  // namespace ballast::inline v0_2
