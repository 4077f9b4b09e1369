// SPDX-License-Identifier: Apache-2.0
#include "planning/schedulers.hpp"

#include "commands/options.hpp"

#include <ballast/core/lengths.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/methods/flexsp.hpp>
#include <ballast/methods/hbp.hpp>
#include <ballast/methods/megatron_hybrid_cp.hpp>
#include <ballast/methods/verl.hpp>
#include <ballast/packing/next_fit.hpp>
#include <ballast/sharding/homogeneous.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/power_of_two_groups.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <utility>

namespace ballast_cli {

namespace {

using lengths_view = std::span<std::int64_t const>;
using ballast::execution;

/// The number of GPUs that a sample needs, a power of two.
[[nodiscard]] std::uint32_t degree_for(std::int64_t length, scheduling_setting const& on) {
  std::uint32_t degree = 1;
  while (on.options.capacity * degree < length && degree < on.options.ranks) degree *= 2;
  return degree;
}

/// Packs of `degree` GPUs each, side by side in lockstep as many as there are GPUs, in their order.
void append_packs(ballast::pass_list<>& list, ballast::groups<> const& packs, std::uint32_t degree, scheduling_setting const& on) {
  auto const side_by_side = static_cast<std::size_t>(on.options.ranks / degree);
  for (std::size_t first = 0; first < packs.size(); first += side_by_side) {
    ballast::grouped_samples<> together;
    for (auto p = first; p < (std::min)(first + side_by_side, packs.size()); ++p) {
      together.widths.push_back(degree);
      together.samples.push_back(packs[p]);
    }
    ballast::append_micro_batch(list, together, on.options.ranks);
  }
}

[[nodiscard]] scheduled in_lockstep(lengths_view lengths, ballast::pass_list<> const& list, scheduling_setting const& on) {
  scheduled out{ballast::make_shards(lengths, list, on.options.ranks)};
  out.shards.execution = execution::lockstep;
  return out;
}

scheduled one_setting(lengths_view lengths, scheduling_setting const& on) {
  return {ballast::static_shards(lengths, on.longest, on.options, on.cost)};
}

scheduled best_setting(lengths_view lengths, scheduling_setting const& on) {
  auto o = on.options;
  o.execution = execution::lockstep;
  return {ballast::homogeneous_shards(lengths, o, on.cost)};
}

scheduled verl(lengths_view lengths, scheduling_setting const& on) { return {ballast::verl::schedule(lengths, on.options, on.cost)}; }

/// Packs of similar lengths, on as many GPUs as the longest sample of the data needs.
scheduled longalign(lengths_view lengths, scheduling_setting const& on) {
  auto const degree = degree_for(on.longest, on);
  std::vector<std::uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::uint32_t{0});
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return lengths[a] != lengths[b] ? lengths[a] < lengths[b] : a < b; });
  std::vector<std::int64_t> sorted;
  for (auto const i : order) sorted.push_back(lengths[i]);
  auto packs = ballast::next_fit(sorted, {.capacity = on.options.capacity * degree}).packs;
  for (auto& i : packs.members) i = order[i];
  ballast::pass_list<> list;
  append_packs(list, packs, degree, on);
  return in_lockstep(lengths, list, on);
}

/// Levels of 1, 2, 4, ... GPUs; packs of a level that cost similarly train side by side.
scheduled hbp(lengths_view lengths, scheduling_setting const& on) {
  std::vector<ballast::level> levels;
  for (std::uint32_t sp = 1; sp <= degree_for(on.longest, on); sp *= 2) levels.push_back({.capacity = on.options.capacity * sp, .sp = sp});
  auto const packed =
      ballast::pack_levels(lengths, levels, {.fill = ballast::level_fill::always}, ballast::hbp::isf_packer{.seed = on.seed});
  ballast::pass_list<> list;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    std::vector<std::pair<std::int64_t, std::size_t>> order;  // by attention, largest first
    for (auto p = packed.first_pack[l]; p < packed.first_pack[l + 1]; ++p) {
      std::int64_t attention = 0;
      for (auto const i : packed.packs[p]) attention -= lengths[i] * lengths[i];
      order.emplace_back(attention, p);
    }
    std::sort(order.begin(), order.end());
    ballast::groups<> packs;
    for (auto const& [attention, p] : order) packs.push_back(packed.packs[p]);
    append_packs(list, packs, levels[l].sp, on);
  }
  return in_lockstep(lengths, list, on);
}

scheduled flexsp(lengths_view lengths, scheduling_setting const& on) { return {ballast::flexsp::schedule(lengths, on.options, on.cost)}; }

scheduled megatron_hybrid_cp(lengths_view lengths, scheduling_setting const& on) {
  auto const& o = on.options;
  auto plan = ballast::megatron_hybrid_cp::schedule(
      lengths, {.capacity = o.capacity, .ranks = o.ranks, .cost_per_pass = o.cost_per_pass, .widest_first = true}, on.cost);
  return {std::move(plan.shards), plan.time.value};
}

template <execution policy>
scheduled planned(lengths_view lengths, scheduling_setting const& on) {
  auto o = on.options;
  o.execution = policy;
  return {ballast::plan_shards(lengths, o, on.cost)};
}

}  // namespace

std::span<scheduler const> schedulers() {
  using enum sample_division;
  static constexpr scheduler all[] = {
      {"static", "packs by first fit, the GPUs of the longest sample", "none", powers_of_two, one_setting},
      {"homogeneous", "equal groups, the best size for each batch", "none", powers_of_two, best_setting},
      {"verl", "Karmarkar-Karp, the best size of groups", "none", powers_of_two, verl},
      {"longalign", "packs of similar lengths", "none", powers_of_two, longalign},
      {"hbp", "levels of 1, 2, 4, ... GPUs", "packs", powers_of_two, hbp},
      {"flexsp", "groups of 2, 4, ... GPUs for each micro-batch", "none", powers_of_two, flexsp},
      {"megatron-hybrid-cp", "rounds of groups, as many GPUs as tokens need", "none", powers_of_two, megatron_hybrid_cp},
      {"ballast-lockstep", "plan_shards, a barrier after every micro-batch", "none", powers_of_two, planned<execution::lockstep>},
      {"ballast-pure", "plan_shards, whole samples apart from shared ones", "none", powers_of_two, planned<execution::independent>},
      {"ballast", "plan_shards, whole samples beside shared ones", "none", powers_of_two, planned<execution::mixed>},
  };
  return all;
}

std::vector<scheduler> schedulers_named(std::string const& option, std::string const& words) {
  if (words.empty()) return {schedulers().begin(), schedulers().end()};
  std::vector<scheduler> out;
  for (auto const& word : words_of(words)) out.push_back(named(option, word, schedulers()));
  return out;
}

}  // namespace ballast_cli
