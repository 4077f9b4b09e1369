// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/core/metrics/step_balance.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// @file
/// @brief How many tokens of a step are communicated, and how many there are.

namespace ballast::inline v0_2 {

/// @brief Communication Ratio (CR): mean over the steps of the share of tokens that stand in packs of a sequence-parallel degree above 1.
/// @param communicated  such tokens of each step @param tokens all tokens of each step @return the mean; a step without tokens counts 0
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

/// @brief Average tokens (Ave-T): mean over the steps. @param tokens tokens of one data-parallel rank in each step @return the mean; 0
/// without steps
[[nodiscard]] inline double average_tokens(std::span<std::int64_t const> tokens) {
  return tokens.empty() ? 0.0 : static_cast<double>(token_load(tokens)) / static_cast<double>(tokens.size());
}

}  // namespace ballast::inline v0_2
