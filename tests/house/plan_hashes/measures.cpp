// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing.hpp>

#include "results.hpp"

namespace plan_hashes {

using namespace ballast;

inline void put(digest& d, vector_packs_needed const& n) { put(d, n.packs, n.bound, n.measure, n.argument); }
inline void put(digest& d, vector_near_optimal_plan const& p) {
  put(d, p.patterns, p.count, p.bound, p.duals, p.dual_capacity, p.complete);
}
inline void put(digest& d, measure_classes const& c) { put(d, c.measures, c.values, c.counts); }
inline void put(digest& d, capacity_choice const& c) {
  for (auto const& t : c.trials) put(d, t.capacity, t.packs);
  put(d, c.best, c.wanted);
}

namespace {

struct measured_case {
  char const* name;
  std::vector<numbers> columns;
  numbers capacity;
};
std::vector<measured_case> cases() {
  std::vector<measured_case> out{
      {"tiles_and_tokens", {{}, {}}, {9, 4096}},
      {"few_kinds", {{}, {}}, {12, 900}},
      {"three", {uniform(150, 0, 500, 21), uniform(150, 1, 60, 22), long_tailed(150, 1500, 23)}, {900, 130, 2000}},
      {"one", {uniform(200, 1, 1000, 24)}, {1000}}};
  splitmix64 draw(25);
  for (int i = 0; i < 300; ++i) {
    out[0].columns[0].push_back(between(0, 2, draw) * 2 + 1);
    auto const most = between(0, 7, draw) == 0 ? 1500 : 300;
    out[0].columns[1].push_back(256 * out[0].columns[0].back() + between(1, most, draw));
    auto const kind = between(1, 4, draw);
    out[1].columns[0].push_back(kind + 1);
    out[1].columns[1].push_back(500 / kind);
  }
  return out;
}

}  // namespace

void measures() {
  for (auto const& c : cases()) {
    sample_measures const samples(std::vector<std::span<std::int64_t const>>(c.columns.begin(), c.columns.end()));
    auto const classified = classify(samples);
    auto const& classes = classified.classes;
    show("classify", c.name, classes, classified.order, classified.begin);
    show("vector_lower_bound", c.name, vector_lower_bound(classes, c.capacity));
    show("incompatible_bound", c.name, incompatible_bound(classes, c.capacity));
    show("linear_program_bound", c.name, linear_program_bound(classes, c.capacity, {.work = 300'000}));
    show("plan_bin_completion", c.name, plan_bin_completion(classes, c.capacity));
    show("plan_vector_best_fit", c.name, plan_vector_best_fit(classes, c.capacity));
    show("plan_iterative_sampling", c.name,
         plan_iterative_sampling(classes, c.capacity, {.rounds = 10, .filter = full_packs(c.capacity)}, 3));
    show("plan_near_optimal_vector", c.name, plan_near_optimal(classes, c.capacity, {.work = 300'000}));

    auto tight = c.capacity;
    for (auto& most : tight) most = most * 2 / 5;
    std::pair<std::string, vector_packing_options> const variants[] = {
        {"plain", {.capacity = c.capacity}},
        {"max_samples=3", {.capacity = c.capacity, .max_samples = 3, .seed = 7}},
        {"pack_count_multiple=8", {.capacity = c.capacity, .pack_count_multiple = 8, .seed = 8}},
        {"set_aside", {.capacity = tight, .oversize = oversize::set_aside}},
        {"alone", {.capacity = tight, .max_samples = 4, .oversize = oversize::alone}}};
    for (auto const& [what, o] : variants) {
      auto const name = std::string(c.name) + ',' + what;
      show("bin_completion", name, bin_completion(samples, o));
      show("vector_best_fit", name, vector_best_fit(samples, o));
      show("iterative_sampling", name, iterative_sampling(samples, o, {.rounds = 10}));
      show("iterative_sampling_unfiltered", name, iterative_sampling(samples, o, {.rounds = 3, .filter = numbers(tight.size(), 1)}));
      show("near_optimal_vector", name, near_optimal(samples, o, {.work = 300'000}));
      show("pack_portfolio", name, pack_portfolio(samples, o, {.ranks = 4, .limits = {.work = 500'000}}));
      show("pack_vector", name, pack(samples, o));
    }
    portfolio_options const even{.members = {vector_packer::completion, vector_packer::iterative_sampling},
                                 .order = {portfolio_criterion::rank_distance, portfolio_criterion::packs},
                                 .ranks = 4,
                                 .limits = {.work = 500'000}};
    show("pack_portfolio", std::string(c.name) + ",rank_distance", pack_portfolio(samples, {.capacity = c.capacity}, even));
    if (c.columns.size() == 2)
      show("choose_capacities", c.name, choose_capacities(samples, {.ranks = 4, .tuning = {.start = 1024, .most_trials = 6}}));
  }
}

}  // namespace plan_hashes
