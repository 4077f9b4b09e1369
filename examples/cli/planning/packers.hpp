// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_limits.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// The library's packers under the names that the command line gives them.

namespace ballast_cli {

enum class strategy {
  automatic,
  next_fit,
  first_fit,
  ffd,
  bfd,
  worst_fit,
  ffs,
  bfs,
  online,
  near_optimal,
  isf,
  completion,
  vector_best_fit,
  portfolio
};

struct strategy_name {
  ballast_cli::strategy strategy;
  std::string_view word, title;
  bool several_measures;  ///< whether it packs more than one
};
inline constexpr strategy_name strategies[] = {
    // in the order of the enumeration
    {strategy::automatic, "auto", "The default packer", true},
    {strategy::next_fit, "next-fit", "Next fit", false},
    {strategy::first_fit, "first-fit", "First fit", false},
    {strategy::ffd, "ffd", "First-fit decreasing", false},
    {strategy::bfd, "bfd", "Best-fit decreasing", false},
    {strategy::worst_fit, "worst-fit", "Worst fit", false},
    {strategy::ffs, "ffs", "First fit in a random order", false},
    {strategy::bfs, "bfs", "Best fit in a random order", false},
    {strategy::online, "online", "Best fit in input order", false},
    {strategy::near_optimal, "near-optimal", "Column generation", true},
    {strategy::isf, "isf", "Iterative sampling and filtering", true},
    {strategy::completion, "completion", "Bin completion", true},
    {strategy::vector_best_fit, "vector-best-fit", "Vector best fit", true},
    {strategy::portfolio, "portfolio", "The best of a portfolio", true},
};
struct oversize_name {
  ballast::oversize policy;
  std::string_view word;
};
inline constexpr oversize_name oversize_policies[] = {
    // likewise; the last one is not for plans, whose places never hold more than the capacity
    {ballast::oversize::reject, "reject"}, {ballast::oversize::set_aside, "set-aside"}, {ballast::oversize::truncate, "truncate"},
    {ballast::oversize::split, "split"},   {ballast::oversize::alone, "alone"},
};

[[nodiscard]] constexpr strategy_name const& name_of(strategy which) { return strategies[static_cast<std::size_t>(which)]; }
[[nodiscard]] constexpr std::string_view word_of(ballast::oversize policy) {
  return oversize_policies[static_cast<std::size_t>(policy)].word;
}

/// Runs one packer; near_optimal takes at most about `work` operations. Instantiated for 32-bit and 64-bit indices.
template <class Index>
[[nodiscard]] ballast::packing<Index> run_packer(strategy which, std::span<std::int64_t const> lengths,
                                                 ballast::packing_options const& options,
                                                 std::uint64_t work = ballast::search_limits{}.work);

/// Likewise for several measures (or one).
template <class Index>
[[nodiscard]] ballast::vector_packing<Index> run_packer(strategy which, ballast::sample_measures const& samples,
                                                        ballast::vector_packing_options const& options,
                                                        std::uint64_t work = ballast::search_limits{}.work);

}  // namespace ballast_cli
