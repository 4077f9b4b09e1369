// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

// The library's packers under the names that the command line gives them.

namespace ballast_cli {

enum class strategy { next_fit, first_fit, ffd, bfd, worst_fit, ffs, bfs, online };

struct strategy_name {
  ballast_cli::strategy strategy;
  std::string_view word, title;
};
inline constexpr strategy_name strategies[] = {
    // in the order of the enumeration
    {strategy::next_fit, "next-fit", "Next fit"},         {strategy::first_fit, "first-fit", "First fit"},
    {strategy::ffd, "ffd", "First-fit decreasing"},       {strategy::bfd, "bfd", "Best-fit decreasing"},
    {strategy::worst_fit, "worst-fit", "Worst fit"},      {strategy::ffs, "ffs", "First fit in a random order"},
    {strategy::bfs, "bfs", "Best fit in a random order"}, {strategy::online, "online", "Best fit in input order"},
};
struct oversize_name {
  ballast::oversize policy;
  std::string_view word;
};
inline constexpr oversize_name oversize_policies[] = {
    // likewise; the last one is not for plans, whose places never hold more than the capacity
    {ballast::oversize::reject, "reject"},     {ballast::oversize::set_aside, "set-aside"},
    {ballast::oversize::truncate, "truncate"}, {ballast::oversize::split, "split"},
    {ballast::oversize::own, "own"},
};

[[nodiscard]] constexpr strategy_name const& name_of(strategy which) { return strategies[static_cast<std::size_t>(which)]; }
[[nodiscard]] constexpr std::string_view word_of(ballast::oversize policy) {
  return oversize_policies[static_cast<std::size_t>(policy)].word;
}

/// Runs one packer. Instantiated for 32-bit and 64-bit indices.
template <class Index>
[[nodiscard]] ballast::packing<Index> run_packer(strategy which, std::span<std::int64_t const> lengths,
                                                 ballast::packing_options const& options);

}  // namespace ballast_cli
