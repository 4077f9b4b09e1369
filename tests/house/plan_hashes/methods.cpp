// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/methods.hpp>

#include "levels.hpp"
#include "stages.hpp"

#include <array>
#include <optional>

namespace plan_hashes {

using namespace ballast;

template <class Index>
void put(digest& d, hbp::plan<Index> const& p) {
  put(d, p.packed, p.steps, p.order);
}
inline void put(digest& d, hbp::checkpointing const& c) { put(d, c.status, c.layers); }
template <class Index>
void put(digest& d, omnibal::data_plan<Index> const& p) {
  for (auto const& set : p.sets) put(d, numbers{set.limits.tiles, set.limits.tokens}, set.packing);
  put(d, p.steps);
}
template <class Index>
void put(digest& d, omnibal::sequence_units<Index> const& u) {
  put(d, u.units, u.repeated);
}
template <class Index>
void put(digest& d, omnibal::partition_candidate<Index> const& c) {
  put(d, c.boundaries, c.bottleneck, c.volume, c.squares);
}
template <class Index>
void put(digest& d, omnibal::partition_candidates<Index> const& c) {
  put(d, c.anchor, c.candidates, c.tried);
}
template <class Index>
void put(digest& d, omnibal::training<Index> const& t) {
  put(d, t.data, t.cuts, t.measured, t.recomputed, t.plan.steps);
}
inline void put(digest& d, omnibal::layer_bytes const& b) { put(d, b.vision, b.language); }

void methods() {
  std::array<level, 3> const published{level{16384, 1, 28}, level{32768, 2, 28}, level{131072, 8, 29}};
  auto const lengths = long_tailed(2500, 131072, 121);
  show("hbp::plan_run", "plain", hbp::plan_training(lengths, published));
  show("hbp::plan_run", "random",
       hbp::plan_training(lengths, published,
                          {.devices = 16,
                           .sampling = {.rounds = 5},
                           .fill = level_fill::never,
                           .balanced = false,
                           .left_over = left_over::repeat,
                           .warm_up = 5,
                           .seed = 2,
                           .epoch = 3}));
  show("hbp::plan_run", "split",
       hbp::plan_training(uniform(300, 1, 300'000, 122), published, {.left_over = left_over::drop, .oversize = oversize::split}));
  for (std::int64_t const room : {0, 6, 30, 100}) {
    auto const remaining = [&](std::uint32_t layers) { return std::optional<std::int64_t>(room + 2 * (std::int64_t{layers} - 20)); };
    show("hbp::greedy_profile_checkpointing", std::to_string(room), hbp::greedy_profile_checkpointing(remaining, 20, 32, 4));
  }
  std::vector<hbp::profiled_level> const profile{
      {{8192, 2, 8}, 2690}, {{16384, 1, 28}, 2650}, {{32768, 8, 8}, 2830}, {{65536, 4, 28}, 3010}, {{131072, 8, 28}, 3050}};
  show("hbp::select_levels", "published", hbp::select_levels(profile));

  for (auto const& c : data_cases()) {
    show("longalign::packing_steps", c.name,
         longalign::packing_steps(c.lengths, {.capacity = c.capacity, .ranks = 4, .left_over = left_over::shorten}, square));
    show(
        "longalign::sorted_batches", c.name,
        longalign::sorted_batches(c.lengths, 3, {.capacity = 3 * c.capacity, .ranks = 4, .left_over = left_over::drop, .seed = 4}, square));
    show("longalign::sorted_batches", std::string(c.name) + ",shorten",
         longalign::sorted_batches(c.lengths, 2, {.capacity = 2 * c.capacity, .ranks = 3, .left_over = left_over::shorten}, square));
  }

  splitmix64 draw(123);
  numbers tiles, tokens;
  for (int i = 0; i < 500; ++i) {
    tiles.push_back(between(1, 5, draw));
    tokens.push_back(256 * tiles.back() + between(1, i % 8 == 0 ? 1500 : 300, draw));
  }
  show("omnibal::plan_data", "plain", omnibal::plan_data(tiles, tokens));
  show("omnibal::plan_data", "capacities",
       omnibal::plan_data(tiles, tokens, {.choose_capacities = true, .rounds = 10, .ranks = 4, .epoch = 2}));
  show("omnibal::plan_data", "filters,best",
       omnibal::plan_data(tiles, tokens,
                          {.filters = 10, .finish = sampling_finish::best_fit, .keep = kept_round::best, .micro_batches = 3}));
  numbers const text = uniform(300, 16, 2000, 126), none(300, 0);
  std::array const sets{omnibal::data_set{tiles, tokens, {}}, omnibal::data_set{none, text, {.tiles = 1, .tokens = 8192, .spare = 28}}};
  show("omnibal::plan_data_sets", "two", omnibal::plan_data_sets(sets, {.ranks = 4}));
  show("omnibal::sequence_units_of", "4", omnibal::sequence_units_of(omnibal::pack_data(sets[0]).packing.packs, {tiles, tokens}, 4));
  cluster const a100{.device = device_named("a100"), .mfu = 0.5};
  model_setting const spread{.spread = {.tensor = 4, .data = 2, .zero = 1}};
  show("omnibal::plan_training", "internvl-chat-1.5",
       omnibal::plan_training(tiles, tokens, vision_language_preset("internvl-chat-1.5"), a100, spread,
                              {.data = {.ranks = 2, .micro_batches = 8}, .memory = 60'000'000'000}));
  auto const layers = uniform(40, 1, 900, 124), volume = uniform(39, 0, 1500, 125);
  show("omnibal::partition_around_anchor", "4", omnibal::partition_around_anchor(layers, volume, {.stages = 4}));
  show("omnibal::partition_around_anchor", "5,radius=2",
       omnibal::partition_around_anchor(layers, volume, {.stages = 5, .radius = 2, .listed = 20}));
  omnibal::layer_bytes const bytes{.vision = 20, .language = 10};
  for (std::int64_t const room : {0, 9, 55, 95, 500})
    show("omnibal::recomputed_layers", std::to_string(room), omnibal::recomputed_layers(5, 12, room, bytes));
}

}  // namespace plan_hashes
