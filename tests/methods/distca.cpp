// SPDX-License-Identifier: Apache-2.0
#include <ballast/attention/check_attention_tasks.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/methods/distca.hpp>
#include <ballast/sharding/check.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/wlb_lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_methods_distca {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;

namespace {

distca::run llama_8b(std::uint64_t servers) { return distca::run_of(transformer_preset("llama-3.1-8b"), servers); }

/// Documents of `servers` times 128K tokens.
numbers documents(std::size_t servers, std::uint64_t seed) {
  auto lengths = ballast_test::wlb_lengths(servers * 60, seed);
  std::int64_t tokens = 0;
  std::size_t n = 0;
  while (tokens < static_cast<std::int64_t>(servers) * 131072) tokens += lengths[n++];
  lengths.resize(n);
  return lengths;
}

}  // namespace

TEST_CASE("distca: every token and every query once, tokens even, time above its bound", "[property]") {
  splitmix64 draw(1);
  for (int round = 0; round < 200; ++round) {
    auto const count = between(0, 40, draw), longest = between(1, 2000, draw);
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(count), longest, draw);
    auto by = llama_8b(static_cast<std::uint64_t>(between(1, 12, draw)));
    by.servers.multiple = between(1, 64, draw);
    by.servers.tolerance = between(0, 100, draw);
    by.servers.filling = round % 3 == 0 ? filling::one_sided : filling::two_sided;
    by.servers.cut = round % 5 == 0 ? attention_cut::head_and_tail : attention_cut::window;
    by.placement = round % 2 == 0 ? distca::placement::head_and_tail : distca::placement::in_order;
    auto const plan = distca::plan(lengths, by);
    auto const servers = static_cast<std::int64_t>(by.servers.servers);
    auto const tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    auto const most = (std::max)((tokens + servers - 1) / servers, std::int64_t{1});
    auto const v = check_shards(plan.shards, lengths, {.capacity = most, .ranks = by.servers.servers});
    CAPTURE(round, describe(v));
    CHECK(v.valid());
    CHECK(check_attention_tasks(plan.attention, attention_tasks_of(plan.shards), by.servers).valid());
    CHECK(plan.time.lower_bound <= plan.time.value);
    CHECK(plan.shards.time.lower_bound <= plan.shards.time.value);
    std::int64_t slowest = 0;
    for (std::size_t s = 0; s < by.servers.servers; ++s) {
      std::int64_t linear = 0, attention = 0;
      for (auto const& p : plan.shards(s, 0)) linear += p.end - p.begin;
      for (auto const& t : plan.attention(s)) attention += t.pairs();
      CHECK(linear >= tokens / servers);
      slowest = (std::max)(slowest, linear * by.per_token + attention * by.per_pair);
    }
    CHECK(plan.time.value == slowest);
  }
}

TEST_CASE("distca: a head and a tail for each server are balanced already, neighbouring tokens are not", "[published]") {
  numbers const one{8 * 1024};
  auto by = llama_8b(8);
  CHECK(distca::plan(one, by).attention.moves == 0);
  CHECK(distca::plan(one, by).attention.load.optimal());
  by.placement = distca::placement::in_order;
  auto const plan = distca::plan(one, by);
  CHECK(plan.attention.moves > 0);
  CHECK(plan.shards.time.value > plan.time.value);
}

TEST_CASE("distca: the published tolerance bounds the receivers only", "[published]") {
  auto const lengths = documents(64, 8);
  auto by = distca::published(llama_8b(64));
  auto const one_sided = distca::plan(lengths, by);
  by.servers.filling = filling::two_sided;
  auto const two_sided = distca::plan(lengths, by);
  auto const ours = distca::plan(lengths, llama_8b(64));
  auto const mean = one_sided.attention.load.lower_bound;
  CHECK(*std::min_element(one_sided.attention.loads.begin(), one_sided.attention.loads.end()) * 10 >= mean * 9);
  CHECK(one_sided.attention.load.value * 10 > mean * 11);
  CHECK(two_sided.attention.load.value * 10 <= mean * 11);
  CHECK(two_sided.time.value < one_sided.time.value);
  CHECK(one_sided.time.value < one_sided.shards.time.value);
  CHECK(ours.time.value < two_sided.time.value);
  CHECK(ours.attention.bytes_moved < one_sided.attention.bytes_moved);
}

TEST_CASE("distca: a tolerance of 0.15 saves a fifth of the bytes", "[published]") {
  std::int64_t exact = 0, loose = 0;
  for (std::uint64_t seed = 10; seed < 15; ++seed) {
    auto const lengths = documents(64, seed);
    auto by = distca::published(llama_8b(64));
    by.servers.tolerance = 0;
    exact += distca::plan(lengths, by).attention.bytes_moved;
    by.servers.tolerance = 150;
    loose += distca::plan(lengths, by).attention.bytes_moved;
  }
  CAPTURE(exact, loose);
  CHECK(loose * 100 <= exact * 85);
  CHECK(loose * 100 >= exact * 70);
}

TEST_CASE("distca: the run of a model, nothing, and misuse") {
  auto const by = llama_8b(4);
  CHECK(by.servers.query_bytes == 2 * 2 * 4096);
  CHECK(by.servers.key_value_bytes == 2 * 2 * 1024);
  auto const none = distca::plan(numbers{}, by);
  CHECK(none.time == certificate{0, 0});
  CHECK(none.shards.passes() == 4);
  CHECK(refusal([&] { return distca::plan(numbers{1}, distca::run{}); }) == "a cost of 0 for each token or pair must be positive");
  CHECK(refusal([&] { return distca::place_tokens(numbers{1}, 0); }) == "servers = 0 must be in 1 ... 2^20 - 1");
  CHECK(refusal([&] { return distca::plan(numbers{3, -1}, by); }) == "lengths[1] = -1 must be positive");
  auto windowed = transformer_preset("llama-3.1-8b");
  windowed.window = 4096;
  CHECK(refusal([&] { return distca::run_of(windowed, 2); }) == "the model must be causal and without windows");
}

}  // namespace test_methods_distca
