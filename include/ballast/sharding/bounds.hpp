// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/config.hpp>
#include <ballast/core/math.hpp>
#include <ballast/sharding/detail/any_degree_times.hpp>
#include <ballast/sharding/detail/degree_times.hpp>
#include <ballast/sharding/detail/lockstep_bound.hpp>
#include <ballast/sharding/detail/rate_bound.hpp>
#include <ballast/sharding/detail/room_prices.hpp>
#include <ballast/sharding/options.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief `shard_bounds`: lower bounds on the time of one batch.

namespace ballast::inline v0_2 {

namespace detail {

/// Bounds of one batch on groups of 1, 2, 4, ... ranks.
class tree_bounds {
 public:
  /// @pre there are samples, and each fits a block
  explicit tree_bounds(degree_times const& t) : t_(t), fixed_(t.options.cost_per_pass) {
    ranks_ = static_cast<std::int64_t>(t.options.ranks);
    auto const needed = passes_of(t, t.options.execution);
    passes_ = needed.all;
    batches_ = needed.batches;
    longest_ = longest();
    add_wide();
    if (t.monotone) add_up();
  }

  /// The longest sample on the number of ranks where it takes least, in a micro-batch after the others.
  [[nodiscard]] std::int64_t by_longest() const { return longest_ + (batches_ - 1) * fixed_; }
  /// Samples of more tokens than half of the widest group holds, one after the other if there is one such group: no two of them have room
  /// in one pass, and narrower groups hold none.
  [[nodiscard]] std::int64_t by_wide() const { return wide_time_ + (std::max)(wide_count_, batches_) * fixed_; }
  /// The least time within which all rank-time fits, with a pass on each rank and for each `capacity` tokens; in lockstep, with the longest
  /// samples where they are.
  [[nodiscard]] std::int64_t by_area() const {
    auto const low = least_fitting((std::max)(by_longest(), by_wide()), [&](std::int64_t time) { return area_fits(time); });
    return t_.options.execution == execution::lockstep ? (std::max)(low, by_micro_batches()) : low;
  }
  /// The least time from `low` on within which the ranks can hold all tokens, if no token takes less than the quickest one.
  [[nodiscard]] std::int64_t by_rate(std::int64_t low) const {
    return bound_by_rate(t_, divide_up(t_.tokens, t_.options.capacity), low,
                         [&](std::size_t i) { return least_area(i, degree_times::most); });
  }

