// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/levels/fill.hpp>
#include <ballast/packing/bounds.hpp>
#include <ballast/packing/run_length.hpp>
#include <ballast/packing/runs.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

// What the host does for `pack_levels` on a device: it plans each level on its lengths, fills room, and writes all as one plan of runs.

namespace ballast::inline v0_2::gpu::detail {

// Samples that are in no pack yet. Those of one length leave in canonical order.
struct waiting_samples {
  histogram const& all;
  std::vector<std::uint64_t> left;  // samples of each length that wait
  std::vector<std::uint64_t> next;  // canonical position of the first of them; longer samples come before
  explicit waiting_samples(histogram const& classes) : all(classes), left(classes.counts), next(left.size()) {
    std::uint64_t longer = 0;
    for (auto c = left.size(); c-- > 0; longer += left[c]) next[c] = longer;
  }
  // Turns the positions of a plan for the waiting samples of lengths [begin, end) into positions among all samples.
  void name_positions(std::size_t begin, std::size_t end, std::vector<pack_run>& runs) const {
    std::uint64_t longer = 0;
    for (auto run = runs.begin(); run != runs.end();) {
      if (all.lengths[--end] == run->length)
        for (; run != runs.end() && run->length == all.lengths[end]; ++run) run->first += next[end] - longer;
      longer += left[end];
      if (end == begin) return;
    }
  }
};

// Packs with added samples, and the runs that hold these.
struct filled_packs {
  std::vector<pack_block> packs;
  std::vector<pack_run> runs;
  std::uint64_t samples = 0;
  std::int64_t tokens = 0;
};

// Fills packs with samples of the lengths `spare`, as `greedy_fill` does: the fullest pack first.
inline filled_packs fill_packs(pack_runs const& packed, std::vector<std::size_t> const& spare, waiting_samples& waiting) {
  histogram classes;
  for (auto const c : spare) classes.append(waiting.all.lengths[c], waiting.left[c]);
  ballast::detail::spare_lengths lengths(classes);
  std::vector<std::size_t> order(packed.blocks.size()), last_run(spare.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return packed.blocks[a].tokens != packed.blocks[b].tokens ? packed.blocks[a].tokens > packed.blocks[b].tokens : a < b;
  });
  filled_packs out;
  for (auto const b : order) {
    auto const& block = packed.blocks[b];
    auto const end = b + 1 < packed.blocks.size() ? packed.blocks[b + 1].first_pack : packed.packs;
    for (auto pack = block.first_pack; pack < end; ++pack) {
      auto filled = block;
      filled.first_pack = pack;
      lengths.fill(packed.capacity - block.tokens, [&](std::size_t k, std::uint64_t count, std::int64_t room) {
        auto const c = spare[k];
        pack_run const run{waiting.next[c], pack, waiting.all.lengths[c], room, count, filled.samples};
        waiting.next[c] += count;
        waiting.left[c] -= count;
        filled.samples += count;
        filled.tokens += static_cast<std::int64_t>(count) * run.length;
        auto const* const last = last_run[k] == 0 ? nullptr : &out.runs[last_run[k] - 1];
        if (last != nullptr && last->per_pack == count && last->room == room && last->slot == run.slot &&
            last->pack + (run.first - last->first) / count == pack)
          return;  // goes on
        out.runs.push_back(run);
        last_run[k] = out.runs.size();
      });
      if (filled.samples == block.samples) break;  // nothing fits, and the next packs of the block have no more room
      out.samples += filled.samples - block.samples;
      out.tokens += filled.tokens - block.tokens;
      out.packs.push_back(filled);
    }
  }
  std::sort(out.packs.begin(), out.packs.end(), [](auto const& a, auto const& b) { return a.first_pack < b.first_pack; });
  return out;
}

