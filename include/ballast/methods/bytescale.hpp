// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/status.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/sharding/any_degree.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/options.hpp>
#include <ballast/sharding/result.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <ranges>
#include <utility>
#include <vector>

/// @file
/// @brief ByteScale (Ge et al., arXiv 2502.21231): hybrid data parallelism, which gives each sample as many ranks as it needs.

namespace ballast::inline v0_2::bytescale {

/// @brief Where a pass takes its samples from.
enum class balance : std::uint8_t {
  data_parallel,  ///< all ranks from the first bucket that is not empty, so ranks have like passes at the same time
  pipeline,       ///< each pass from the next bucket in turn; slow pipelines get fewer passes
};

/// @brief A run. Only `capacity` and `ranks` have no default.
struct options {
  std::int64_t capacity = 0;                   ///< most tokens of one pass on one rank, at least 1
  std::uint64_t ranks = 0;                     ///< ranks of the hybrid data-parallel group, at least 1
  std::int64_t cost_per_pass = 0;              ///< fixed time of a pass, in units of the cost
  balance from = balance::data_parallel;       ///< where a pass takes its samples from
  std::uint64_t buckets = 8;                   ///< number of buckets of equal work, at least 1; the paper names none
  std::int64_t delta = 0;                      ///< a rank gets the next passes if it lags by more than this, in units of the cost
  share_layout layout = share_layout::zigzag;  ///< how ranks cut a sample
};

namespace detail {

/// Feeds the ranks that lag with whole passes. Samples are named by their position, longest first.
class pass_feeder {
 public:
  pass_feeder(std::vector<std::int64_t> const& lengths, std::vector<std::int64_t> const& work, options const& o)
      : lengths_(lengths), o_(o), time_(static_cast<std::size_t>(o.ranks), 0), next_(lengths.size() + 1) {
    std::iota(next_.begin(), next_.end(), std::size_t{0});
    auto const total = std::accumulate(work.begin(), work.end(), std::int64_t{0});
    auto const count = static_cast<std::int64_t>(o.buckets);
    std::int64_t held = 0;
    for (std::size_t i = 0; i < work.size(); ++i) {  // bucket b ends where (b + 1) / count of the work is held
      held += work[i];
      if (compare_products(held, count, total, static_cast<std::int64_t>(ends_.size()) + 1) < 0 && i + 1 < work.size()) continue;
      ends_.push_back(i + 1);
      if (i + 1 < work.size() && ends_.size() == o.buckets) ends_.pop_back();
    }
  }

  /// Calls `emit(positions, ranks)` for each pass, which returns its time. Returns when the last rank is done.
  template <class Emit>
  std::int64_t run(Emit const& emit) {
    for (std::size_t bucket = 0, left = lengths_.size(); left > 0;) {
      find_targets();
      for (std::size_t at = 0; at < targets_ && left > 0;) {
        while (first(bucket) == ends_[bucket]) bucket = (bucket + 1) % ends_.size();
        auto const width = static_cast<std::size_t>(divide_up(lengths_[first(bucket)], o_.capacity));
        at = choose_ranks(at, width);
        fill(bucket, width);
        left -= pass_.size();
        auto start = time_[ranks_[0]];
        for (auto const r : ranks_) start = (std::max)(start, time_[r]);
        auto const end = start + emit(pass_, ranks_);
        for (auto const r : ranks_) time_[r] = end;
        if (o_.from == balance::pipeline) bucket = (bucket + 1) % ends_.size();
      }
    }
    return *std::max_element(time_.begin(), time_.end());
  }

 private:
  /// The first position at or behind `i` that is not in a pass.
  [[nodiscard]] std::size_t from(std::size_t i) {
    while (next_[i] != i) i = next_[i] = next_[next_[i]];
    return i;
  }
  [[nodiscard]] std::size_t first(std::size_t bucket) { return (std::min)(from(bucket == 0 ? 0 : ends_[bucket - 1]), ends_[bucket]); }
  /// Sorts the ranks by time; the first `targets_` lag by more than delta, or are all if none does.
  void find_targets() {
    order_ = order_by<std::uint32_t>(time_.size(), [&](std::uint32_t r) { return time_[r]; });
    auto const latest = time_[order_.back()];
    targets_ = 0;
    while (targets_ < order_.size() && latest - time_[order_[targets_]] > o_.delta) ++targets_;
    if (targets_ == 0) targets_ = order_.size();
  }
  /// The next `width` ranks in order of time; those that had their pass come last. Returns where the next pass begins.
  [[nodiscard]] std::size_t choose_ranks(std::size_t at, std::size_t width) {
    ranks_.clear();
    for (std::size_t k = 0; k < width; ++k) ranks_.push_back(order_[(at + k) % order_.size()]);
    std::sort(ranks_.begin(), ranks_.end());
    return at + width;
  }
  /// Takes a pass from the bucket: the longest sample that fits, again and again, of those that need as many ranks.
  void fill(std::size_t bucket, std::size_t width) {
    pass_.clear();
    auto const end = lengths_.begin() + static_cast<std::ptrdiff_t>(ends_[bucket]);
    auto room = o_.capacity * static_cast<std::int64_t>(width);
    for (auto i = first(bucket); i < ends_[bucket];) {
      if (std::cmp_not_equal(divide_up(lengths_[i], o_.capacity), width)) break;
      pass_.push_back(i);
      room -= lengths_[i];
      next_[i] = i + 1;
      auto const fits = std::partition_point(lengths_.begin() + static_cast<std::ptrdiff_t>(i), end, [&](auto l) { return l > room; });
      i = from(static_cast<std::size_t>(fits - lengths_.begin()));
    }
  }

