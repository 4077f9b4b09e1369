// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/loss/label_counts.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief The weight of each token of a packed row, for trainers that multiply a vector of token losses.

namespace ballast::inline v0_2 {

/// @brief Writes a weight for each label: the weight of its sequence if the label is counted, otherwise 0.
///
/// The weight is at the position of the label. With `label_shift::in_model`, that is one after the position that predicts it.
///
/// @tparam T  `float` or `double`
/// @tparam L  vector or span of integers
/// @tparam C  vector or span of integers
/// @param weights     one weight per sequence
/// @param labels      one label per token of the row; tokens after the last sequence are padding
/// @param cu_seqlens  cumulative lengths of the row
/// @param out         array of one weight per label
/// @param options     the ignored label and the shift, as for `label_counts`
/// @throws invalid_input if `cu_seqlens` does not start at 0, decreases or ends above the number of labels, or if a size does not match;
/// `out` is then unchanged
/// @par Complexity
/// O(labels).
template <std::floating_point T, label_range L, label_range C>
void token_weights(std::span<double const> weights, L const& labels, C const& cu_seqlens, std::span<T> out, label_options options = {}) {
  require(weights.size() + 1 == std::ranges::size(cu_seqlens), [&] {
    return sentence("token_weights: there are ", weights.size(), " weights for ", std::ranges::size(cu_seqlens), " entries of cu_seqlens");
  });
  require(out.size() == std::ranges::size(labels),
          [&] { return sentence("token_weights: out has ", out.size(), " elements, ", std::ranges::size(labels), " are written"); });
  auto const* const label = std::ranges::data(labels);
  std::size_t written = 0;
  detail::for_each_sequence(labels, cu_seqlens, options.shift, [&](std::size_t i, std::size_t first, std::size_t end) {
    auto const weight = static_cast<T>(weights[i]);
    for (; written < first; ++written) out[written] = T{0};
    for (; written < end; ++written) out[written] = std::cmp_not_equal(label[written], options.ignore) ? weight : T{0};
  });
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(written), out.end(), T{0});
}

/// @brief Returns the weight of each token, as the overload with `out` writes it.
/// @tparam T `float` or `double` @tparam L vector or span of integers @tparam C vector or span of integers
/// @param weights one weight per sequence @param labels one label per token of the row @param cu_seqlens cumulative lengths of the row
/// @param options the ignored label and the shift
/// @return one weight per label
/// @throws invalid_input as the overload with `out`
template <std::floating_point T = float, label_range L, label_range C>
[[nodiscard]] std::vector<T> token_weights(std::span<double const> weights, L const& labels, C const& cu_seqlens,
                                           label_options options = {}) {
  std::vector<T> out(std::ranges::size(labels));
  token_weights(weights, labels, cu_seqlens, std::span<T>(out), options);
  return out;
}

}  // namespace ballast::inline v0_2
