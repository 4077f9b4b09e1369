// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/metrics/step_balance.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief Metrics of sequence parallelism: the share of tokens that is communicated, and the mean number of tokens in a step.

namespace ballast::inline v0_2 {

/// @brief Communication Ratio (CR): the share of a step's tokens that are in packs with a sequence-parallel degree above 1, as a mean over
/// the steps.
/// @param communicated  for each step, its tokens in packs with a sequence-parallel degree above 1
/// @param tokens        for each step, all its tokens
/// @return the mean; a step without tokens counts as 0
/// @throws invalid_input if the sizes differ
/// @par Source
/// HBP, arXiv 2503.07680, section 4.
[[nodiscard]] inline double communication_ratio(std::span<std::int64_t const> communicated, std::span<std::int64_t const> tokens) {
  require(communicated.size() == tokens.size(),
          [&] { return std::to_string(communicated.size()) + " communicated entries for " + std::to_string(tokens.size()) + " steps"; });
  double sum = 0;
  for (std::size_t s = 0; s < tokens.size(); ++s)
    if (tokens[s] != 0) sum += static_cast<double>(communicated[s]) / static_cast<double>(tokens[s]);
  return tokens.empty() ? 0.0 : sum / static_cast<double>(tokens.size());
}

/// @brief Average tokens (Ave-T): mean over the steps. @param tokens for each step, the tokens of one data-parallel rank
/// @return the mean; 0 if there are no steps
[[nodiscard]] inline double average_tokens(std::span<std::int64_t const> tokens) {
  return tokens.empty() ? 0.0 : static_cast<double>(token_load(tokens)) / static_cast<double>(tokens.size());
}

}  // namespace ballast::inline v0_2
