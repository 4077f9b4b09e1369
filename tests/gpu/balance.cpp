// SPDX-License-Identifier: Apache-2.0
// Deals and figures are the host's: many batches at once, samples named from a plan on classes, and scores of candidate plans.
#include "support/backends.hpp"
#include "support/distributions.hpp"

#include <ballast/balance/bulk.hpp>
#include <ballast/balance/longest_processing_time.hpp>
#include <ballast/balance/options.hpp>
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/gpu/balance/bulk.cuh>
#include <ballast/gpu/balance/longest_processing_time.cuh>
#include <ballast/gpu/balance/score.cuh>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

namespace gpu = ballast::gpu;
using ballast_test::part;

namespace {

constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
constexpr ballast::quadratic_cost cost{.linear = 24576, .quadratic = 1};

std::vector<std::int64_t> costs_of(std::vector<std::int64_t> lengths) {
  for (auto& l : lengths) l = cost(l);
  return lengths;
}

/// The sets as one number for each item.
template <class Index>
std::vector<std::uint32_t> set_of_each(ballast::groups<Index> const& sets, std::size_t items) {
  std::vector<std::uint32_t> set_of(items, gpu::no_set);
  for (std::size_t s = 0; s < sets.size(); ++s)
    for (auto const i : sets[s]) set_of[i] = static_cast<std::uint32_t>(s);
  return set_of;
}

template <class Index, class On>
void expect_deal(On on, std::vector<std::int64_t> const& costs, std::vector<std::uint64_t> const& offsets,
                 ballast::balance_options const& options) {
  auto const batches = offsets.size() - 1, sets = static_cast<std::size_t>(options.sets);
  std::vector<std::uint32_t> wanted;
  std::vector<std::int64_t> wanted_loads;
  for (std::size_t b = 0; b < batches; ++b) {
    auto const items = std::span(costs).subspan(offsets[b], offsets[b + 1] - offsets[b]);
    auto const plan = ballast::longest_processing_time(items, options);
    auto const mine = set_of_each(plan.sets, items.size());
    wanted.insert(wanted.end(), mine.begin(), mine.end());
    wanted_loads.resize(sets * (b + 1));
    for (std::size_t i = 0; i < items.size(); ++i)
      if (mine[i] != gpu::no_set) wanted_loads[sets * b + mine[i]] += items[i];
  }
  auto const costs_in = gpu::send(on, costs);
  auto const offsets_in = gpu::send(on, offsets);
  gpu::array<std::uint32_t, On> const set_of(on, costs.size());
  gpu::array<std::int64_t, On> const loads(on, batches * sets);
  gpu::cost_batches const in{costs_in.data(), costs.size(), offsets_in.data(), batches};
  auto const name = std::to_string(batches) + " batches of " + std::to_string(costs.size()) + " items, " + std::to_string(sets) + " sets: ";
  for (int run = 0; run < 2; ++run) {
    gpu::longest_processing_time<Index>(on, in, options, set_of.data(), loads.data());
    ballast_test::expect_equal(gpu::fetch(on, set_of), wanted, name + "set_of");
    ballast_test::expect_equal(gpu::fetch(on, loads), wanted_loads, name + "loads");
  }
}

template <class On>
void test_longest_processing_time(On on) {
  constexpr auto aside = ballast::misfit::set_aside;
  for (int d = 0; d < ballast_test::distributions; ++d) {
    for (std::uint64_t const sets : {1U, 2U, 31U, 32U, 33U, 300U}) {
      for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 1000U}) {
        auto const costs = costs_of(ballast_test::lengths_of(d, n, 8192, sets));
        std::vector<std::uint64_t> const alone{0, n}, some{0, n / 3, n / 3, n / 2, n};
        expect_deal<std::uint32_t>(on, costs, d == 0 ? alone : some, {.sets = sets});
        expect_deal<std::uint32_t>(on, costs, some, {.sets = sets, .equal_counts = true});
        for (std::uint64_t const items : {1U, 3U})
          expect_deal<std::uint32_t>(on, costs, some, {.sets = sets, .max_items = items, .misfit = aside});
      }
    }
  }
  // batches about the size that a block sorts at once, alone and beside others, with ties
  for (std::size_t const n : {4095U, 4096U, 4097U})
    for (std::uint64_t const distinct : {1U, 3U, 100'000U}) {
      ballast::splitmix64 draw(n + distinct);
      std::vector<std::int64_t> costs(n + 8201);
      for (auto& c : costs) c = static_cast<std::int64_t>(draw() % distinct);
      expect_deal<std::uint32_t>(on, {costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(n)}, {0, n}, {.sets = 64});
      expect_deal<std::uint32_t>(on, costs, {0, n, n + 1, n + 1, n + 8201}, {.sets = 65, .equal_counts = distinct == 3});
    }
  for (std::size_t const n : {255U, 256U, 257U, 511U, 512U, 513U, 1025U})  // smaller ones beside many that are still smaller
    for (std::uint64_t const sets : {3U, 64U, 257U}) {
      auto const costs = costs_of(ballast_test::lengths_of(0, n + 100, 64, n));
      std::vector<std::uint64_t> offsets{0, n};
      for (std::uint64_t i = 1; i <= 100; ++i) offsets.push_back(n + i);
      expect_deal<std::uint64_t>(on, costs, offsets, {.sets = sets});
      expect_deal<std::uint32_t>(on, costs, offsets, {.sets = sets, .max_items = 2, .misfit = aside});
    }
  for (std::uint64_t sets = 1; sets <= 65; ++sets) {
    auto const costs = costs_of(ballast_test::lengths_of(static_cast<int>(sets % 3), 400, 300, sets));
    expect_deal<std::uint32_t>(on, costs, {0, 70, 400}, {.sets = sets, .equal_counts = sets % 2 == 0});
  }
  auto const costs = costs_of(ballast_test::lengths_of(0, 100'000, 131'072));
  std::vector<std::uint64_t> offsets;
  for (std::size_t b = 0; b <= 25; ++b) offsets.push_back(4000 * b);
  expect_deal<std::uint64_t>(on, costs, offsets, {.sets = 64});
  std::vector<std::int64_t> large(300), equal(1000, 7);  // loads that share no word with a set
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = most / 301 - static_cast<std::int64_t>(i % 7);
  expect_deal<std::uint32_t>(on, large, {0, 300}, {.sets = 64});
  expect_deal<std::uint32_t>(on, large, {0, 300}, {.sets = 64, .max_items = 4, .misfit = aside});
  expect_deal<std::uint32_t>(on, large, {0, 1, 300}, {.sets = 7, .equal_counts = true});
  large[1] = most / 2 + 1;
  for (std::size_t i = 2; i < large.size(); ++i) large[i] /= 2;
  expect_deal<std::uint32_t>(on, large, {0, 300}, {.sets = 64});
  for (std::uint64_t const sets : {2870U, 4096U})  // a little less shared memory than a block has unasked, and more
    expect_deal<std::uint32_t>(on, equal, {0, 1000}, {.sets = sets});
  equal.assign(100, 0);
  expect_deal<std::uint32_t>(on, equal, {0, 0, 100}, {.sets = 3});
}

