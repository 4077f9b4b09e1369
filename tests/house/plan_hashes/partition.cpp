// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition.hpp>

#include "stages.hpp"

namespace plan_hashes {

using namespace ballast;

template <class Index>
void put(digest& d, balanced_stages<Index> const& s) {
  put(d, s.partition, s.squares);
}
template <class Index>
void put(digest& d, lean_stages<Index> const& s) {
  put(d, s.partition, s.volume);
}
inline void put(digest& d, bottleneck_bound const& b) { put(d, b.cost, b.bound); }

namespace {

void cut_by_all(std::string const& name, numbers const& layers, numbers const& volume, partition_options const& o) {
  show("min_max_partition", name, min_max_partition(layers, o));
  show("min_max_partition", name + ",square", min_max_partition(layers, o, quadratic_cost{.linear = 1, .quadratic = 1}));
  show("least_squares_partition", name, least_squares_partition(layers, o));
  show("least_volume_partition", name, least_volume_partition(layers, volume, o));
}

}  // namespace

void partition() {
  numbers equal(48, 30);
  equal.front() = 4;
  equal.back() = 95;
  std::pair<std::string, numbers> const cases[] = {{"uniform", uniform(60, 1, 900, 61)},
                                                   {"few_distinct", few_distinct(80, 50, 62)},
                                                   {"equal", equal},
                                                   {"zeros", uniform(40, 0, 2, 63)},
                                                   {"five", uniform(5, 1, 9, 64)}};
  numbers const unit_time{2, 3, 3, 2, 5, 2, 4, 3};
  for (auto const& [name, layers] : cases) {
    auto const n = layers.size();
    auto const volume = uniform(n - 1, 0, 700, 65), transfer = uniform(n - 1, 0, 20, 66), size = uniform(n, 1, 100, 67);
    std::int64_t bytes = 0;
    for (auto const s : size) bytes += s;
    numbers const capacity(8, bytes / 8 + 60);
    cut_by_all(name + ",stages=4", layers, volume, {.stages = 4});
    cut_by_all(name + ",stages=8,unit_time", layers, volume, {.stages = 8, .unit_time = unit_time});
    cut_by_all(name + ",min_layers=3", layers, volume, {.stages = 6, .min_layers = 3});
    cut_by_all(name + ",min_layers=0,min_weighted=1", layers, volume, {.stages = 9, .min_layers = 0, .min_weighted = 1});
    cut_by_all(name + ",capacity", layers, volume, {.stages = 8, .size = size, .capacity = capacity});
    cut_by_all(name + ",transfer", layers, volume, {.stages = 5, .transfer = transfer});
    auto const best = min_max_partition(layers, {.stages = 4}).bottleneck.value;
    show("least_squares_partition", name + ",limit", least_squares_partition(layers, {.stages = 4, .limit = best + best / 10}));
    show("least_volume_partition", name + ",limit", least_volume_partition(layers, volume, {.stages = 4, .limit = best + best / 10}));

    numbers before{0};
    for (auto const l : layers) before.push_back(before.back() + l);
    auto const cost = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t stage) {
      auto const time = before[static_cast<std::size_t>(end)] - before[static_cast<std::size_t>(begin)];
      return time > 9000 ? unaffordable : time * static_cast<std::int64_t>(stage % 3 + 1);
    };
    show("min_max_partition", name + ",stage_cost", min_max_partition(n, {.stages = 5}, cost));
    show("partition_lower_bound", name, partition_lower_bound(before, *std::max_element(layers.begin(), layers.end()), 5));
    show("unequal_lower_bound", name, unequal_lower_bound(before.back(), unit_time));
    show("virtual_stages", name + ",4x2", virtual_stages(layers, {.devices = 4, .chunks = 2, .min_layers = 0, .work = 20'000}));
    show("virtual_stages", name + ",3x3", virtual_stages(layers, {.devices = 3, .chunks = 3, .work = 20'000, .seed = 5}));
  }
}

}  // namespace plan_hashes
