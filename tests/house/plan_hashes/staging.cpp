// SPDX-License-Identifier: Apache-2.0
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/model_layers.hpp>
#include <ballast/staging.hpp>

#include "stages.hpp"

#include <span>

namespace plan_hashes {

using namespace ballast;

inline void put(digest& d, layer_chain const& c) { put(d, c.classes, c.runs.values, c.runs.counts); }

void staging() {
  splitmix64 draw(91);
  for (int round = 0; round < 24; ++round) {
    std::vector<stage_layer> kinds, layers;
    for (int k = 0; k < 4; ++k) {
      stage_layer layer{.time = between(1, 30, draw), .state = between(0, 6, draw), .options = {}};
      auto const ways = between(1, 3, draw);
      for (std::int64_t j = 0; j < ways; ++j)
        layer.options.push_back({between(1, 40, draw) / (j + 1), j * between(1, 9, draw), j == 2 ? 5 : 0});
      kinds.push_back(layer);
    }
    auto const n = between(4, 40, draw);
    for (std::int64_t i = 0; i < n; ++i)
      layers.push_back(kinds[static_cast<std::size_t>(between(0, 9, draw) > 6 ? between(0, 3, draw) : i * 4 / n)]);
    auto const stages = static_cast<std::uint64_t>(between(1, 6, draw));
    numbers capacity;
    for (std::uint64_t s = 0; s < stages; ++s) capacity.push_back(between(20, 60, draw) * n / static_cast<std::int64_t>(stages) + 40);
    char const* const names[] = {"gpipe", "1f1b", "zb1p"};
    auto const held = held_by_stage(schedule_named(names[round % 3]), stages, 5);
    auto const name = std::to_string(round);
    auto const chain = fold_layers(layers);
    staging_options const o{.stages = stages,
                            .capacity = capacity,
                            .in_flight = held,
                            .min_layers = static_cast<std::uint64_t>(round % 2),
                            .hidden_percent = round % 4 * 25};
    show("held_by_stage", name, held);
    show("fold_layers", name, chain);
    show("plan_stages", name, plan_stages(chain, o));
    show("plan_stages", name + ",layers", plan_stages<>(std::span<stage_layer const>(layers), o));
    show("plan_stages_in_sequence", name, plan_stages_in_sequence(chain, o));
    auto const chunks = round % 2 == 0 ? any_schedule(zbv_schedule{}) : any_schedule(interleaved_schedule{.chunks = 2});
    auto const held_at_once = held_by_chunk(chunks, stages, 2 * stages);
    show("held_by_chunk", name, held_at_once.stage_of, held_at_once.held);
    show("plan_chunks", name,
         plan_chunks(std::span<stage_layer const>(layers), held_at_once,
                     {.capacity = capacity, .min_layers = o.min_layers, .hidden_percent = o.hidden_percent}, {.work = 500'000}));
  }
  auto const model = transformer_preset("llama-3.1-8b");
  batch_shape const batch{.tokens = 8192, .squares = 20'000'000};
  auto const of_model = layers_of(model, {.spread = {.tensor = 4, .data = 8, .sequence_parallel = true, .zero = 1}});
  auto const layers = stage_layers_of(of_model, batch, batch);
  show("stage_layers_of", "llama-3.1-8b", layers);
  for (std::int64_t const gigabytes : {18, 30, 60}) {
    numbers const capacity(4, gigabytes * 1'000'000'000);
    auto const held = held_by_stage(one_f_one_b_schedule{}, 4, 16);
    show("plan_stages", "llama-3.1-8b," + std::to_string(gigabytes),
         plan_stages<>(std::span<stage_layer const>(layers), {.stages = 4, .capacity = capacity, .in_flight = held}));
  }
}

}  // namespace plan_hashes