template <class On>
void test_bulk(On on, std::vector<std::int64_t> const& lengths, std::uint64_t sets, std::int64_t longest) {
  auto const n = lengths.size();
  ballast::bulk_balance_workspace workspace;
  ballast::balance_runs runs;
  ballast::balanced_sets<> plan;
  ballast::bulk_longest_processing_time(lengths, sets, cost, workspace, runs, plan);
  auto const wanted = set_of_each(plan.sets, n);

  auto const in = gpu::send(on, std::vector<std::int32_t>(lengths.begin(), lengths.end()));
  gpu::array<std::uint32_t, On> const set_of(on, n);
  for (int run = 0; run < 2; ++run) {
    auto const found = gpu::bulk_longest_processing_time(on, in.data(), n, longest, sets, cost, set_of.data());
    ballast_test::expect(found.runs == runs.runs && found.loads == runs.loads && found.load == runs.load, "the plan on classes");
    ballast_test::expect_equal(gpu::fetch(on, set_of), wanted, "bulk set_of " + std::to_string(n));
  }
  // a cost that falls with the length: its plan is in another order than the samples
  auto const falling = [](std::int64_t l) { return 200'000 - l; };
  ballast::bulk_longest_processing_time(lengths, sets, falling, workspace, runs, plan);
  auto const sorted = gpu::send(on, gpu::sorted_set_runs(runs, ballast::fold(lengths)));
  gpu::array<std::uint64_t, On> const bad(on, 1);
  call(on, "expand_sets", [&](void* temp, std::size_t& bytes) {
    return gpu::expand_sets<std::uint64_t>(on, temp, bytes, in.data(), n, longest, sorted.data(), sorted.size(), set_of.data(), bad.data());
  });
  ballast_test::expect_equal(gpu::fetch(on, set_of), set_of_each(plan.sets, n), "expanded set_of " + std::to_string(n));
  ballast_test::expect(gpu::fetch(on, bad)[0] == ~std::uint64_t{0}, "a plan for these samples");
}

template <class On>
void test_scores(On on, std::size_t items, std::uint64_t sets, std::size_t candidates) {
  ballast::splitmix64 draw(items + sets);
  auto const costs = costs_of(ballast_test::lengths_of(1, items, 8192));
  std::vector<std::uint32_t> set_of(items * candidates);
  std::vector<std::int64_t> loads(static_cast<std::size_t>(sets));
  std::vector<gpu::load_figures> wanted;
  for (std::size_t c = 0; c < candidates; ++c) {
    loads.assign(loads.size(), 0);
    for (std::size_t i = 0; i < items; ++i) {
      auto const s = draw() % 50 == 0 ? gpu::no_set : static_cast<std::uint32_t>(ballast::uniform_below(sets, draw));
      set_of[items * c + i] = s;
      if (s != gpu::no_set) loads[s] += costs[i];
    }
    auto const figures = ballast::balance_of_steps(loads, loads.size());
    wanted.push_back({figures.slowest, *std::min_element(loads.begin(), loads.end()), figures.total});
    ballast_test::expect(wanted.back().idle(sets) == figures.idle(), "idle");
  }
  auto const costs_in = gpu::send(on, costs);
  auto const set_of_in = gpu::send(on, set_of);
  gpu::array<gpu::load_figures, On> const out(on, candidates);
  for (int run = 0; run < 2; ++run) {
    gpu::score(on, {costs_in.data(), items, set_of_in.data(), candidates, sets}, out.data());
    ballast_test::expect(gpu::fetch(on, out) == wanted, "scores of " + std::to_string(candidates));
  }
}

template <class On>
void test_bad_data(On on) {
  std::vector<std::int64_t> costs(100, most / 60);
  auto const offsets = gpu::send(on, std::vector<std::uint64_t>{0, 10, 100});
  auto const set_of = gpu::send(on, std::vector<std::uint32_t>(200));
  gpu::array<std::int64_t, On> const loads(on, 2 * 8);
  gpu::array<std::uint64_t, On> const bad(on, 2);
  gpu::array<gpu::load_figures, On> const scores(on, 2);
  auto const deal = [&](std::vector<std::int64_t> const& values) {
    auto const in = gpu::send(on, values);
    gpu::longest_processing_time(on, {in.data(), 100, offsets.data(), 2}, {.sets = 8}, set_of.data(), loads.data());
  };
  auto const rate = [&](std::vector<std::int64_t> const& values, std::vector<std::uint32_t> const& sets) {
    auto const in = gpu::send(on, values);
    auto const plans = gpu::send(on, sets);
    gpu::score(on, {in.data(), 100, plans.data(), 2, 8}, scores.data());
  };
  auto const too_much = " = " + std::to_string(most / 60) + " brings the sum of costs to 2^63 or more";
  ballast_test::expect_refusal("items[70]" + too_much, [&] { deal(costs); });
  ballast_test::expect_refusal("items[60]" + too_much, [&] { rate(costs, std::vector<std::uint32_t>(200)); });
  costs[33] = -5;
  auto const negative = "items[33] = -5 has a cost that is negative, not a number or too large for 63 bits";
  ballast_test::expect_refusal(negative, [&] { deal(costs); });
  ballast_test::expect_refusal(negative, [&] { rate(costs, std::vector<std::uint32_t>(200)); });
  costs.assign(100, 1);
  std::vector<std::uint32_t> sets(200, 7);
  rate(costs, sets);
  sets[150] = 8;
  ballast_test::expect_refusal("set_of[150] = 8 must be below 8, the number of sets", [&] { rate(costs, sets); });

  auto const in = gpu::send(on, costs);
  auto const with = [&](ballast::balance_options const& options, void* temp, std::size_t bytes) {
    return gpu::longest_processing_time(on, temp, bytes, {in.data(), 100, offsets.data(), 2}, options, set_of.data(), loads.data(),
                                        bad.data());
  };
  std::size_t bytes = 0;
  gpu::check(gpu::longest_processing_time(on, nullptr, bytes, {in.data(), 100, offsets.data(), 2}, {.sets = 8}, set_of.data(), loads.data(),
                                          bad.data()),
             "size");
  gpu::array<std::byte, On> const temp(on, bytes);
  ballast_test::expect(with({.sets = 8}, temp.data(), bytes) == typename On::error_type{}, "enough");
  ballast_test::expect(with({.sets = 8}, temp.data(), bytes - 1) == On::invalid_value, "a byte too few");
  ballast_test::expect(with({.sets = 8}, temp.data() + 8, bytes) == On::invalid_value, "a workspace that is not aligned");
  ballast_test::expect(with({.sets = 0}, temp.data(), bytes) == On::invalid_value, "no set");
  ballast_test::expect(with({.sets = gpu::most_sets + 1}, temp.data(), bytes) == On::invalid_value, "too many sets");
  ballast_test::expect(with({.sets = 8, .capacity = 100}, temp.data(), bytes) == On::invalid_value, "a capacity");
  ballast_test::expect(with({.sets = 8, .max_items = 20}, temp.data(), bytes) == On::invalid_value, "a limit without a policy");

  std::vector<std::int64_t> lengths{5, 9, 0, 5};
  auto const bulk = [&](std::int64_t longest) {
    auto const data = gpu::send(on, lengths);
    (void)gpu::bulk_longest_processing_time(on, data.data(), 4, longest, 2, cost, set_of.data());
  };
  ballast_test::expect_refusal("lengths[1] = 9 is not in 1 ... 8", [&] { bulk(8); });
  ballast_test::expect_refusal("lengths[2] = 0 is not in 1 ... 9", [&] { bulk(9); });
  ballast_test::expect_refusal("longest = 0 must be in 1 ... 2^24", [&] { bulk(0); });

  // plans for other samples
  lengths = {5, 9, 6, 5};
  auto const wrong = [&](ballast::histogram const& classes) {
    auto const runs = gpu::send(on, gpu::sorted_set_runs(ballast::bulk_longest_processing_time(classes, 2), classes));
    auto const data = gpu::send(on, lengths);
    call(on, "expand_sets", [&](void* at, std::size_t& size) {
      return gpu::expand_sets(on, at, size, data.data(), lengths.size(), 9, runs.data(), runs.size(), set_of.data(), bad.data());
    });
    return gpu::fetch(on, bad)[0];
  };
  ballast_test::expect(wrong({{5, 6, 9}, {2, 1, 1}}) == gpu::none_bad, "the right plan");
  ballast_test::expect(wrong({{5, 6, 9}, {1, 1, 1}}) == 3, "a plan without place for sample 3");
  ballast_test::expect(wrong({{5, 6, 9}, {3, 1, 1}}) == 4, "a plan with a place left");
  ballast_test::expect(wrong({{5, 7, 9}, {2, 1, 1}}) == 2, "a plan with another length");
  lengths.clear();
  ballast_test::expect(wrong({{5}, {3}}) == 0, "a plan for samples, but there are none");
  ballast_test::expect(wrong({}) == gpu::none_bad, "no plan for no samples");
  ballast_test::expect_refusal("the runs of class 0 hold 1 of 2 samples",
                               [] { (void)gpu::sorted_set_runs({{{0, 0, 1}}, {}, {}, {}}, {{5}, {2}}); });
  ballast_test::expect_refusal("a run holds class 1 of 1", [] { (void)gpu::sorted_set_runs({{{1, 0, 1}}, {}, {}, {}}, {{5}, {1}}); });
}

// What the twin and its host say of random items, some of which are bad.
template <class On>
void test_as_host(On on) {
  ballast::splitmix64 draw(34);
  int refused = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> costs(draw() % 12);
    for (auto& c : costs)
      c = draw() % 12 == 0 ? ballast_test::one_of<std::int64_t>(draw, {-1, most, most / 2}) : static_cast<std::int64_t>(draw() % 100);
    ballast::balance_options const o{.sets = ballast_test::one_of<std::uint64_t>(draw, {1, 3, 3, 8, 0}), .equal_counts = draw() % 2 == 0};
    auto const in = gpu::send(on, costs);
    auto const offsets = gpu::send(on, std::vector<std::uint64_t>{0, costs.size()});
    gpu::array<std::uint32_t, On> const set_of(on, costs.size());
    gpu::array<std::int64_t, On> const loads(on, 8);
    refused += ballast_test::expect_as_host(
        [&] { return gpu::longest_processing_time(on, {in.data(), costs.size(), offsets.data(), 1}, o, set_of.data(), loads.data()), 0; },
        [&] { return ballast::longest_processing_time(costs, o); }, "longest_processing_time in round " + std::to_string(round));
  }
  ballast_test::expect(refused > 40 && refused < 160, std::to_string(refused) + " of 200 refused");
}

}  // namespace

int main(int argc, char** argv) {
  return ballast_test::run_everywhere(argc, argv, part{"longest_processing_time", [](auto on) { test_longest_processing_time(on); }},
                                      part{"bulk",
                                           [](auto on) {
                                             for (int d = 0; d < ballast_test::distributions; ++d) {
                                               for (std::size_t const n : {0U, 1U, 31U, 32U, 33U, 1000U})
                                                 test_bulk(on, ballast_test::lengths_of(d, n, 8192), 7, 8192);
                                               test_bulk(on, ballast_test::lengths_of(d, 100'000, 131'072), 64, 131'072);
                                             }
                                             test_bulk(on, ballast_test::lengths_of(0, 1'000'000, 8192), 64, 8192);
                                           }},
                                      part{"score",
                                           [](auto on) {
                                             for (std::size_t const items : {0U, 1U, 33U, 1000U})
                                               for (std::uint64_t const sets : {1U, 8U, 500U}) test_scores(on, items, sets, 9);
                                             test_scores(on, 4096, 64, 100);
                                           }},
                                      part{"bad_data", [](auto on) {
                                             test_bad_data(on);
                                             test_as_host(on);
                                           }});
}
