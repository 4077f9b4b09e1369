// SPDX-License-Identifier: Apache-2.0
// The methods of `ballast compare` and `ballast schedule`, without the command line: a plan for all GPUs, or a sentence.
#include "planning/schedulers.hpp"

#include "errors.hpp"
#include "report/output.hpp"
#include "report/words.hpp"

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/rounds.hpp"

#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/sharding/bounds.hpp>
#include <ballast/sharding/time_shards.hpp>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

namespace test_cli_schedulers {

namespace {

using namespace ballast_cli;
using ballast_test::between;

scheduling_setting scheduling_of(std::vector<std::int64_t> const& data, std::uint64_t gpus, std::int64_t capacity, std::uint64_t batch) {
  scheduling_setting on;
  on.options = {.capacity = capacity, .ranks = gpus, .cost_per_pass = 30'000'000};
  on.cost = {.linear = 120'000, .square = 3, .exchange = {0, 9'000, 9'000, 9'000, 40'000}};
  on.model = ballast::transformer_preset("llama-3.1-8b");
  on.longest = *std::max_element(data.begin(), data.end());
  on.data = data;
  on.batch = batch;
  return on;
}

/// Plans all batches by a method. Returns its reason if it refuses. A plan that is not valid, or a fault of any other kind, throws.
std::string refusal_of(scheduler const& by, scheduling_setting const& on) {
  try {
    if (by.epoch != nullptr) {
      std::vector<bool> seen(on.data.size());
      std::uint64_t number = 0;
      for (auto const& step : by.epoch(on.data, on)) {
        std::vector<std::int64_t> mine;
        for (auto const i : step.samples) {
          REQUIRE(!seen[static_cast<std::size_t>(i)]);
          seen[static_cast<std::size_t>(i)] = true;
          mine.push_back(on.data[static_cast<std::size_t>(i)]);
        }
        require_plan(by, step.plan.shards, mine, on, number++);
        REQUIRE(step.plan.shards.ranks() == on.options.ranks);
        REQUIRE(step.plan.shards.left_out.empty());
      }
      REQUIRE(std::count(seen.begin(), seen.end(), false) == 0);
      return {};
    }
    auto const plan = by.start(on);
    batch_feed feed(on.data, on.batch);
    for (std::uint64_t batch = 0; feed.next(); ++batch) {
      auto const planned = plan(feed.lengths());
      require_plan(by, planned.shards, feed.lengths(), on, batch);
      REQUIRE(planned.shards.ranks() == on.options.ranks);
      REQUIRE(planned.shards.left_out.size() <= feed.lengths().size());
      feed.planned(planned.shards);
      REQUIRE(batch <= on.data.size());
    }
  } catch (no_plan const& e) {
    return e.what();
  } catch (bad_input const& e) {
    return e.what();
  } catch (ballast::invalid_input const& e) {
    return std::string("library: ") + e.what();
  }
  return {};
}

/// Lengths up to the capacity, some up to what all GPUs hold together, some of a few tokens.
std::vector<std::int64_t> draw_lengths(std::int64_t capacity, std::uint64_t gpus, ballast::splitmix64& draw) {
  auto const kind = draw() % 4;
  auto const all = capacity * static_cast<std::int64_t>(gpus);
  std::vector<std::int64_t> out(1 + draw() % (draw() % 4 == 0 ? 120 : 9));
  for (auto& l : out) {
    l = between(1, capacity, draw);
    if (kind == 1) l = between(1, 3, draw);
    if (kind > 1 && draw() % 7 == 0) l = between(1, kind == 2 ? all : (std::min)(3 * capacity, all), draw);
  }
  return out;
}

}  // namespace

TEST_CASE("schedulers: any number of GPUs and any capacity gives a plan for all of them, or one sentence") {
  for (std::uint64_t seed = 0; seed < 150; seed += ballast_test::round_step) {
    ballast::splitmix64 draw(seed);
    auto const gpus = 1 + draw() % (draw() % 4 == 0 ? 1000 : 33);
    auto const capacity = between(1, draw() % 3 == 0 ? 8 : 20'000, draw);
    auto const data = draw_lengths(capacity, gpus, draw);
    auto const on = scheduling_of(data, gpus, capacity, 1 + draw() % data.size());
    for (auto const& by : schedulers()) {
      auto const word = std::string(by.word);
      CAPTURE(seed, word, gpus, capacity, data, on.batch);
      auto const why = refusal_of(by, on);
      CAPTURE(why);
      REQUIRE(!why.starts_with("library"));
      REQUIRE(std::count(why.begin(), why.end(), '\n') == 0);
      auto const needed = ballast::divide_up(on.longest, capacity);
      if (word == "bytescale" || word == "distca" || (word == "wlb" && capacity > static_cast<std::int64_t>(gpus)) ||
          (needed <= static_cast<std::int64_t>(gpus) &&
           (word == "slime" || word == "megatron-dynamic-cp" || word == "megatron-dp-balanced")))
        REQUIRE(why.empty());  // any number of GPUs may share a sample
      else if (capacity > 1 && needed <= static_cast<std::int64_t>(gpus) && word.starts_with("ballast") && word != "ballast-lockstep")
        REQUIRE(why.empty());
      else if (capacity > 1 && needed <= static_cast<std::int64_t>(std::bit_floor(gpus)) &&
               (word.starts_with("ballast") || word == "hbp" || word == "longalign" ||
                (word == "megatron-hybrid-cp" && std::has_single_bit(gpus))))
        REQUIRE(why.empty());
      else if (word == "megatron-hybrid-cp" && !std::has_single_bit(gpus))
        REQUIRE(why.find("takes 1, 2, 4, ... GPUs, not ") != std::string::npos);
    }
  }
}

TEST_CASE("schedulers: a sample that no GPUs have room for leaves every method without a plan") {
  for (auto const gpus : {1, 3, 4, 12, 64})
    for (auto const& by : schedulers()) {
      auto const word = std::string(by.word);
      std::vector<std::int64_t> const data{100, 100 * gpus + 1};
      auto const why = refusal_of(by, scheduling_of(data, static_cast<std::uint64_t>(gpus), 100, 8));
      CAPTURE(gpus, word, why);
      if (word == "chunkflow") continue;  // the chunks of a sample are passes behind each other
      if (word == "megatron-hybrid-cp" && !std::has_single_bit(static_cast<unsigned>(gpus))) continue;
      auto const longest = counted(static_cast<std::uint64_t>(100 * gpus + 1), "token");
      CHECK(why.starts_with("batch 0: " + word + " finds no plan for its 2 samples, the longest of " + longest + ", which has no room; "));
    }
}

TEST_CASE("schedulers: a batch without a plan for the sake of another batch's sample names that one") {
  std::vector<std::int64_t> const data{100, 90, 100'001};
  for (auto const& by : schedulers()) {
    auto const word = std::string(by.word);
    auto const why = refusal_of(by, scheduling_of(data, 4, 100, 2));
    CAPTURE(word, why);
    if (by.for_longest)
      CHECK(why == "batch 0: " + word + " finds no plan for its 2 samples; its groups are for the longest sample of all, of " +
                       counted(100'001, "token") + ", which has no room; a larger --capacity or more --gpus make room");
    else if (by.epoch == nullptr)
      CHECK(!why.starts_with("batch 0: "));
  }
}

TEST_CASE("schedulers: hbp plans the samples of all batches, in full steps of one level each") {
  ballast::splitmix64 draw(5);
  std::vector<std::int64_t> data;
  for (int i = 0; i < 20'000; ++i) data.push_back(between(20, i % 200 == 7 ? 60'000 : 1500, draw));
  auto const on = scheduling_of(data, 32, 8192, 512);
  auto const by = ballast_cli::schedulers_named("--methods", "hbp").front();
  auto const steps = by.epoch(data, on);
  std::size_t full = 0, balanced = 0;
  std::int64_t time = 0;
  for (auto const& step : steps) {
    auto const& plan = step.plan.shards;
    REQUIRE(plan.passes(0) == 1);
    std::int64_t tokens = 0;
    for (auto const i : step.samples) tokens += data[static_cast<std::size_t>(i)];
    full += tokens > 32 * 8192 * 9 / 10;
    time += time_shards(plan, on.cost, on.options.cost_per_pass).makespan;
    std::vector<std::int64_t> squares(plan.ranks(), 0);  // the work of attention
    for (std::size_t r = 0; r < plan.ranks(); ++r)
      for (auto const& p : plan(r, 0)) squares[r] += data[static_cast<std::size_t>(step.samples[p.sample])] * (p.end - p.begin);
    auto const most = *std::max_element(squares.begin(), squares.end());
    balanced += std::accumulate(squares.begin(), squares.end(), std::int64_t{0}) > most * 32 * 9 / 10;
    std::size_t alone = 0, shared = 0;
    for (auto const& p : plan.pieces)
      (p.begin == 0 && p.end == data[static_cast<std::size_t>(step.samples[p.sample])] ? alone : shared) += 1;
    CHECK((alone == 0 || shared == 0));
  }
  CHECK(full + 4 >= steps.size());
  CHECK(balanced + 4 >= steps.size());
  CHECK(steps.size() > 60);
  auto const whole = shard_bounds(data, on.options, on.cost).lower();
  CAPTURE(time, whole);
  CHECK(static_cast<double>(time) < 1.1 * static_cast<double>(whole));
}

TEST_CASE("schedulers: one sample of a token among long ones, on numbers of GPUs that are no powers of two") {
  for (auto const gpus : {3, 8, 20, 24, 1000})
    for (auto const& by : schedulers()) {
      auto const word = std::string(by.word);
      std::vector<std::int64_t> data(40, 5000);
      data.push_back(2 * 5564 + 1);
      data.push_back(1);
      auto const why = refusal_of(by, scheduling_of(data, static_cast<std::uint64_t>(gpus), 5564, 21));
      CAPTURE(gpus, word, why);
      if (word == "wlb" || word == "distca" || word == "bytescale" || word == "skrull") CHECK(why.empty());
      if (word == "slime" || word == "megatron-dynamic-cp" || word == "megatron-dp-balanced") CHECK(why.empty());
      if (gpus > 3 && (word.starts_with("ballast") || word == "longalign" || word == "hbp")) CHECK(why.empty());
      if (gpus == 3 && word == "hbp") CHECK(why.find("has no room") != std::string::npos);
      if (gpus == 3 && (word.starts_with("ballast") || word == "longalign" || word == "verl" || word == "dynapipe")) CHECK(why.empty());
    }
}

TEST_CASE("schedulers: padded micro-batches wait for each other, and the best cuts are not slower than others") {
  ballast::splitmix64 draw(12);
  std::size_t faster = 0;
  for (int round = 0; round < 12; ++round) {
    auto const gpus = 1 + draw() % 9;
    std::vector<std::int64_t> data;
    for (auto n = 4 * gpus + draw() % 60; n > 0; --n) data.push_back(between(10, 6000, draw));
    auto const on = scheduling_of(data, gpus, 12'000, data.size());
    CAPTURE(round, gpus, data);
    auto const plan_of = [&](char const* word) { return ballast_cli::schedulers_named("--methods", word).front().start(on)(data); };
    auto const published = plan_of("transformers"), ours = plan_of("padded-cut");
    for (auto const* plan : {&published, &ours}) {
      REQUIRE(plan->shards.status == ballast::status::feasible);
      CHECK(plan->shards.execution == ballast::execution::lockstep);
      CHECK(plan->time >= time_shards(plan->shards, on.cost, on.options.cost_per_pass).makespan);  // padding only adds
      CHECK(*std::min_element(plan->more.begin(), plan->more.end()) >= 0);
    }
    CHECK(ours.time <= published.time);
    faster += ours.time < published.time;
  }
  CHECK(faster > 5);
}

}  // namespace test_cli_schedulers
