// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/wide.hpp>

#include <cstddef>
#include <cstdint>

namespace ballast::inline v0_2::detail {

/// The product over the divisor, rounded up; 0 if the divisor is 0.
[[nodiscard]] inline std::int64_t scale(std::int64_t value, std::int64_t by, std::int64_t over) noexcept {
  return over == 0 ? 0
                   : static_cast<std::int64_t>(multiply_divide_up(static_cast<std::uint64_t>(value), static_cast<std::uint64_t>(by),
                                                                  static_cast<std::uint64_t>(over)));
}

/// The shares of `stream_options` in tokens and costs of these samples, and which samples wait or are split.
class stream_limits {
  weighed_samples const& items_;
  std::int64_t capacity_;

 public:
  std::size_t ranks;
  std::uint32_t fill;                             ///< share of a step's capacity that is drawn, in thousandths
  bool whole;                                     ///< whether all outliers are gathered first
  std::int64_t rank_room;                         ///< tokens of a rank in a step
  std::int64_t target;                            ///< tokens that are drawn for a step
  std::int64_t outlier;                           ///< samples that cost more wait for samples of similar cost
  std::int64_t shared;                            ///< samples that cost more are split over ranks
  std::int64_t light_cost = 0, light_tokens = 0;  ///< sums over all samples that are not outliers
  bool pools, shares;                             ///< whether there are outliers; whether there are samples to split

  stream_limits(weighed_samples const& items, batching_options const& o, stream_options const& s)
      : items_(items),
        capacity_(o.capacity),
        ranks(static_cast<std::size_t>(o.ranks)),
        fill(s.fill == 0 || all_equal(items) ? 1000 : s.fill),
        whole(s.pool == stream_options::whole_epoch && s.threshold != 0),
        rank_room(room_of_place(items, o) * static_cast<std::int64_t>(o.micro_batches)),
        target(scale(rank_room * static_cast<std::int64_t>(o.ranks), fill, 1000)),
        pools(s.threshold != 0),
        shares((s.share != 0 || items.longest > o.capacity) && o.ranks > 1) {
    auto const mean = scale(scale(rank_room, fill, 1000), items.all_cost, items.all_tokens);  // mean cost of a rank in a step
    outlier = s.threshold == 0 ? items.most_expensive : scale(mean, s.threshold, 1000);
    shared = s.share == 0 ? items.most_expensive : scale(mean, s.share, 1000);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items.cost[i] <= outlier) {
        light_cost += items.cost[i];
        light_tokens += items.tokens[i];
      }
  }
  [[nodiscard]] bool is_shared(std::size_t i) const noexcept { return shares && (items_.cost[i] > shared || items_.tokens[i] > capacity_); }
  [[nodiscard]] bool is_outlier(std::size_t i) const noexcept { return pools && items_.cost[i] > outlier && !is_shared(i); }
};

}  // namespace ballast::inline v0_2::detail
