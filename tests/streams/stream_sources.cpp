// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/streams/mixture_stream.hpp>
#include <ballast/streams/outlier_stream.hpp>
#include <ballast/streams/stream_sources.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace test_streams_stream_sources {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using numbers = std::vector<std::int64_t>;
using sources = std::vector<std::uint32_t>;

TEST_CASE("stream_sources: no share differs by more than what waits, and totals are those of the samples", "[property]") {
  constexpr quadratic_cost cost{.linear = 100, .quadratic = 1};
  splitmix64 draw(1);
  for (int round = 0; round < 30; ++round) {
    outlier_stream policy({.micro_batches = 4, .capacity = {8000}, .deadline = draw() % 8}, cost);
    mixture_stream mix({5, 1, 3});
    stream_sources account(3);
    sources all;
    std::vector<source_total> wanted(3);
    for (int block = 0; block < 20; ++block) {
      sources from;
      numbers lengths;
      for (auto n = between(0, 60, draw); n > 0; --n) {
        from.push_back(mix.next().source);
        lengths.push_back(from.back() == 1 ? between(1500, 2000, draw) : between(1, 300, draw));  // one source has all outliers
        wanted[from.back()].arrived += lengths.back();
      }
      all.insert(all.end(), from.begin(), from.end());
      account.arrive(from, lengths);
      auto const step = policy.push(lengths);
      account.leave(step);
      for (std::size_t i = 0; i < step.delays.size(); ++i) {
        auto& w = wanted[all[static_cast<std::size_t>(step.micro_batches.members[i])]];
        w.left += step.lengths[i];
        w.waited = w.waited + multiply(static_cast<std::uint64_t>(step.lengths[i]), step.delays[i]);
        w.longest_delay = (std::max)(w.longest_delay, step.delays[i]);
      }
      REQUIRE(account.totals() == wanted);
      REQUIRE(account.state().numbers.size() == policy.waiting().size());
      CHECK(account.deviation() <= account.waiting_share() + 1);
      account = stream_sources(account.state());
    }
    for (auto const& step : policy.flush()) account.leave(step);
    CHECK(account.waiting_share() == 0);
    CHECK(account.deviation() == 0);
  }
}

TEST_CASE("stream_sources: by hand, and misuse") {
  stream_sources account(2);
  CHECK(account.deviation() == 0);
  CHECK(account.waiting_share() == 0);
  account.arrive(sources{0, 1, 1}, numbers{10, 20, 10});
  stream_step step;
  step.micro_batches = {{0, 2}, {2, 0}};
  step.lengths = {10, 10};
  step.delays = {0, 3};
  account.leave(step);
  CHECK(account.totals() == std::vector<source_total>{{10, 10, {0, 30}, 3}, {30, 10, {}, 0}});
  CHECK(account.totals()[0].delay() == 3'000'000);
  CHECK(account.totals()[1].delay() == 0);
  CHECK(source_total{}.delay() == 0);
  // a source of 2^62 - 2 tokens, all of which waited for three steps: the sum is past 2^63
  constexpr auto many = (std::int64_t{1} << 61) - 1;
  stream_sources large(1);
  large.arrive(sources{0, 0}, numbers{many, many});
  stream_step both;
  both.micro_batches = {{0, 2}, {0, 1}};
  both.lengths = {many, many};
  both.delays = {3, 3};
  large.leave(both);
  CHECK(large.totals()[0].delay() == 3'000'000);
  CHECK(account.deviation() == 250'000);  // half and half left, a quarter and three quarters arrived
  CHECK(account.waiting_share() == 500'000);

  auto const before = account.state();
  CHECK(refusal([&] { return account.leave(step), 0; }) == "members[0] = 2 is no sample that waits");
  step.micro_batches = {{0, 2}, {1, 1}};
  CHECK(refusal([&] { return account.leave(step), 0; }) == "members[1] = 1 is no sample that waits");
  CHECK(refusal([&] { return account.arrive(sources{0}, numbers{}), 0; }) == "1 sources for 0 lengths");
  CHECK(refusal([&] { return account.arrive(sources{0, 2}, numbers{1, 1}), 0; }) == "sources[1] = 2 is no source");
  CHECK(refusal([&] { return account.arrive(sources{0}, numbers{-1}), 0; }) == "lengths[0] = -1 is negative or brings the tokens to 2^62");
  CHECK(account.state() == before);
  CHECK(refusal([] { return stream_sources(std::size_t{0}).deviation(); }) == "sources = 0 must be in 1 ... 2^20 - 1");
  auto bad = before;
  bad.sources.push_back(0);
  CHECK(refusal([&] { return stream_sources(bad).deviation(); }) == "a state of 1 samples with 2 sources");
  bad = before;
  bad.numbers[0] = 3;
  CHECK(refusal([&] { return stream_sources(bad).deviation(); }) == "numbers[0] = 3 must ascend below samples = 3");
  bad = before;
  bad.sources[0] = 2;
  CHECK(refusal([&] { return stream_sources(bad).deviation(); }) == "sources[0] = 2 is no source");
  constexpr auto most = (std::numeric_limits<std::int64_t>::max)();
  for (auto const total : {source_total{-1, 0, {}, 0},
                           {10, 11, {}, 0},
                           {10, -1, {}, 0},
                           {10, 10, {0, 31}, 3},
                           {10, 10, {1, 0}, 3},
                           {most, 10, {0, 30}, 3},
                           {10, 0, {0, 1}, 0},
                           {10, 1, {0, 7}, ~std::uint64_t{0}}}) {
    bad = before;
    bad.totals[0] = total;
    CHECK(refusal([&] { return stream_sources(bad).deviation(); }).starts_with("totals[0]"));
  }
  bad = before;
  bad.totals = {{most / 2, 0, {}, 0}, {most / 2, 0, {}, 0}};
  CHECK(refusal([&] { return stream_sources(bad).deviation(); }).starts_with("totals[1]"));
}

}  // namespace test_streams_stream_sources
