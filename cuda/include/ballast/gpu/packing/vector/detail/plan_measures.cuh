// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/gpu/core/call.cuh>
#include <ballast/gpu/packing/vector/detail/class_order.cuh>
#include <ballast/gpu/packing/vector/measures.cuh>
#include <ballast/gpu/packing/vector/planner.cuh>
#include <ballast/packing/options.hpp>
#include <ballast/packing/raise_pack_count.hpp>
#include <ballast/packing/runs.hpp>
#include <ballast/packing/vector/best_fit.hpp>
#include <ballast/packing/vector/detail/driver.hpp>
#include <ballast/packing/vector/detail/sampled_packs.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/packing/vector/options.hpp>
#include <ballast/packing/vector/portfolio.hpp>
#include <ballast/patterns/patterns.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

// What the host does for `pack_portfolio` on a device: it plans on classes, and writes the plan as runs of the sorted samples.

namespace ballast::inline v0_2::gpu::detail {

// Packs of patterns as runs, for samples sorted by class, ascending. `offset` of a sample counts the measure `measure`.
inline void write_runs(pack_patterns const& patterns, measure_classes const& classes, std::size_t measure, std::int64_t capacity,
                       pack_runs& out) {
  std::vector<std::uint64_t> next(classes.size(), 0);
  std::exclusive_scan(classes.counts.begin(), classes.counts.end(), next.begin(), std::uint64_t{0});
  out.capacity = capacity;
  out.samples = classes.samples();
  out.packs = 0;
  out.runs.clear();
  out.blocks.clear();
  std::uint64_t members = 0;
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    auto const repeats = patterns.repeats[p];
    pack_block block{out.packs, members, 0, 0};
    for (auto const& [c, copies] : patterns[p]) {
      auto const length = classes[c][measure];
      out.runs.push_back({next[c], out.packs, length, capacity - block.tokens, copies, block.samples});
      next[c] += copies * repeats;
      block.samples += copies;
      block.tokens += copies * length;
    }
    out.blocks.push_back(block);
    out.packs += repeats;
    members += block.samples * repeats;
  }
  std::sort(out.runs.begin(), out.runs.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
}

// Reads classes from their keys and the positions of their first samples; `count` samples in all. Returns the number of samples that
// exceed a capacity, which are the last class if there are any.
template <class Key, class Index>
[[nodiscard]] std::uint64_t read_classes(std::span<Key const> keys, std::span<Index const> first, std::uint64_t count, std::size_t measures,
                                         bool with_ones, measure_keys const& to, measure_classes& out) {
  out.measures = measures + (with_ones ? 1 : 0);
  out.values.clear();
  out.counts.clear();
  for (std::size_t c = 0; c < keys.size(); ++c) {
    if (keys[c] == 0) return count - first[c];
    auto key = to.values - keys[c];
    out.values.resize(out.values.size() + out.measures, 1);
    auto* const row = out.values.data() + c * out.measures;
    for (auto m = measures; m-- > 0; key /= to.size[m]) row[m] = static_cast<std::int64_t>(key % to.size[m]);
    out.counts.push_back((c + 1 < keys.size() ? std::uint64_t{first[c + 1]} : count) - first[c]);
  }
  return 0;
}

// Sums of each measure over the classes and, where they are `packed`, over the samples that exceed a capacity; false if a sum over all
// samples is 2^63 or more.
[[nodiscard]] inline bool add_measures(measure_classes const& classes, std::size_t measures, std::uint64_t const* exceeding, bool packed,
                                       std::vector<std::int64_t>& totals) {
  constexpr auto most = static_cast<std::uint64_t>((std::numeric_limits<std::int64_t>::max)());
  totals.assign(measures, 0);
  for (std::size_t m = 0; m < measures; ++m) {
    auto const low = exceeding[2 * m], high = exceeding[2 * m + 1] + (low >> 32);
    if (high >> 31 != 0) return false;
    auto const exceeds = high << 32 | (low & 0xffffffffU);
    auto left = most - exceeds;
    for (std::size_t c = 0; c < classes.size(); ++c) {
      auto const value = static_cast<std::uint64_t>(classes[c][m]);
      if (value != 0 && classes.counts[c] > left / value) return false;
      left -= value * classes.counts[c];
    }
    totals[m] = static_cast<std::int64_t>(most - left - (packed ? 0 : exceeds));
  }
  return true;
}

// Plans on `planner.classes` and certifies, as the host's driver does; `exceeding` samples exceed a capacity. Returns for each position of
// the sorted samples which of them takes the place, if the plan mixes the samples of a class; else nothing.
template <class On>
[[nodiscard]] std::vector<std::uint64_t> plan_classes(vector_planner<On>& planner, std::uint64_t exceeding,
                                                      vector_packing_options const& options, portfolio_options const& portfolio) {
  auto const& classes = planner.classes;
  auto& found = planner.found;
  auto const measures = options.capacity.size();
  auto const alone = options.oversize == oversize::alone ? exceeding : 0;
  auto capacity = options.capacity;
  if (options.max_samples != 0)
    capacity.push_back(
        static_cast<std::int64_t>((std::min)(options.max_samples, std::uint64_t{(std::numeric_limits<std::int64_t>::max)()})));
  found.packer = portfolio.members[0];
  using vector_items = ballast::detail::vector_items<std::uint64_t>;
  vector_items const items{classes, {}, {}, capacity, options.seed};
  auto const patterns = ballast::detail::portfolio_search<std::uint64_t>(items, measures, options, portfolio).try_members(found);
  write_runs(patterns, classes, measures - 1, options.capacity.back(), planner.plan);
  auto const packs = planner.plan.packs + alone, samples = planner.plan.samples + alone;
  auto const verdict = ballast::detail::judge_count(packs, samples, found.count.lower_bound + static_cast<std::int64_t>(alone), found.bound,
                                                    options.pack_count_multiple, 0);
  found.status = verdict.status;
  found.count = verdict.count;
  found.bound = verdict.bound;
  if (found.packer != vector_packer::iterative_sampling) return {};
  std::vector<std::uint64_t> positions(static_cast<std::size_t>(planner.plan.samples)), begin(classes.size());
  std::iota(positions.begin(), positions.end(), std::uint64_t{0});
  std::exclusive_scan(classes.counts.begin(), classes.counts.end(), begin.begin(), std::uint64_t{0});
  return ballast::detail::mixed_order(vector_items{classes, positions, begin, capacity, options.seed});
}

// Throws as the host does for these options, and for samples that no device takes.
template <class Value>
void require_device_measures(sample_measures<Value> const& samples, vector_packing_options const& options) {
  ballast::sample_measures const none(std::vector<std::span<std::int64_t const>>(samples.measures));
  ballast::require_valid(none, options);
  require(samples.measures <= most_measures,
          [&] { return sentence(samples.measures, " measures, but a device takes at most ", most_measures); });
  require(measure_keys(options.capacity).values != 0, [] {
    return std::string("capacity: more than 2^63 combinations of measures fit a pack, too many for a device; lower the capacities");
  });
}

// Throws with the message of the host twin for samples of which one is bad, or whose sum is too large.
template <class On, class Value>
void throw_for_measures(On on, sample_measures<Value> const& samples, vector_packing_options const& options) {
  std::vector<std::vector<std::int64_t>> columns;
  for (std::size_t m = 0; m < samples.measures; ++m) {
    auto const column = fetch(on, samples.columns[m], samples.count);
    columns.emplace_back(column.begin(), column.end());
  }
  ballast::sample_measures const here(std::vector<std::span<std::int64_t const>>(columns.begin(), columns.end()));
  (void)ballast::vector_best_fit<std::uint64_t>(here, options);
}

}  // namespace ballast::inline v0_2::gpu::detail
