// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>

#include <cstddef>
#include <cstdint>
#include <ranges>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// @file
/// @brief Counts the labels of each sequence in a packed row: the T_i of the normalisers.

namespace ballast::inline v0_2 {

/// @brief Labels, or offsets into them, in contiguous memory: a vector or span of integers. Pass an Eigen array `a` as
/// `std::span(a.data(), n)`.
template <class R>
concept label_range =
    std::ranges::contiguous_range<R const> && std::ranges::sized_range<R const> && integer<std::ranges::range_value_t<R const>>;

/// @brief Whether labels are already shifted to the positions that predict them.
enum class label_shift : std::uint8_t {
  in_model,  ///< labels[t] is token t, predicted at t - 1: the model shifts, so the first label of a sequence never counts (Hugging Face)
  done,      ///< labels[t] is what position t predicts (Megatron, and whenever sequences are cut over context-parallel ranks)
};

/// @brief How labels are read.
struct label_options {
  std::int64_t ignore = -100;                 ///< label of tokens without loss
  label_shift shift = label_shift::in_model;  ///< whether the labels are shifted already
};

namespace detail {
// Checks that the row holds all sequences, then calls body(sequence, first counted label, end) for each.
template <label_range L, label_range C, class Body>
void for_each_sequence(L const& labels, C const& cu_seqlens, label_shift shift, Body const& body) {
  auto const cu = std::span<std::ranges::range_value_t<C const> const>(cu_seqlens);
  auto const row = std::ranges::size(labels);
  require(!cu.empty() && cu[0] == 0, [] { return std::string("cu_seqlens must start with 0"); });
  for (std::size_t i = 1; i < cu.size(); ++i)
    require(cu[i - 1] <= cu[i], [&] { return sentence(entry("cu_seqlens", i, cu[i]), " is below its predecessor ", cu[i - 1]); });
  require(std::cmp_less_equal(cu.back(), row),
          [&] { return sentence("cu_seqlens ends at ", cu.back(), ", but there are ", row, " labels"); });
  for (std::size_t i = 1; i < cu.size(); ++i) {
    auto const start = static_cast<std::size_t>(cu[i - 1]), end = static_cast<std::size_t>(cu[i]);
    body(i - 1, shift == label_shift::in_model && start < end ? start + 1 : start, end);
  }
}
}  // namespace detail

/// @brief Writes the number of counted labels of each sequence.
///
/// Under context parallelism, each rank may count its own piece of every sequence, with `label_shift::done`; the count of a sequence is
/// then the sum over these ranks.
///
/// @tparam L  vector or span of integers
/// @tparam C  vector or span of integers
/// @param labels      one label per token of the row; tokens after the last sequence are padding
/// @param cu_seqlens  cumulative lengths: sequence i is [cu_seqlens[i], cu_seqlens[i + 1]) of the row
/// @param out         array of one entry per sequence; gets 0 for a sequence without a counted label
/// @param options     the ignored label and the shift
/// @throws invalid_input if `cu_seqlens` does not start at 0, decreases or ends above the number of labels, or if `out` has another size;
/// `out` is then unchanged
/// @par Complexity
/// O(labels).
template <label_range L, label_range C>
void label_counts(L const& labels, C const& cu_seqlens, std::span<std::int64_t> out, label_options options = {}) {
  auto const sequences = std::ranges::size(cu_seqlens) == 0 ? 0 : std::ranges::size(cu_seqlens) - 1;
  require(out.size() == sequences,
          [&] { return sentence("label_counts: out has ", out.size(), " elements, ", sequences, " are written"); });
  auto const* const label = std::ranges::data(labels);
  detail::for_each_sequence(labels, cu_seqlens, options.shift, [&](std::size_t i, std::size_t first, std::size_t end) {
    std::int64_t count = 0;
    for (auto t = first; t < end; ++t) count += std::cmp_not_equal(label[t], options.ignore) ? 1 : 0;
    out[i] = count;
  });
}

/// @brief Returns the number of counted labels of each sequence, as the overload with `out` writes them.
/// @tparam L vector or span of integers @tparam C vector or span of integers
/// @param labels one per token of the row @param cu_seqlens cumulative lengths @param options the ignored label and the shift
/// @return one count per sequence
/// @throws invalid_input as the overload with `out`
template <label_range L, label_range C>
[[nodiscard]] std::vector<std::int64_t> label_counts(L const& labels, C const& cu_seqlens, label_options options = {}) {
  std::vector<std::int64_t> out(std::ranges::size(cu_seqlens) == 0 ? 0 : std::ranges::size(cu_seqlens) - 1);
  label_counts(labels, cu_seqlens, std::span<std::int64_t>(out), options);
  return out;
}

}  // namespace ballast::inline v0_2