  std::vector<std::int64_t> const& lengths_;
  options o_;
  std::vector<std::int64_t> time_;  // of each rank
  std::vector<std::size_t> next_;   // itself while the position waits, else a later one
  std::vector<std::size_t> ends_;   // of each bucket
  std::size_t targets_ = 0;
  std::vector<std::uint32_t> order_, ranks_;
  std::vector<std::size_t> pass_;
};

}  // namespace detail

/// @brief Schedules a batch as ByteScale's balance scheduler does.
///
/// A sample of s tokens is shared by `ceil(s / capacity)` ranks, in any number, on any ranks. Samples are sorted, longest first, and cut
/// into buckets of equal work. The ranks that lag behind the latest one by more than `delta` get a pass each, filled by tokens, and again,
/// until no sample is left. So ranks run different numbers of passes; a loss normalised by the tokens of the whole batch makes the gradient
/// the same.
///
/// What the paper leaves open is settled so:
/// - the work of a sample is its cost on one rank, and there are `buckets` buckets; a bucket ends with the sample that reaches its share;
/// - if no rank lags, all get a pass; those of less time come first, of equal ones the lower number;
/// - a pass takes the longest sample of its bucket that fits, again and again, of those that need as many ranks. Two samples that need
///   several ranks never fit, so such a pass holds one;
/// - a sample takes the next ranks in order of time, and those that have had their pass if there are too few;
/// - the time of a rank includes its waits for others.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Cost   a `degree_cost_model`
/// @param lengths  tokens of each sample; may be empty
/// @param o        the run
/// @param cost     time of a sample by its length and the number of ranks that share it
/// @return the shards, independent passes; `infeasible` if all ranks together have no room for a sample
/// @post `check_shards` accepts the result, `time.value` is the makespan of `time_shards`, and `time.lower_bound` is `any_degree_bound`
/// @throws invalid_input as `any_degree_bound`, or if an option is out of its range
/// @par Complexity
/// As `any_degree_bound`, and O(n log n + passes * log n), O(ranks log ranks) each time that the ranks which lag are found.
/// @par Determinism
/// A pure function of its arguments, in integers; equal lengths keep their order.
/// @par Source
/// Ge et al., "ByteScale", arXiv 2502.21231, algorithm 2.
template <index_type Index = std::uint32_t, length_range R, degree_cost_model Cost>
[[nodiscard]] shards<Index> schedule(R const& lengths, options const& o, Cost const& cost) {
  require(o.buckets > 0 && o.buckets < std::uint64_t{1} << 32,
          [&] { return sentence("buckets = ", o.buckets, " must be in 1 ... 2^32 - 1"); });
  require(o.delta >= 0, [&] { return sentence("delta = ", o.delta, " must not be negative"); });
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "samples");
  require_index<std::uint32_t>(n, "samples");
  auto const lower = any_degree_bound(lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass}, cost);
  auto const at = read_by_position(lengths);
  auto const order = order_by<Index>(n, [&](Index i) { return -static_cast<std::int64_t>(at[i]); });
  std::vector<std::int64_t> length, work;
  for (auto const i : order) {
    length.push_back(static_cast<std::int64_t>(at[i]));
    work.push_back(static_cast<std::int64_t>(cost(length.back(), 1)));
  }
  shards<Index> out;
  if (n > 0 && divide_up(length[0], o.capacity) > static_cast<std::int64_t>(o.ranks)) {
    out.status = status::infeasible;
    return out;
  }
  pass_list<Index> list;
  auto const value = detail::pass_feeder(length, work, o).run([&](auto const& positions, std::vector<std::uint32_t> const& ranks) {
    auto time = o.cost_per_pass;
    for (auto const i : positions) {
      list.placements.push_back({.sample = order[i], .pass = static_cast<std::uint32_t>(list.ranks.size())});
      time += static_cast<std::int64_t>(cost(length[i], static_cast<std::int64_t>(ranks.size())));
    }
    list.ranks.push_back(ranks);
    return time;
  });
  out = make_shards(lengths, list, o.ranks, o.layout);
  out.time = {value, lower};
  return out;
}

}  // namespace ballast::inline v0_2::bytescale
