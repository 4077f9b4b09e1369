// SPDX-License-Identifier: Apache-2.0
#include <ballast/balance.hpp>

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

TEST_CASE("balance: nothing is allocated once the workspace is warm") {
  auto const items = golden_lengths();
  ballast::token_cost const size;
  ballast::balance_workspace<> ws;
  ballast::bulk_balance_workspace bulk;
  ballast::balance_runs runs;
  balanced_sets<> plan;
  for (auto const capacity : {std::int64_t{0}, std::int64_t{60000}}) {
    balance_options const o{.sets = 48, .capacity = capacity};
    auto const all = [&] {
      ballast::snake(items, o, dear, size, ws, plan);
      ballast::karmarkar_karp(items, o, dear, size, ws, plan);
      ballast::rate_matching(items, o, dear, dear, size, ws, plan);
      ballast::longest_processing_time(items, o, dear, size, ws, plan);
      ballast::refine(items, o, dear, size, ws, plan);
      ballast::balance(items, o, dear, size, ws, plan);
      ballast::bulk_longest_processing_time(items, o.sets, dear, bulk, runs, plan);
    };
    all();
    auto const before = allocations.load();
    all();
    CHECK(allocations.load() == before);
    CHECK(before > 0);
  }
}
