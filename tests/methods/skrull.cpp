// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/methods/skrull.hpp>
#include <ballast/sharding/check.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_methods_skrull {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

namespace {

/// Lengths with the shares of ChatQA2-Long-SFT up to 1K, 4K, 8K and 32K tokens in the paper's table 1, uniform in between.
numbers long_context(std::size_t count, splitmix64& draw) {
  numbers out(count);
  for (auto& l : out) {
    auto const share = draw() % 10'000;
    l = share < 2192   ? between(32, 1024, draw)
        : share < 3148 ? between(1025, 4096, draw)
        : share < 4043 ? between(4097, 8192, draw)
        : share < 9986 ? between(8193, 32768, draw)
                       : between(32769, 99000, draw);
  }
  return out;
}

std::int64_t most_tokens(shards<> const& plan) {
  std::int64_t most = 0;
  for (std::size_t p = 0; p < plan.passes(); ++p) {
    std::int64_t tokens = 0;
    for (auto const& held : plan.of_pass(p)) tokens += held.end - held.begin;
    most = (std::max)(most, tokens);
  }
  return most;
}

skrull::run table_3() { return {.model = skrull::shape_named("qwen2.5-0.5b"), .groups = 1, .ranks = 8}; }

}  // namespace

TEST_CASE("skrull: the schedule is within memory, and usually faster than sharing every sample", "[property]") {
  splitmix64 draw(4);
  int faster = 0;
  for (int round = 0; round < 20; ++round) {
    skrull::run by{.model = skrull::shapes[static_cast<std::size_t>(round % 2)], .groups = 4, .ranks = 8};
    by.model.capacity = (std::max)(by.model.capacity, std::int64_t{99000 / 8 + 1});
    auto const lengths = long_context(256, draw);
    auto const plan = skrull::schedule(lengths, by);
    REQUIRE(plan.status == status::feasible);
    CHECK(most_tokens(plan.shards) <= by.model.capacity);
    CHECK(plan.overlapped.lower_bound <= plan.overlapped.value);
    CHECK(plan.shards.ranks() == 32);
    CHECK(check_shards(plan.shards, lengths, {.capacity = by.model.capacity, .ranks = 32}).valid());
    for (auto const how : {skrull::baseline::deepspeed, skrull::baseline::sorted})
      for (auto const most : {std::uint64_t{1}, std::uint64_t{1000}}) {
        auto const all = skrull::share_all(lengths, by, how, most);
        CHECK(check_shards(all.shards, lengths, {.capacity = by.model.capacity, .ranks = 32}).valid());
        CHECK(all.shards.time.lower_bound <= all.shards.time.value);
        CHECK(all.overlapped.lower_bound <= all.overlapped.value);
        if (most == 1) faster += plan.overlapped.value < all.overlapped.value;
      }
  }
  CHECK(faster >= 36);  // of 40; a single long sample, whole on a rank of the 7B model, can take longer than all shared
}

TEST_CASE("skrull: table 3, without roll-back there is no plan within memory", "[published]") {
  splitmix64 draw(5);
  auto fails = 0;
  for (int round = 0; round < 20; ++round) {
    auto const lengths = long_context(64, draw);
    auto by = table_3();
    auto const plan = skrull::schedule(lengths, by);
    CHECK(most_tokens(plan.shards) <= by.model.capacity);
    by.local = local_rank::emptiest;
    CHECK(skrull::schedule(lengths, by).status == status::feasible);
    // As many micro-batches as memory needs at least: the first number that `global_schedule` tries.
    std::int64_t tokens = 0;
    for (auto const l : lengths) tokens += l;
    auto const m = static_cast<std::size_t>((tokens + by.model.capacity * 8 - 1) / (by.model.capacity * 8));
    auto sorted = lengths;
    std::sort(sorted.begin(), sorted.end());
    auto const cost = skrull::compute_time(by.model, by.flops_per_second);
    for (std::size_t j = 0; j < m; ++j) {
      numbers slice;
      for (auto i = j; i < sorted.size(); i += m) slice.push_back(sorted[i]);
      local_or_distributed_options const without{.capacity = by.model.capacity, .ranks = 8, .roll_back = rolling_back::none};
      if (local_or_distributed(slice, without, cost).status == status::feasible) continue;
      ++fails;
      break;
    }
  }
  CHECK(fails >= 10);
}

TEST_CASE("skrull: the means of the paper follow from its six cells", "[published]") {
  // Speed-ups over DeepSpeed on Wikipedia, LMsysChat1M and ChatQA2-Long-SFT, read off the paper's figure.
  double const small[] = {7.54, 6.17, 2.79}, large[] = {2.60, 2.14, 1.35};
  auto const mean = [](double const(&of)[3]) { return (of[0] + of[1] + of[2]) / 3; };
  auto const near = [](double value, double expected) { return value - expected < 0.0051 && expected - value < 0.0051; };
  CHECK(near(mean(small), 5.50));
  CHECK(near(mean(large), 2.03));
  CHECK(near((mean(small) + mean(large)) / 2, 3.765));
}

TEST_CASE("skrull: baselines share every sample, but those with fewer tokens than ranks") {
  auto by = table_3();
  by.groups = 2;
  numbers const lengths{1000, 5, 300, 40, 7, 16};
  auto const plan = skrull::share_all(lengths, by, skrull::baseline::deepspeed);
  CHECK(plan.micro_batches == std::vector<std::uint64_t>{3, 3});
  CHECK(plan.shards.passes(0) == 3);
  CHECK(plan.shards.passes(1) == 2);
  CHECK(plan.samples[0][0] == 0);
  CHECK(skrull::share_all(lengths, by, skrull::baseline::sorted).samples.members[0] == 1);
  CHECK(skrull::share_all(lengths, by, skrull::baseline::sorted, 3).micro_batches == std::vector<std::uint64_t>{1, 1});
  by.model.capacity = 100;
  CHECK(skrull::share_all(lengths, by, skrull::baseline::sorted).status == status::infeasible);
  CHECK(refusal([&] { return skrull::share_all(lengths, by, skrull::baseline::sorted, 0); }) ==
        "samples_per_micro_batch = 0 must be positive");
  CHECK(refusal([] { return skrull::shape_named("gpt"); }) == "no model of Skrull \"gpt\"; there are qwen2.5-0.5b, qwen2.5-7b");
}

}  // namespace test_methods_skrull