// Writes filled packs into the blocks of a plan.
inline void add_filled(filled_packs const& filled, pack_runs& plan) {
  std::vector<pack_block> blocks;
  std::uint64_t members = 0;
  auto more = filled.packs.begin();
  auto const add = [&](pack_block const& as, std::uint64_t first, std::uint64_t end) {
    if (first == end) return;
    if (blocks.empty() || blocks.back().samples != as.samples || blocks.back().tokens != as.tokens)
      blocks.push_back({first, members, as.samples, as.tokens});
    members += as.samples * (end - first);
  };
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    auto at = plan.blocks[b].first_pack;
    auto const end = b + 1 < plan.blocks.size() ? plan.blocks[b + 1].first_pack : plan.packs;
    for (; more != filled.packs.end() && more->first_pack < end; at = more++->first_pack + 1) {
      add(plan.blocks[b], at, more->first_pack);
      add(*more, more->first_pack, more->first_pack + 1);
    }
    add(plan.blocks[b], at, end);
  }
  plan.blocks = std::move(blocks);
  plan.runs.insert(plan.runs.end(), filled.runs.begin(), filled.runs.end());
  plan.samples += filled.samples;
}

// Appends the packs of a level to a plan for packs of a longer capacity.
inline void append_level(pack_runs& own, std::int64_t capacity, pack_runs& plan) {
  for (auto& run : own.runs) {
    run.pack += plan.packs;
    run.room += plan.capacity - capacity;  // so that offsets count from the begin of the pack
  }
  for (auto& block : own.blocks) {
    block.first_pack += plan.packs;
    block.first_member += plan.samples;
  }
  plan.runs.insert(plan.runs.end(), own.runs.begin(), own.runs.end());
  plan.blocks.insert(plan.blocks.end(), own.blocks.begin(), own.blocks.end());
  plan.packs += own.packs;
  plan.samples += own.samples;
}

// Plans each level of a histogram by best-fit decreasing, the longest first, and fills its room with samples of level j where
// `pays(level, j)`. In canonical order the longest level comes first, among packs the shortest.
template <class Planner, class Pays>
void plan_level_packs(std::span<std::int64_t const> capacities, Pays const& pays, Planner& planner) {
  auto const& all = planner.lengths;
  auto const levels = capacities.size();
  std::vector<std::size_t> begin(levels + 1, 0);  // lengths of level i are begin[i] ... begin[i + 1] - 1
  for (std::size_t i = 0; i < levels; ++i)
    begin[i + 1] = static_cast<std::size_t>(std::upper_bound(all.lengths.begin(), all.lengths.end(), capacities[i]) - all.lengths.begin());
  waiting_samples waiting(all);
  std::vector<pack_runs> packed(levels);
  planner.count.resize(levels);
  planner.tokens.resize(levels);
  planner.filled = 0;
  planner.filled_tokens = 0;
  histogram mine;
  for (auto i = levels; i-- > 0;) {
    auto& own = packed[i];
    mine.clear();
    for (auto c = begin[i]; c < begin[i + 1]; ++c)
      if (waiting.left[c] != 0) mine.append(all.lengths[c], waiting.left[c]);
    plan_best_fit_decreasing(mine, {.capacity = capacities[i]}, planner.scratch, own);
    waiting.name_positions(begin[i], begin[i + 1], own.runs);
    auto const packs = static_cast<std::int64_t>(own.packs);
    planner.count[i] = {packs, packing_lower_bound(mine, capacities[i], own.samples + 1, packs).packs};
    planner.tokens[i] = mine.tokens();
    std::vector<std::size_t> spare;
    for (std::size_t j = 0; j < i; ++j)
      for (auto c = begin[j]; c < begin[j + 1] && pays(i, j); ++c)
        if (waiting.left[c] != 0) spare.push_back(c);
    if (spare.empty() || own.packs == 0) continue;
    auto const filled = fill_packs(own, spare, waiting);
    add_filled(filled, own);
    planner.tokens[i] += filled.tokens;
    planner.filled += filled.samples;
    planner.filled_tokens += filled.tokens;
  }
  auto& plan = planner.plan;
  plan.capacity = capacities.back();
  plan.samples = plan.packs = 0;
  plan.runs.clear();
  plan.blocks.clear();
  planner.first_pack.assign(1, 0);
  for (std::size_t i = 0; i < levels; ++i) {
    append_level(packed[i], capacities[i], plan);
    planner.first_pack.push_back(static_cast<std::size_t>(plan.packs));
  }
  std::sort(plan.runs.begin(), plan.runs.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
}

}  // namespace ballast::inline v0_2::gpu::detail
