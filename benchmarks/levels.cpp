// SPDX-License-Identifier: Apache-2.0
// Prints tables of docs/levels.md (bench_hbp prints the others): levels and balance on a stand-in for HBP's data, 32 GPUs, LLaMA-3.1-8B.
// Times of training are modelled; times of planning are CPU seconds of this run. Published figures stand beside ours.
#include <ballast/core/classes.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/sequence_parallel.hpp>
#include <ballast/levels.hpp>
#include <ballast/methods/hbp.hpp>
#include <ballast/methods/longalign.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "long_context_mixture.hpp"

namespace {

using levels_t = std::vector<ballast::timed_level>;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

ballast::sequence_parallel_setup const& run() {
  static ballast::sequence_parallel_setup const llama{.model = ballast::transformer_preset("llama-3.1-8b")};
  return llama;
}

levels_t timed(std::vector<ballast::level> const& levels) {
  levels_t out;
  for (auto const& l : levels) out.push_back({l, ballast::modelled_level_time(run(), l)});
  return out;
}
std::vector<ballast::level> settings(levels_t const& levels) {
  std::vector<ballast::level> out;
  for (auto const& l : levels) out.push_back(l.setting);
  return out;
}
std::vector<ballast::level_time> times(levels_t const& levels) {
  std::vector<ballast::level_time> out;
  for (auto const& l : levels) out.push_back(l.time);
  return out;
}
std::string name_of(levels_t const& levels) {
  std::string name;
  for (auto const& [at, time] : levels)
    name += (name.empty() ? "" : ", ") + std::to_string(at.capacity / 1024) + "K/" + std::to_string(at.sp) + "/" +
            std::to_string(at.recomputed_layers);
  return name;
}

void print_figures(ballast::level_figures const& f, double naive) {
  std::printf(" %zu | %.4f | %.4f | %.4f | %.2f %% | %.0f | %.3f |\n", f.steps, f.attention_ratio, f.token_ratio, f.communication_ratio,
              100 * f.idle, f.seconds, naive / f.seconds);
}

ballast::level_figures figures_of(ballast::hbp::plan<> const& plan, levels_t const& levels) {
  return ballast::figures_of(plan.steps, plan.packed.lengths, times(levels));
}

// The steps of a planner that knows one level.
ballast::level_batching<> one_level(ballast::batching<> steps, ballast::level const& at) {
  ballast::level_batching<> out;
  out.levels = {at};
  out.steps.push_back(std::move(steps));
  return out;
}

// Greedy fill as printed: every spare sample is tried for every pack.
std::size_t fill_as_printed(std::vector<std::int64_t> room, std::vector<std::int64_t> spare) {
  std::size_t moved = 0;
  for (auto& r : room)
    for (auto& l : spare)
      if (l != 0 && l <= r) {
        r -= l;
        l = 0;
        ++moved;
      }
  return moved;
}

}  // namespace

