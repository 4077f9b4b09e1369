// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/sequence_parallel.hpp>
#include <ballast/levels/choose.hpp>
#include <ballast/levels/pack.hpp>
#include <ballast/levels/plan.hpp>
#include <ballast/levels/steps.hpp>
#include <ballast/packing/next_fit.hpp>

#include "levels.hpp"

#include <array>
#include <span>

namespace plan_hashes {

using namespace ballast;

inline void put(digest& d, level_time const& t) { put(d, t.per_pack, t.per_token, t.per_square); }
inline void put(digest& d, timed_level const& l) { put(d, l.setting, l.time); }
inline void put(digest& d, level_choice const& c) { put(d, c.status, c.levels, c.time); }
inline void put(digest& d, level_figures const& f) { put(d, f.steps, f.packs, f.loads); }
template <class Index>
void put(digest& d, device_table<Index> const& t) {
  put(d, t.packs, t.table, t.level, t.devices, t.micro_batches);
}

namespace {

sequence_parallel_setup const cluster_of_16{.model = transformer_preset("llama-3.1-8b"), .devices = 16};
std::array<level, 3> const settings{level{1024, 1, 0}, level{4096, 2, 5}, level{16384, 8, 9}};

std::vector<timed_level> timed() {
  std::vector<timed_level> out;
  for (auto const& at : settings) out.push_back({at, modelled_level_time(cluster_of_16, at)});
  return out;
}

/// Packs in the order given.
struct next_fit_packer {
  template <index_type Index>
  [[nodiscard]] ballast::packing<Index> operator()(std::span<std::int64_t const> lengths, packing_options const& options, Index) const {
    return next_fit<Index>(lengths, options);
  }
};

}  // namespace

void levels() {
  auto const candidates =
      modelled_levels(cluster_of_16, numbers{1024, 2048, 4096, 8192, 16384, 20000, 32768}, std::vector<std::uint32_t>{1, 2, 4, 8});
  show("modelled_levels", "llama-3.1-8b", candidates);
  auto const three = timed();
  numbers const price{0, 5};
  std::pair<std::string, numbers> const cases[] = {{"long_tailed", long_tailed(1500, 16384, 51)},
                                                   {"uniform", uniform(300, 1, 16384, 52)},
                                                   {"short", uniform(900, 1, 1500, 53)},
                                                   {"above", long_tailed(800, 40000, 54)},
                                                   {"none", {}}};
  for (auto const& [name, lengths] : cases) {
    auto const classes = fold(lengths);
    show("choose_levels", name, choose_levels(classes, candidates));
    show("choose_levels", name + ",most=2", choose_levels(classes, candidates, 2));
    if (name != "above") show("time_of_levels", name, time_of_levels(classes, three));
    std::vector<level_time> times;
    for (auto const& l : three) times.push_back(l.time);
    std::pair<std::string, level_options> const variants[] = {
        {"never", {.oversize = oversize::set_aside}},
        {"always", {.oversize = oversize::split, .fill = level_fill::always}},
        {"where_it_pays", {.oversize = oversize::truncate, .fill = level_fill::where_it_pays, .times = times, .price_per_token = 1}}};
    for (auto const& [what, o] : variants) {
      auto const packed = pack_levels(lengths, settings, o);
      auto const of = name + ',' + what;
      show("pack_levels", of, packed);
      show("pack_levels", of + ",next_fit", pack_levels(lengths, settings, o, next_fit_packer{}));
      show("steps_by_level", of, steps_by_level(packed, {.devices = 16}, attention_only));
      show("steps_by_level", of + ",repeat",
           steps_by_level(
               packed, {.devices = 16, .tokens_per_step = 65536, .emission = emission::shuffled, .left_over = left_over::repeat, .seed = 4},
               attention_only));
      show("steps_by_level", of + ",random",
           steps_by_level(packed, {.devices = 16, .balanced = false, .left_over = left_over::drop, .epoch = 2}, attention_only));
    }
    std::pair<std::string, level_options> const plans[] = {
        {"plain", {.devices = 16, .oversize = oversize::set_aside}},
        {"split",
         {.devices = 16,
          .micro_batches = 2,
          .oversize = oversize::split,
          .fill = level_fill::always,
          .left_over = left_over::shorten,
          .order = {.order = curriculum_order::random},
          .seed = 3}},
        {"truncate", {.devices = 32, .oversize = oversize::truncate, .fill = level_fill::never, .left_over = left_over::drop, .epoch = 2}}};
    for (auto const& [what, o] : plans) {
      auto const plan = plan_levels(lengths, three, o);
      auto const of = name + ',' + what;
      auto const usual = compare_levels(lengths, plan, o);
      show("plan_levels", of, plan.levels, plan.packed, plan.steps, plan.order, plan.figures);
      show("plan_levels.one_level", of, usual.one_level);
      show("plan_levels.naive", of, usual.naive);
      show("table_of", of, table_of(plan));
      auto const squares = plan_levels(lengths, three, o, attention_only);
      show("plan_levels", of + ",attention_only", squares.levels, squares.packed, squares.steps, squares.order, squares.figures);
    }
  }
}

}  // namespace plan_hashes
