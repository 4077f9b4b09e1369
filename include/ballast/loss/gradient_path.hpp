// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <cstdint>

/// @file
/// @brief `gradient_path`: what a framework does to gradients between the backward passes and the optimiser: which ones it adds or
/// averages.

namespace ballast::inline v0_2 {

/// @brief How the gradients of several passes are combined.
enum class gradient_reduction : std::uint8_t {
  sum,      ///< they are added
  average,  ///< they are added, and divided by their number
};

/// @brief What a framework does to gradients, so that weights can undo its averages. The numbers are those of one step; they may change
/// between steps.
///
/// Tensor- and pipeline-parallel ranks do not count: they hold parts of one model, not of the data. Give the net effect: a framework that
/// multiplies the loss by the context-parallel degree, and then averages over those ranks, sums over them.
struct gradient_path {
  std::int64_t ranks = 1;          ///< number of data-parallel ranks, each with its own sequences
  std::int64_t context = 1;        ///< number of context- or sequence-parallel ranks that share each sequence and add their tokens' losses
  std::int64_t micro_batches = 1;  ///< number of accumulation steps of this rank
  gradient_reduction across_ranks = gradient_reduction::average;      ///< over data-parallel ranks; DDP, FSDP and ZeRO average
  gradient_reduction across_context = gradient_reduction::average;    ///< average if the same all-reduce spans the context-parallel ranks
  gradient_reduction across_micro_batches = gradient_reduction::sum;  ///< average if the framework divides each loss by their number
  bool divides_by_tokens = false;                                     ///< whether the framework divides gradients by the tokens of the step

  /// @brief The factor by which the averages make a gradient smaller than its sum over all passes; `divides_by_tokens` is not included.
  /// @return the product of all numbers that are averaged over
  /// @throws invalid_input if a number is not in [1, 2^20]
  [[nodiscard]] constexpr std::uint64_t averaged_over() const {
    constexpr auto most = std::int64_t{1} << 20;
    auto const check = [](std::int64_t n, char const* name) {
      require(n > 0 && n <= most, [&] { return sentence(name, " = ", n, " must be in [1, 2^20]"); });
    };
    check(ranks, "ranks");
    check(context, "context");
    check(micro_batches, "micro_batches");
    auto const factor = [](gradient_reduction how, std::int64_t n) {
      return how == gradient_reduction::average ? static_cast<std::uint64_t>(n) : std::uint64_t{1};
    };
    return factor(across_ranks, ranks) * factor(across_context, context) * factor(across_micro_batches, micro_batches);
  }
  friend constexpr bool operator==(gradient_path const&, gradient_path const&) = default;
};

}  // namespace ballast::inline v0_2
