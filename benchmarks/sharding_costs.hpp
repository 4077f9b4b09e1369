// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "long_batches.hpp"

#include <ballast/core/random.hpp>
#include <ballast/cost/sample_degree_cost.hpp>
#include <ballast/sharding.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <vector>

// `bench_sharding --costs`: samples whose costs are not a function of their lengths. Twelve batches of 512 samples on 64 ranks, three of
// each of four sets of lengths, modelled; beside the plan of the mean cost by length, and beside the best groups of one size with the true
// costs.

namespace sharding_costs {

using numbers = std::vector<std::int64_t>;

/// Work of each sample in thousandths of that of the model, and the mean of it.
struct kind {
  char const* name;
  std::int64_t (*linear)(ballast::splitmix64&);
  std::int64_t (*square)(ballast::splitmix64&);
  std::int64_t mean_linear, mean_square;
};
inline std::int64_t whole(ballast::splitmix64&) { return 1000; }
inline kind const kinds[]{
    {"by length", whole, whole, 1000, 1000},
    {"5 to 100 % of the pairs", whole, [](ballast::splitmix64& draw) { return 50 + static_cast<std::int64_t>(draw() % 951); }, 1000, 525},
    {"1, 2, 4, 8 or 16 images", whole, [](ballast::splitmix64& draw) { return std::int64_t{1000} >> draw() % 5; }, 1000, 387},
    {"half with 1 to 5 times the work by token",
     [](ballast::splitmix64& draw) { return draw() % 2 == 0 ? 1000 : 1000 + static_cast<std::int64_t>(draw() % 4001); }, whole, 2000, 1000},
};

/// Geometric means in percent over the plan's bound, and the worst batch.
class gaps {
 public:
  void add(std::int64_t value, std::int64_t bound) {
    auto const ratio = static_cast<double>(value) / static_cast<double>(bound);
    sum_ += std::log(ratio);
    worst_ = (std::max)(worst_, ratio);
    ++count_;
  }
  void print() const { std::printf(" %.1f (%.0f) |", 100 * (std::exp(sum_ / count_) - 1), 100 * (worst_ - 1)); }

 private:
  double sum_ = 0, worst_ = 1;
  int count_ = 0;
};

inline bool print_costs() {
  std::puts(
      "| work of a sample | model | `plan_shards` | of mean costs | one size | time to plan, over that by length "
      "|\n|---|---|---|---|---|---|");
  for (auto const& model : long_batches::models) {
    double by_length_ms = 0;
    for (auto const& of : kinds) {
      ballast::splitmix64 draw(11);
      gaps ours, blind, one_size;
      double ms = 0;
      for (auto const& set : long_batches::sets)
        for (auto const& lengths : set.file == nullptr ? long_batches::draw(set, 3, 512, 131072) : std::vector<numbers>{}) {
          numbers linear, square;
          for (std::size_t i = 0; i < lengths.size(); ++i) {
            linear.push_back(model.cost.linear / 1000 * of.linear(draw));
            square.push_back(model.cost.square * of.square(draw) / 1000);
          }
          ballast::sample_degree_cost const cost{model.cost, linear, square};
          auto mean = model.cost;
          mean.linear = mean.linear / 1000 * of.mean_linear;
          mean.square = mean.square * of.mean_square / 1000;
          auto const o = model.options(64, ballast::execution::mixed);
          auto const begin = std::clock();
          for (int k = 0; k < 10; ++k) (void)plan_shards(lengths, o, cost);
          ms += static_cast<double>(std::clock() - begin);
          auto const plan = plan_shards(lengths, o, cost);
          if (!check_shards(plan, lengths, o).valid() || time_shards(plan, cost, o.cost_per_pass).makespan != plan.time.value) return false;
          ours.add(plan.time.value, plan.time.lower_bound);
          blind.add(time_shards(plan_shards(lengths, o, mean), cost, o.cost_per_pass).makespan, plan.time.lower_bound);
          one_size.add(homogeneous_shards(lengths, o, cost).time.value, plan.time.lower_bound);
        }
      if (by_length_ms == 0) by_length_ms = ms;
      std::printf("| %s | %s |", of.name, model.name);
      ours.print();
      blind.print();
      one_size.print();
      std::printf(" %.1f |\n", ms / by_length_ms);
    }
  }
  return true;
}

}  // namespace sharding_costs
