// SPDX-License-Identifier: Apache-2.0
#include <ballast/curriculum.hpp>

#include "levels.hpp"

namespace plan_hashes {

using namespace ballast;

void curriculum() {
  std::vector<curriculum_source> given{
      {.setting = {16384, 1, 28}, .steps = 290}, {.setting = {131072, 8, 29}, .steps = 76}, {.setting = {32768, 2, 5}, .steps = 0}};
  auto keyed = given;
  keyed[2].steps = 41;
  for (std::size_t s = 0; s < keyed.size(); ++s) keyed[s].keys = uniform(keyed[s].steps, -20, 20, 101 + s);
  keyed[0].per_epoch = {290, 100, 350};
  keyed[1].per_epoch = {10};
  std::pair<std::string, curriculum_order> const orders[] = {{"interleaved", curriculum_order::interleaved},
                                                             {"random", curriculum_order::random},
                                                             {"ascending", curriculum_order::ascending},
                                                             {"ascending_buckets", curriculum_order::ascending_buckets},
                                                             {"shuffled_buckets", curriculum_order::shuffled_buckets}};
  for (auto const& [name, order] : orders)
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      auto const of = name + ',' + std::to_string(epoch);
      show("plan_curriculum", of, plan_curriculum(given, {.order = order, .warm_up = 50, .seed = 5, .epoch = epoch}));
      show("plan_curriculum", of + ",keys",
           plan_curriculum(keyed, {.order = order, .warm_up = 20, .warm_up_share = 800, .buckets = 6, .epoch = epoch}));
    }
  show("largest_remainder", "1000", largest_remainder(numbers{5, 0, 17, 1, 8}, 1000));
  show("steps_of_passes", "keys", steps_of_passes(keyed, std::vector<std::uint32_t>{1500, 333, 100}));
}

}  // namespace plan_hashes
