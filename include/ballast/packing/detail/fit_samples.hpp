// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/options.hpp>
#include <ballast/packing/result.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <ranges>
#include <string>

// One pass over the samples that applies the over-size policy and gives each remaining item to the caller.

namespace ballast::inline v0_2::detail {

/// "lengths[17] = 9000", for messages.
template <class Lengths>
[[nodiscard]] std::string name_length(Lengths const& length_at, std::size_t i) {
  return entry("lengths", i, length_at[i]);
}

/// Returns the number of samples; throws unless the index type can number them.
template <index_type Index, length_range R>
[[nodiscard]] std::size_t indexable_size(R const& lengths) {
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  return n;
}

/// Returns the cost of a length, or throws unless it is valid; `entry()` names the length in the message.
template <cost_model Cost, class Entry>
[[nodiscard]] std::int64_t positive_cost(Cost const& cost, std::int64_t tokens, Entry const& entry) {
  auto const value = checked_cost(tokens, cost, "cost", entry);
  require(value != 0, [&] { return entry() + " costs 0; a packer needs positive costs"; });
  return value;
}

/// A sum of costs that stays below 2^63.
class cost_sum {
 public:
  template <class Entry>
  void add(std::int64_t cost, Entry const& entry) {
    require(cost <= (std::numeric_limits<std::int64_t>::max)() - value_,
            [&] { return entry() + " brings the sum of costs to 2^63 or more"; });
    value_ += cost;
  }
  [[nodiscard]] std::int64_t value() const noexcept { return value_; }

 private:
  std::int64_t value_ = 0;
};

/// The largest size of one item before it is rounded up to the sample multiple.
[[nodiscard]] constexpr std::int64_t largest_item(packing_options const& o) noexcept {
  return round_down(round_down(o.capacity, o.pack_multiple), o.sample_multiple);
}
[[nodiscard]] constexpr bool cuts(oversize policy) noexcept { return policy == oversize::truncate || policy == oversize::split; }
inline void require_a_piece_fits(packing_options const& o) {
  require(largest_item(o) > 0 || !cuts(o.oversize), [&] {
    return sentence("sample_multiple = ", o.sample_multiple, " exceeds the capacity ", round_down(o.capacity, o.pack_multiple),
                    ": no piece fits");
  });
}

/// Applies the policy to valid lengths: calls `take(item, sample, tokens, size)` for each item that is packed with others, first samples in
/// order, then pieces, and lists in `lists` which samples are set aside, packed alone or cut. `size(length)` is what must fit a pack; it is
/// called once for each sample. Returns the number of tokens that are not trained on.
template <class Lengths, cost_model Size, class Lists, class Take>
std::int64_t fit_samples(Lengths const& length_at, std::size_t n, packing_options const& o, Size const& size, Lists& lists,
                         Take const& take) {
  using index = typename decltype(lists.set_aside)::value_type;
  constexpr bool in_tokens = std::same_as<Size, token_cost>;
  require(in_tokens || !cuts(o.oversize), [] {
    return std::string(
        "oversize policies truncate and split cut to a number of tokens; with a cost of your own use reject, set_aside or alone");
  });
  require_a_piece_fits(o);
  auto const largest = largest_item(o);
  std::uint64_t extra = 0;
  if (o.oversize == oversize::split)
    for (std::size_t i = 0; i < n; ++i) extra += static_cast<std::uint64_t>((static_cast<std::int64_t>(length_at[i]) - 1) / largest);
  require_index<index>(n + extra, "pieces");

  std::int64_t lost = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const tokens = static_cast<std::int64_t>(length_at[i]);
    auto const entry = [&] { return name_length(length_at, i); };
    auto const needs = positive_cost(size, tokens, entry);
    if (needs <= largest) {
      take(i, i, tokens, needs);
      continue;
    }
    switch (o.oversize) {
      case oversize::reject:
        require(false, [&] {
          return sentence(
              entry(), in_tokens ? "" : sentence(", cost ", needs, ","), " exceeds capacity ", round_down(o.capacity, o.pack_multiple),
              o.sample_multiple > 1 ? sentence(" when rounded up to a multiple of ", o.sample_multiple) : "", " (see oversize policy)");
        });
        break;
      case oversize::set_aside:
        lists.set_aside.push_back(static_cast<index>(i));
        lost += tokens;
        break;
      case oversize::alone: lists.alone.push_back(static_cast<index>(i)); break;
      case oversize::truncate:
        take(i, i, largest, largest);
        lost += tokens - largest;
        break;
      case oversize::split:
        take(i, i, largest, largest);
        for (auto at = largest; at < tokens; at += (std::min)(largest, tokens - at))
          lists.pieces.push_back({i, at, (std::min)(largest, tokens - at)});
        break;
    }
  }
  for (std::size_t j = 0; j < lists.pieces.size(); ++j)
    take(n + j, static_cast<std::size_t>(lists.pieces[j].sample), lists.pieces[j].length, lists.pieces[j].length);
  return lost;
}

}  // namespace ballast::inline v0_2::detail
