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

TEST_CASE("partition: nothing is allocated once the workspace is warm") {
  ballast::splitmix64 draw(1);
  auto const layers = draw_numbers(300, 0, 5, draw);
  auto const speed = draw_numbers(16, 1, 3, draw);
  auto const room = draw_numbers(16, 60, 90, draw);
  auto const transfer = draw_numbers(299, 0, 4, draw);
  auto const cost = [&](std::uint64_t begin, std::uint64_t end, std::uint64_t stage) { return (end - begin) * (stage + 1); };
  ballast::partition_workspace workspace;
  ballast::staged<> out;
  auto const all = [&] {
    for (auto const& o : {partition_options{.stages = 16}, partition_options{.stages = 16, .min_layers = 9, .min_weighted = 5},
                          partition_options{.stages = 16, .unit_time = speed, .size = layers, .capacity = room, .transfer = transfer}})
      min_max_partition(layers, o, ballast::token_cost{}, workspace, out);
    min_max_partition(std::uint64_t{300}, {.stages = 16, .min_layers = 3}, cost, workspace, out);
  };
  all();
  auto const before = allocations.load();
  all();
  CHECK(allocations.load() == before);
  CHECK(before > 0);
}
