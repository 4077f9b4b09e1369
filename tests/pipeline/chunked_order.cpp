// SPDX-License-Identifier: Apache-2.0
#include <ballast/pipeline/check.hpp>
#include <ballast/pipeline/chunked_order.hpp>
#include <ballast/pipeline/simulate.hpp>

#include "chained.hpp"
#include "support/rounds.hpp"

#include <cstdint>
#include <utility>

namespace test_pipeline_chunked_order {

using namespace ballast_test;
using namespace ballast;
using Catch::Matchers::WithinAbs;

TEST_CASE("chunked_order: published bubbles of ChunkFlow's example") {
  auto const order = chunked_order(4, chunkflow_chains());
  auto const t = simulate_order(order, chunkflow_work, true);
  CHECK(t.makespan == certificate{46, 42});
  CHECK_THAT(t.bubble(), WithinAbs(0.4783, 5e-5));
  CHECK(t.stages[0].peak_memory == 8);
  CHECK(describe(check_timeline(t, order.stage_of, 4, chunkflow_work, order.chains)) == "valid");

  // Chunks of 4: the three short samples in one, the long one in another.
  auto const two =
      simulate_order(chunked_order(4, chains_of({{0}, {1}})), [](auto, auto) { return stage_work{.forward = 4, .backward = 8}; });
  CHECK_THAT(two.bubble(), WithinAbs(0.60, 1e-12));

  // With the activations of one chunk (K = 1), the first half of the long sample is done forward twice. The paper prints 54.1 %.
  auto const one =
      simulate_order(order, [](auto, std::uint64_t m) { return stage_work{.forward = 2, .backward = 4, .recompute = m == 2 ? 2 : 0}; });
  CHECK(one.makespan.value == 54);
  CHECK_THAT(one.bubble(), WithinAbs(0.5185, 5e-5));
  CHECK_THAT(1 - 24.0 / 54, WithinAbs(0.5556, 5e-5));  // if repeated forwards count as waiting
}

TEST_CASE("chunked_order: that of 1F1B where nothing depends") {
  for (std::uint64_t stages = 1; stages <= 6; ++stages)
    for (std::uint32_t count = 1; count <= 9; ++count) {
      CAPTURE(stages, count);
      groups<std::uint32_t> alone;
      for (std::uint32_t m = 0; m < count; ++m) alone.members.push_back(m), alone.offsets.push_back(m + 1);
      auto order = chunked_order(stages, alone);
      order.chains.clear();
      REQUIRE(order == order_of(one_f_one_b_schedule{}, stages, count));
    }
}

TEST_CASE("chunked_order: never waits for ever, and no longer in turns than it must") {
  for (int seed = 0; seed < 3000; seed += round_step) {
    CAPTURE(seed);
    splitmix64 generator(static_cast<std::uint64_t>(seed));
    auto const stages = 1 + uniform_below(7, generator), count = 1 + uniform_below(16, generator);
    auto const chains = random_chains(count, 1 + uniform_below(9, generator), generator);
    auto const work = random_works(stages, count, seed % 3 == 0 ? 2 : 40, generator);
    auto const order = chunked_order(stages, chains);
    auto const t = simulate_order(order, work, true);  // throws for an order that waits for ever, or breaks a chain
    REQUIRE(describe(check_timeline(t, order.stage_of, count, work, chains)) == "valid");
    auto const needed = bytes_needed(chains, stages, work);
    std::uint64_t longest = 0;
    for (auto const& chain : chains) longest = (std::max)(longest, std::uint64_t{chain.size()});
    for (std::uint64_t s = 0; s < stages; ++s) {
      REQUIRE(t.stages[s].peak_memory >= needed[s]);
      std::uint64_t held = 0, most = 0;
      for (auto i = order.offsets[s]; i < order.offsets[s + 1]; ++i) {
        held += order.tasks[i].pass == pipeline_pass::forward ? 1U : ~std::uint64_t{0};
        most = (std::max)(most, held);
      }
      REQUIRE(most <= stages - s + longest - 1);
    }
  }
}

TEST_CASE("chunked_order: chains that are none are refused") {
  CHECK(refusal([] { return chunked_order(0, chunkflow_chains()); }) == "stages = 0 must be in 1 ... 2^32 - 1");
  CHECK(refusal([] { return chunked_order(2, {}); }) == "chains holds 0 micro-batches: there must be 1 ... 2^32 - 1");
  CHECK(refusal([] { return chunked_order(2, chains_of({{0, 1}, {1}})); }) == "chains.members[2] = 1 is listed twice");
  CHECK(refusal([] { return chunked_order(2, chains_of({{0, 3}, {1}})); }) == "chains.members[1] = 3 is no micro-batch: there are 3");
  auto broken = chunkflow_chains();
  broken.offsets[1] = 3;
  CHECK(refusal([&] { return chunked_order(2, broken); }) == "chains.offsets[2] breaks the rise from 0 to the number of micro-batches");
  broken.offsets.back() = 3;
  CHECK(refusal([&] { return chunked_order(2, broken); }) == "chains.offsets must rise from 0 to the number of micro-batches, 4");
}

}  // namespace test_pipeline_chunked_order
