// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>

#include <cstdint>
#include <string>

/// @file
/// @brief What happens to a gradient between one backward pass and the optimiser: over how many passes it is added up or averaged.

namespace ballast::inline v0_2 {

/// @brief How the gradients of several passes become one.
enum class gradient_reduction : std::uint8_t {
  sum,      ///< they are added
  average,  ///< they are added, and divided by their number
};

/// @brief The way of the gradients, which the weights undo. The numbers are those of the step at hand; they may change between steps.
///
/// Tensor- and pipeline-parallel ranks do not count: they hold parts of one model, not of the data. What enters is the net effect: a
/// framework that multiplies the loss by the context degree before it averages over those ranks sums over them.
struct gradient_path {
  std::int64_t ranks = 1;          ///< data-parallel ranks, each with sequences of its own
  std::int64_t context = 1;        ///< context- or sequence-parallel ranks that share each sequence, each adding the loss of its own tokens
  std::int64_t micro_batches = 1;  ///< accumulation steps of this rank
  gradient_reduction across_ranks = gradient_reduction::average;      ///< DDP, FSDP and ZeRO average
  gradient_reduction across_context = gradient_reduction::average;    ///< average where the same all-reduce spans these ranks too
  gradient_reduction across_micro_batches = gradient_reduction::sum;  ///< average where the framework divides each loss by the count
  bool divides_by_tokens = false;                                     ///< the framework divides the gradients by the step's tokens

  /// @brief By how much less than its sum over all passes a gradient arrives; of `divides_by_tokens` nothing is in it.
  /// @return the product of the numbers that are averaged over
  /// @throws invalid_input if a number is not in [1, 2^20]
  [[nodiscard]] constexpr std::uint64_t averaged_over() const {
    constexpr auto most = std::int64_t{1} << 20;
    auto const check = [](std::int64_t n, char const* name) {
      require(n > 0 && n <= most, [&] { return std::string(name) + " = " + std::to_string(n) + " must be in [1, 2^20]"; });
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