 private:
  [[nodiscard]] bool fits_tokens(std::size_t i, std::size_t l) const { return t_.length[i] <= t_.room(l); }
  [[nodiscard]] std::int64_t longest() const {
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < t_.length.size(); ++i) {
      if (i > 0 && ((t_.by_length && t_.length[i] == t_.length[i - 1]) || (t_.monotone && t_.at(i, 0) <= longest))) continue;
      auto quickest = degree_times::most;
      for (std::size_t l = 0; l < t_.levels; ++l)
        if (fits_tokens(i, l)) quickest = (std::min)(quickest, t_.at(i, l));
      longest = (std::max)(longest, quickest);
    }
    return longest + fixed_;
  }
  [[nodiscard]] std::int64_t least_area(std::size_t i, std::int64_t within) const {
    auto area = degree_times::most;
    for (std::size_t l = 0; l < t_.levels; ++l)
      if (fits_tokens(i, l) && t_.at(i, l) <= within) {
        area = (std::min)(area, t_.area(i, l));
        if (t_.monotone) break;
      }
    return area;
  }
  /// @param batches  the fewest micro-batches @param price  as that of `lockstep_bound`
  [[nodiscard]] std::int64_t tree(std::vector<std::int64_t> areas, std::int64_t batches, std::int64_t price) const {
    return lockstep_bound(t_, std::move(areas), batches, price).run([&](std::size_t i) {
      std::vector<rank_choice> out;
      for (std::size_t l = 0; l < t_.levels; ++l)
        if (fits_tokens(i, l)) out.push_back({t_.width[l], t_.width[l], t_.at(i, l), t_.area(i, l)});
      return out;
    });
  }
  /// The best of bounds for any number of micro-batches, with free room and with room that costs as much as a pass; and, where its tokens
  /// nearly fill as few as have room, the lesser of a bound for these, in which room costs twice as much, and one for more.
  [[nodiscard]] std::int64_t by_micro_batches() const {
    std::vector<std::int64_t> areas(t_.length.size());
    for (std::size_t i = 0; i < areas.size(); ++i) areas[i] = least_area(i, degree_times::most);
    auto any = tree(areas, batches_, 0);
    auto const capacity = t_.options.capacity, price = fixed_ / capacity, few = degree_times::most / 64;  // sums stay small below it
    if (price == 0 || capacity > few / ranks_ || t_.tokens > few) return any;
    auto const room = batches_ * capacity, empty = room - t_.tokens / ranks_;  // of a rank
    if (price > few / ranks_ / room / static_cast<std::int64_t>(areas.size() + 1)) return any;
    auto const worth = [&](std::int64_t times) { return empty <= any / price / (64 * times); };  // empty room lowers the bound by its price
    if (worth(1)) any = (std::max)(any, tree(room_prices(t_, price), batches_, price));
    if (!worth(2)) return any;
    auto const more = tree(std::move(areas), batches_ + 1, 0);
    return more <= any ? any : (std::max)(any, (std::min)(more, tree(room_prices(t_, 2 * price), batches_, 2 * price)));
  }
  void add_wide() {
    auto const last = t_.levels - 1;
    if (t_.groups_of(last) > 1) return;
    for (std::size_t i = 0; i < t_.length.size() && t_.length[i] > t_.room(last) / 2; ++i) {
      wide_time_ += t_.at(i, last);
      ++wide_count_;
    }
  }
  /// Sums of rank-time of the samples before each position that may need several ranks within the bound by the longest one.
  void add_up() {
    wide_ = boundary(0, longest_ - fixed_, t_.length.size());
    sums_.assign(t_.levels * (wide_ + 1), 0);
    for (std::size_t i = 0; i < wide_; ++i)
      for (std::size_t l = 0; l < t_.levels; ++l) sums_[(i + 1) * t_.levels + l] = sums_[i * t_.levels + l] + t_.area(i, l);
  }
  /// The first position whose sample has room and time on a block of the level.
  [[nodiscard]] std::size_t boundary(std::size_t l, std::int64_t within, std::size_t end) const {
    return first_where(std::size_t{0}, end, [&](std::size_t i) { return fits_tokens(i, l) && t_.at(i, l) <= within; });
  }
  [[nodiscard]] std::int64_t area(std::int64_t within) const {
    std::int64_t sum = 0;
    if (!t_.monotone) {
      for (std::size_t i = 0; i < t_.length.size(); ++i) sum += least_area(i, within);
      return sum;
    }
    auto const part = [&](std::size_t i, std::size_t l) { return sums_[i * t_.levels + l]; };
    auto end = boundary(0, within, wide_);
    sum = t_.whole_time - part(end, 0);
    for (std::size_t l = 1; l < t_.levels && end > 0; ++l) {
      auto const from = boundary(l, within, end);
      sum += part(end, l) - part(from, l);
      end = from;
    }
    return sum;
  }
  [[nodiscard]] bool area_fits(std::int64_t time) const {
    auto const all = area(time - batches_ * fixed_);
    return divide_up(all + (passes_ - ranks_) * fixed_, ranks_) + fixed_ <= time;
  }
  degree_times const& t_;
  std::int64_t fixed_ = 0, ranks_ = 1, passes_ = 0, batches_ = 1, longest_ = 0;
  std::int64_t wide_count_ = 0, wide_time_ = 0;  // samples that need the widest group, and their times on it
  std::size_t wide_ = 0;
  std::vector<std::int64_t> sums_;  // of rank-time before each position, level after level
};

/// The best bound on groups of 1, 2, 4, ... ranks; 0 without samples, or if one has room on none.
template <class = when_called>
[[nodiscard]] inline std::int64_t bound_on_blocks(degree_times const& t) {
  if (t.length.empty() || !t.allows_all()) return 0;
  tree_bounds const bounds(t);
  return bounds.by_rate(bounds.by_area());
}

}  // namespace detail