int main() {
  namespace hbp = ballast::hbp;
  auto const lengths = mixture::lengths();
  auto const h = ballast::fold(lengths);
  std::printf("%zu samples, %lld tokens, %.2f %% of them in samples above 16K; sum of squares %.3e\n", lengths.size(),
              static_cast<long long>(h.tokens()),
              100 *
                  static_cast<double>(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0},
                                                      [](auto sum, auto l) { return sum + (l > 16384 ? l : 0); })) /
                  static_cast<double>(h.tokens()),
              std::accumulate(lengths.begin(), lengths.end(), 0.0,
                              [](double sum, auto l) { return sum + static_cast<double>(l) * static_cast<double>(l); }));

  // HBP's choice from its published profile, and from the modelled one; the exact choice.
  std::vector<hbp::profiled_level> const table_19{
      {{8192, 2, 8}, 2690}, {{16384, 1, 28}, 2650}, {{32768, 8, 8}, 2830}, {{65536, 4, 28}, 3010}, {{131072, 8, 28}, 3050}};
  std::vector<std::int64_t> const capacities{8192, 16384, 32768, 65536, 131072};
  std::vector<std::uint32_t> const degrees{1, 2, 4, 8};
  auto candidates = ballast::modelled_levels(run(), capacities, degrees);
  std::vector<hbp::profiled_level> modelled_profile;
  for (auto const capacity : capacities) {
    std::int64_t tokens = 0, squares = 0;  // of the samples that packs of this length can hold
    for (std::size_t i = 0; i < h.lengths.size() && h.lengths[i] <= capacity; ++i) {
      tokens += h.lengths[i] * static_cast<std::int64_t>(h.counts[i]);
      squares += h.lengths[i] * h.lengths[i] * static_cast<std::int64_t>(h.counts[i]);
    }
    auto const remaining = [&](std::uint32_t sp, std::uint32_t layers) -> std::optional<std::int64_t> {
      auto const left = ballast::remaining_memory(run(), {capacity, sp, layers});
      return left < 0 ? std::nullopt : std::optional(left);
    };
    auto const time = [&](std::uint32_t sp, std::uint32_t layers) {
      return ballast::modelled_level_time(run(), {capacity, sp, layers})(static_cast<std::uint64_t>((tokens + capacity - 1) / capacity),
                                                                         tokens, squares);
    };
    if (auto const best = hbp::find_best_setting(capacity, degrees, remaining, time, {.least = 20, .most = 32, .tokens = tokens}))
      modelled_profile.push_back(*best);
  }
  auto const naive_levels = timed({{131072, 8, 28}});
  auto const hbp_levels = timed(hbp::select_levels(table_19));
  candidates.insert(candidates.end(), hbp_levels.begin(), hbp_levels.end());  // so the exact choice cannot take longer

  std::puts("\nHierarchy and balance (table 6); packs by iterative sampling, long packs filled as published\n");
  std::puts("| hierarchy | balance | ABR, CR, gain published | steps | ABR | DBR | CR | idle | modelled s | gain |");
  std::puts("|---|---|---|---|---|---|---|---|---|---|");
  double naive = 0;
  for (auto const hierarchy : {false, true})
    for (auto const balance : {false, true}) {
      auto const& levels = hierarchy ? hbp_levels : naive_levels;
      auto const f = figures_of(hbp::plan_training(lengths, settings(levels), {.balanced = balance}), levels);
      if (naive == 0) naive = f.seconds;
      std::printf("| %s | %s | %s |", hierarchy ? "yes" : "no", balance ? "yes" : "no",
                  hierarchy ? (balance ? "0.002, 0.173, 1.40" : "0.288, 0.173, 1.16") : (balance ? "–" : "0.506, 1, 1.00"));
      print_figures(f, naive);
    }

  std::puts("\nLevels as length/SP/recomputed layers (table 11 and beyond); best-fit packs, balanced, no fill unless said\n");
  std::puts("| choice | levels | at volume, s | over the best | steps | ABR | DBR | CR | idle | modelled s | gain |");
  std::puts("|---|---|---|---|---|---|---|---|---|---|---|");
  struct choice {
    std::string name;
    levels_t levels;
    ballast::level_fill fill = ballast::level_fill::never;
    bool full_cost = false;
  };
  using fill = ballast::level_fill;
  auto const exact = ballast::choose_levels(h, candidates);
  auto const three = ballast::choose_levels(h, candidates, 3).levels;
  auto const rows = {
      choice{"one level", naive_levels},
      choice{"manual, published 1.22", timed({{32768, 2, 28}, {131072, 8, 28}})},
      choice{"HBP, published 1.40", hbp_levels},
      choice{"the same, always filled", hbp_levels, fill::always},
      choice{"HBP, balanced by modelled cost", hbp_levels, fill::never, true},
      choice{"HBP's rule on the modelled profile", timed(hbp::select_levels(modelled_profile))},
      choice{"exact, 2 levels", ballast::choose_levels(h, candidates, 2).levels},
      choice{"exact, 3 levels", three},
      choice{"the same, balanced by modelled cost", three, fill::never, true},
      choice{"exact, any number", exact.levels},
      choice{"the same, balanced by modelled cost", exact.levels, fill::never, true},
      choice{"the same, also filled where it pays", exact.levels, fill::where_it_pays, true},
  };
  for (auto const& [name, levels, how, full_cost] : rows) {
    auto const packed = ballast::pack_levels(lengths, settings(levels), {.fill = how, .times = times(levels)});
    auto const steps =
        ballast::steps_by_level(packed, {.devices = 32}, full_cost ? levels.back().time.of_sample() : ballast::attention_only);
    auto const at_volume = ballast::time_of_levels(h, levels);
    std::printf("| %s | %s | %.0f | %.2f %% |", name.c_str(), name_of(levels).c_str(), static_cast<double>(at_volume) / 32e9,
                100 * (static_cast<double>(at_volume) / static_cast<double>(exact.time.lower_bound) - 1));
    print_figures(ballast::figures_of(steps, packed.lengths, times(levels)), naive);
  }

  std::puts("\nFilling the long level of HBP: a price per communicated token, in device-microseconds\n");
  std::puts("| fill | packs | samples moved | CR | modelled s |\n|---|---|---|---|---|");
  for (int price : {-2, -1, 0, 5, 20}) {
    ballast::level_options options{.fill = price == -2   ? fill::never
                                           : price == -1 ? fill::always
                                                         : fill::where_it_pays,
                                   .times = times(hbp_levels),
                                   .price_per_token = (std::max)(price, 0) * 1'000'000};
    if (price >= 0)  // as if communication itself were free
      for (auto& t : options.times) t.per_token = 0;
    auto const packed = ballast::pack_levels(lengths, settings(hbp_levels), options);
    auto const f =
        ballast::figures_of(ballast::steps_by_level(packed, {.devices = 32}, ballast::attention_only), packed.lengths, times(hbp_levels));
    auto const name = price == -2 ? std::string("never") : price == -1 ? std::string("always") : "price " + std::to_string(price);
    std::printf("| %s | %zu | %llu | %.4f | %.0f |\n", name.c_str(), packed.packs.size(), static_cast<unsigned long long>(packed.filled),
                f.communication_ratio, f.seconds);
  }

  std::puts("\nOther batchings of the same samples on the same GPUs\n");
  std::puts("| batching | steps | ABR | DBR | CR | idle | modelled s | gain |\n|---|---|---|---|---|---|---|---|");
  ballast::batching_options const shape{.capacity = 131072, .ranks = 4, .left_over = ballast::left_over::shorten};
  std::printf("| LongAlign, packing |");
  print_figures(
      ballast::figures_of(one_level(ballast::longalign::packing_steps(lengths, shape, ballast::dense_4096_cost), naive_levels[0].setting),
                          lengths, times(naive_levels)),
      naive);
  std::printf("| LongAlign, sorted, one sample a rank |");
  print_figures(ballast::figures_of(
                    one_level(ballast::longalign::sorted_batches(lengths, 1, shape, ballast::dense_4096_cost), naive_levels[0].setting),
                    lengths, times(naive_levels)),
                naive);

  std::puts("\nPlanning, CPU seconds on one core; published: under 5 s per million samples, greedy fill O(packs * spare samples)\n");
  auto const start = cpu_seconds();
  auto const chosen = ballast::choose_levels(ballast::fold(lengths), ballast::modelled_levels(run(), capacities, degrees), 3);
  auto const selected = cpu_seconds();
  auto const plan = hbp::plan_training(lengths, settings(hbp_levels));
  auto const planned = cpu_seconds();
  auto const simple = ballast::steps_by_level(ballast::pack_levels(lengths, settings(hbp_levels), {.fill = fill::always}), {.devices = 32},
                                              ballast::attention_only);
  auto const packed = cpu_seconds();
  std::printf(
      "histogram, model and exact choice of %zu levels: %.4f\nHBP: packs, steps and order of %zu steps: %.3f\n"
      "the same from best-fit packs, %zu steps: %.3f\n",
      chosen.levels.size(), selected - start, plan.order.size(), planned - selected, simple.size(), packed - planned);
  auto const unfilled = ballast::pack_levels(lengths, settings(hbp_levels));
  std::vector<std::int64_t> room, spare;
  ballast::groups<> long_packs;
  std::vector<std::uint32_t> candidates_to_move;
  for (auto p = unfilled.first_pack[1]; p < unfilled.first_pack[2]; ++p) {
    long_packs.push_back(unfilled.packs[p]);
    room.push_back(hbp_levels[1].setting.capacity);
    for (auto m : unfilled.packs[p]) room.back() -= lengths[m];
  }
  for (std::uint32_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] <= hbp_levels[0].setting.capacity) {
      spare.push_back(lengths[i]);
      candidates_to_move.push_back(i);
    }
  auto const before = cpu_seconds();
  auto const printed = fill_as_printed(room, spare);
  auto const middle = cpu_seconds();
  auto const stays = ballast::greedy_fill<std::uint32_t>(long_packs, lengths, hbp_levels[1].setting.capacity, candidates_to_move);
  auto const after = cpu_seconds();
  std::printf("greedy fill of %zu packs: as printed %.3f (%zu samples moved), by histogram %.4f (%zu), %.0f times faster\n", room.size(),
              middle - before, printed, after - middle, candidates_to_move.size() - stays.size(), (middle - before) / (after - middle));
  return 0;
}
