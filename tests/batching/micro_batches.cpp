// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/check.hpp>
#include <ballast/batching/micro_batches.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <cstdint>
#include <vector>

namespace test_batching_micro_batches {

using namespace ballast_test;
using ballast::synchronisation;

TEST_CASE("micro_batches: one step, a multiple for every rank, no cap broken, no sample lost") {
  ballast::splitmix64 draw(12);
  for (int round = 0; round < 200; ++round) {
    auto const l = random_lengths(static_cast<std::size_t>(between(1, 200, draw)), 1000, draw);
    ballast::batching_options const o{.capacity = between(1000, 3000, draw),
                                      .ranks = static_cast<std::uint64_t>(between(1, 8, draw)),
                                      .micro_batches = static_cast<std::uint64_t>(between(1, 4, draw)),
                                      .synchronisation = static_cast<synchronisation>(round % 2)};
    auto const plan = ballast::micro_batches(l, o);
    CAPTURE(round, l.size(), o.capacity, o.ranks, o.micro_batches);
    CHECK(ballast::describe(ballast::check_batching(plan, l, o)) == "valid");
    CHECK((plan.steps() == 1 && plan.micro_batches % o.micro_batches == 0));
    // Never more micro-batches than twice what the tokens need, and one multiple: two neighbours in best fit hold more than one cap.
    std::int64_t tokens = 0;
    for (auto x : l) tokens += x;
    auto const need = static_cast<std::uint64_t>(tokens / o.capacity + 1);
    CHECK(plan.micro_batches * o.ranks <= 2 * need + 2 * o.ranks * o.micro_batches);
  }
}

TEST_CASE("micro_batches: level where nothing forbids it; the smallest cost and the weakest range do") {
  ballast::splitmix64 draw(13);
  std::vector<std::int64_t> l(1024);
  for (auto& x : l) x = between(50, 800, draw);
  ballast::batching_options o{.capacity = 8192, .ranks = 8};
  CHECK(ballast::micro_batches(l, o).slowest.gap() < 0.002);
  o.synchronisation = synchronisation::per_micro_batch;
  CHECK(ballast::micro_batches(l, o).slowest.gap() < 0.02);
  CHECK(ballast::micro_batches(weakest_lengths(l), o, smallest_cost(2)).slowest.gap() < 0.02);
  CHECK(ballast::micro_batches(std::vector<int>{}, o).steps() == 0);
}

}  // namespace test_batching_micro_batches