/// @brief Lower bounds on the makespan of a batch whose samples are each shared equally by the ranks of a group in one pass.
struct shard_lower_bounds {
  std::int64_t longest = 0;  ///< the longest sample on the number of ranks where it takes least
  std::int64_t area = 0;     ///< all products of ranks and time against all ranks, with the passes that the tokens need; in lockstep, with
                             ///< the longest samples in micro-batches that last as long as they do
  std::int64_t rate = 0;     ///< the tokens that the ranks can hold within the time, if every token took as little as the quickest
  /// @brief The best of them. @return a lower bound
  [[nodiscard]] constexpr std::int64_t lower() const noexcept { return (std::max)((std::max)(longest, area), rate); }
  friend constexpr bool operator==(shard_lower_bounds const&, shard_lower_bounds const&) = default;
};

/// @brief Computes lower bounds on the time of a batch.
///
/// Within a time T, each sample needs at least the smallest product of ranks and time over the numbers of ranks that have room for it and
/// are quick enough. All of them, and a `cost_per_pass` for each rank and for each `capacity` tokens, must fit into T on all ranks. Under
/// `execution::lockstep`, every micro-batch that the tokens need costs a pass on every rank, and one with a long sample lasts as long as it
/// does: a tree of at most 64 nodes places the longest samples in every way. On groups of 1, 2, 4, ... ranks, room that a long sample
/// leaves is empty or shared by others, where micro-batches are nearly full. On groups of any size, ranks that are left beside whole blocks
/// hold few tokens however long a micro-batch lasts. The bounds hold for groups of the sizes that `options.sizes` allows.
///
/// @tparam R     range of integers
/// @tparam Cost  a `shard_cost_model`
/// @param lengths  tokens of each sample
/// @param options  ranks, capacity, fixed time of a pass, policy, and most ranks that share a sample
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the bounds; all 0 without samples, or if a sample has room on no number of ranks
/// @throws invalid_input if an option or a length is not positive, or the sum of all times reaches 2^62
/// @par Complexity
/// O(n log n + n log ranks); for a cost that takes less rank-time on more ranks, O(n log ranks log time). With groups of any size,
/// O(n log n + n ranks) calls of the cost, and O(ranks log time) more for each sample that few ranks are too slow for. In lockstep at most
/// 24 n and, for each of 64 nodes of four trees, O(sizes of groups log n) more, and as much again for each sample that is placed; with
/// groups of any size O(n sizes of groups log ranks log time), too.
/// @par Determinism
/// A pure function of its arguments, in integers.
/// @par Source
/// `area` is the dual search on the makespan of monotone moldable tasks (Mounie, Rapine and Trystram, SIAM J. Computing 37, 2007).
template <length_range R, shard_cost_model Cost>
[[nodiscard]] shard_lower_bounds shard_bounds(R const& lengths, sharding_options const& options, Cost const& cost) {
  detail::require_valid(options);
  if (detail::takes_any_size(options, std::ranges::size(lengths))) {
    detail::any_degree_times const times(lengths, options, cost);
    if (times.samples() == 0 || !times.allows_all(false)) return {};
    shard_lower_bounds out{.longest = times.by_longest(), .area = times.by_area()};
    out.rate = times.by_rate(out.area);
    return out;
  }
  auto const times = detail::times_of_degrees(lengths, options, cost);
  if (times.length.empty() || !times.allows_all()) return {};
  detail::tree_bounds const bounds(times);
  shard_lower_bounds out{.longest = bounds.by_longest(), .area = bounds.by_area()};
  out.rate = bounds.by_rate(out.area);
  return out;
}

}  // namespace ballast::inline v0_2
