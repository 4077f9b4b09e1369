// SPDX-License-Identifier: Apache-2.0
#include <ballast/partition.hpp>

#include "suite.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

using namespace ballast_test;

namespace {
std::atomic<std::size_t> allocations{0};
}
void* operator new(std::size_t bytes) {
  ++allocations;
  if (auto* const p = std::malloc(bytes != 0 ? bytes : 1)) return p;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  return std::malloc(bytes != 0 ? bytes : 1);
}  // sanitizers bring their own
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }

TEST_CASE("partition: a refused call leaves the plan as it was") {
  numbers const good{5, 3, 2, 9}, negative{5, -3, 2, 9}, huge{std::int64_t{1} << 62, std::int64_t{1} << 62}, two{1, 1};
  ballast::partition_workspace workspace;
  ballast::run_partition_workspace of_runs;
  ballast::staged<> out;
  ballast::token_cost const token;
  min_max_partition(good, {.stages = 2}, token, workspace, out);
  auto const untouched = [&](auto const& call) { return refused_untouched(out, call); };
  for (auto const& [layers, o] :
       {std::pair(good, partition_options{}), std::pair(negative, partition_options{.stages = 2}),
        std::pair(huge, partition_options{.stages = 2}), std::pair(good, partition_options{.stages = 2, .unit_time = negative}),
        std::pair(good, partition_options{.stages = 2, .size = good, .capacity = negative}),
        std::pair(good, partition_options{.stages = 2, .size = good}), std::pair(good, partition_options{.stages = 2, .capacity = two}),
        std::pair(good, partition_options{.stages = 2, .transfer = two})}) {
    CHECK(untouched([&] { min_max_partition(layers, o, token, workspace, out); }));
    CHECK(untouched([&] { min_max_partition(ballast::fold_runs(layers), o, token, of_runs, out); }));
  }
  auto const late = [](std::uint64_t begin, std::uint64_t end, std::uint64_t stage) {  // valid but for the last stages of a cut
    return stage == 2 ? std::int64_t{-1} : static_cast<std::int64_t>(end - begin);
  };
  CHECK(untouched([&] { min_max_partition(std::uint64_t{9}, {.stages = 3}, late, workspace, out); }));
}

TEST_CASE("partition: nothing is allocated once the workspace is warm") {
  ballast::splitmix64 draw(1);
  auto const layers = draw_numbers(300, 0, 5, draw);
  auto const speed = draw_numbers(16, 1, 3, draw);
  auto const room = draw_numbers(16, 60, 90, draw);
  auto const transfer = draw_numbers(299, 0, 4, draw);
  auto const runs = ballast::fold_runs(layers);
  auto const cost = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t stage) { return (end - begin) * (stage + 1); };
  ballast::partition_workspace workspace;
  ballast::run_partition_workspace of_runs;
  ballast::staged<> out;
  auto const all = [&] {
    for (auto const& o : {partition_options{.stages = 16}, partition_options{.stages = 16, .min_layers = 9, .min_weighted = 5},
                          partition_options{.stages = 16, .unit_time = speed, .size = layers, .capacity = room, .transfer = transfer}})
      min_max_partition(layers, o, ballast::token_cost{}, workspace, out);
    min_max_partition(runs, {.stages = 16, .min_weighted = 1}, ballast::token_cost{}, of_runs, out);
    min_max_partition(std::uint64_t{300}, {.stages = 16, .min_layers = 3}, cost, workspace, out);
  };
  all();
  auto const before = allocations.load();
  all();
  CHECK(allocations.load() == before);
  CHECK(before > 0);
}
