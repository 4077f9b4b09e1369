// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/math.hpp>
#include <ballast/core/random.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/streams/check.hpp>
#include <ballast/streams/outlier_stream.hpp>
#include <ballast/streams/stream_step.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"
#include "support/wlb_blocks.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace test_streams_outlier_stream {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;
using ballast_test::round_step;
using numbers = std::vector<std::int64_t>;
using members = std::vector<std::uint64_t>;

namespace {

constexpr quadratic_cost cost{.linear = 100, .quadratic = 1};

/// Work by two measures, of which the first is rare.
struct two_measures {
  std::int64_t operator()(std::span<std::int64_t const> row) const { return 300 * row[0] + row[1] * (100 + row[1]); }
};

outlier_options drawn_options(splitmix64& draw) {
  outlier_options o{.micro_batches = static_cast<std::uint64_t>(between(1, 6, draw)), .capacity = {between(500, 4000, draw)}};
  o.deadline = draw() % 6;
  o.tuning.outlier = between(0, 1500, draw);
  o.tuning.delay_price = between(0, 100, draw);
  return o;
}

numbers drawn_block(std::int64_t longest, splitmix64& draw) {
  return ballast_test::random_lengths(static_cast<std::size_t>(between(0, 25, draw)), longest, draw);
}

/// Pushes random blocks and checks every step; `rows` makes a block of samples with `measures` measures.
template <class Cost, class Rows>
void check_stream_of(outlier_options const& o, Cost const& by, Rows const& rows, bool tight) {
  outlier_stream stream(o, by);
  stream_checker checker({.micro_batches = o.micro_batches, .capacity = o.capacity, .deadline = o.deadline}, by);
  for (int block = 0; block < 12; ++block) {
    auto const lengths = rows();
    auto const step = stream.push(lengths);
    auto const verdict = checker.push(lengths, step);
    CAPTURE(block, describe(verdict));
    REQUIRE(verdict.valid());
    CHECK((tight || step.late.empty()));
    CHECK(checker.waiting() == stream.waiting().size());
  }
  for (auto const& step : stream.flush()) {
    auto const verdict = checker.push(numbers{}, step);
    CAPTURE(describe(verdict));
    REQUIRE(verdict.valid());
    CHECK(!step.micro_batches.members.empty());
  }
  CHECK(checker.waiting() == 0);
  CHECK(stream.flush().empty());
}

}  // namespace

TEST_CASE("outlier_stream: every sample leaves once, by its deadline, in micro-batches that keep the capacity", "[property]") {
  splitmix64 draw(1);
  for (int round = 0; round < 200; round += round_step) {
    auto o = drawn_options(draw);
    CAPTURE(round);
    check_stream_of(o, cost, [&] { return drawn_block(o.capacity[0], draw); }, true);
    auto const longest = o.capacity[0];
    o.capacity[0] *= 200;  // room for all
    check_stream_of(o, cost, [&] { return drawn_block(longest, draw); }, false);
  }
}

TEST_CASE("outlier_stream: samples of several measures keep every capacity", "[property]") {
  splitmix64 draw(2);
  for (int round = 0; round < 100; round += round_step) {
    auto o = drawn_options(draw);
    o.capacity = {between(10, 60, draw), o.capacity[0]};
    CAPTURE(round);
    auto const rows = [&] {
      numbers out;
      for (auto n = between(0, 20, draw); n > 0; --n) {
        out.push_back(draw() % 2 == 0 ? 0 : between(0, o.capacity[0], draw));
        out.push_back(between(0, o.capacity[1], draw));
      }
      return out;
    };
    check_stream_of(o, two_measures{}, rows, true);
  }
  // One measure by rows is the same as lengths.
  outlier_options const o{.micro_batches = 3, .capacity = {2000}};
  outlier_stream by_length(o, cost);
  outlier_stream by_row(o, [](std::span<std::int64_t const> row) { return cost(row[0]); });
  for (int block = 0; block < 20; ++block) {
    auto const lengths = drawn_block(2000, draw);
    CHECK(by_length.push(lengths) == by_row.push(lengths));
  }
}

TEST_CASE("outlier_stream: a stream that continues from its state makes the same steps", "[property]") {
  splitmix64 draw(3);
  for (int round = 0; round < 40; ++round) {
    auto const o = drawn_options(draw);
    outlier_stream one(o, cost), other(o, cost);
    for (int block = 0; block < 12; ++block) {
      auto const lengths = drawn_block(o.capacity[0], draw);
      CHECK(one.push(lengths) == other.push(std::vector<std::int32_t>(lengths.begin(), lengths.end())));
      other = outlier_stream(o, cost, other.state());
    }
    CHECK(one.state() == other.state());
    CHECK(one.flush() == other.flush());
  }
}

TEST_CASE("outlier_stream: the run of outliers is the best of all that contain those at their deadline", "[property]") {
  splitmix64 draw(5);
  constexpr std::int64_t unit = std::int64_t{1000} << 20;
  for (int round = 0; round < 2000; round += round_step) {
    numbers work;
    for (auto n = between(0, 14, draw); n > 0; --n) work.push_back(between(0, 1000, draw));
    std::sort(work.rbegin(), work.rend());
    detail::outlier_terms const terms{between(1, 4, draw), between(0, 2000, draw), between(0, 3000, draw), between(0, 200, draw)};
    detail::outlier_run due;
    if (!work.empty() && draw() % 2 == 0) {
      due.first = static_cast<std::size_t>(between(0, std::ssize(work) - 1, draw));
      due.last = static_cast<std::size_t>(between(static_cast<std::int64_t>(due.first) + 1, std::ssize(work), draw));
    }
    auto const all = std::accumulate(work.begin(), work.end(), std::int64_t{0});
    auto const key = [&](std::size_t a, std::size_t b) {
      if (a == b) return unit;
      numbers loads(static_cast<std::size_t>(terms.micro_batches), 0);
      std::int64_t run = 0;
      for (auto i = a; i < b; ++i) {
        *std::min_element(loads.begin(), loads.end()) += work[i];
        run += work[i];
      }
      auto const total = run + terms.others, most = terms.micro_batches * *std::max_element(loads.begin(), loads.end());
      auto const level = most <= total ? unit : (most * unit + total - 1) / total;
      if (terms.smoothed == 0) return level;
      // Worth: price * work / smoothed, less 943718 / 2^20 = 9/10 of (all + the rest) / needed of that; each rounded up in size.
      auto const price = divide_up(run * (terms.price << 20), terms.smoothed);
      auto const needed = (std::max)(all, terms.micro_batches * work[0] - terms.others);
      auto const kept = (1 << 20) - divide_up((2 * all - run) * 943'718, (std::max)(needed, std::int64_t{1}));
      return level - (kept < 0 ? -1 : 1) * divide_up(price * (kept < 0 ? -kept : kept), std::int64_t{1} << 20);
    };
    auto best = (std::numeric_limits<std::int64_t>::max)();
    for (std::size_t a = 0; a <= work.size(); ++a)
      for (auto b = a; b <= work.size(); ++b)
        if (due.first == due.last || (a <= due.first && b >= due.last)) best = (std::min)(best, key(a, b));
    auto const found = detail::outlier_chooser(work, terms).choose(due);
    CAPTURE(round, work, due.first, due.last, found.first, found.last);
    REQUIRE((due.first == due.last || (found.first <= due.first && found.last >= due.last)));
    REQUIRE(key(found.first, found.last) == best);
  }
}

TEST_CASE("outlier_stream: without outliers or with deadline 0 it is longest processing time first, and exchanges", "[property]") {
  splitmix64 draw(4);
  int better = 0;
  for (int round = 0; round < 40; ++round) {
    outlier_options o{.micro_batches = static_cast<std::uint64_t>(between(1, 6, draw)), .capacity = {100'000}};
    if (round % 2 == 0)
      o.tuning.outlier = (std::numeric_limits<std::int64_t>::max)();
    else
      o.deadline = 0;
    outlier_stream stream(o, cost);
    for (int block = 0; block < 5; ++block) {
      auto const lengths = drawn_block(2000, draw);
      auto const step = stream.push(lengths);
      auto sorted = lengths;
      std::sort(sorted.rbegin(), sorted.rend());
      numbers loads(static_cast<std::size_t>(o.micro_batches), 0);
      for (auto const l : sorted) *std::min_element(loads.begin(), loads.end()) += cost(l);
      auto const most = *std::max_element(step.workloads.begin(), step.workloads.end()),
                 of_lpt = *std::max_element(loads.begin(), loads.end());
      CHECK(most <= of_lpt);
      better += most < of_lpt ? 1 : 0;
      CHECK(std::accumulate(step.workloads.begin(), step.workloads.end(), std::int64_t{0}) ==
            std::accumulate(loads.begin(), loads.end(), std::int64_t{0}));
      CHECK(stream.waiting().empty());
    }
  }
  CHECK(better > 50);
}

TEST_CASE("outlier_stream: after the exchanges, none of one sample lowers the largest work", "[property]") {
  splitmix64 draw(6);
  for (int round = 0; round < 300; round += round_step) {
    auto const n = static_cast<std::size_t>(between(1, 16, draw)), count = static_cast<std::size_t>(between(1, 5, draw));
    numbers work, sizes;
    for (std::size_t i = 0; i < n; ++i) work.push_back(between(0, 5000, draw));
    for (std::size_t i = 0; i < 2 * n; ++i) sizes.push_back(between(0, 20, draw));
    std::sort(work.rbegin(), work.rend());
    auto const tight = round % 2 == 0;
    numbers const capacity{tight ? between(20, 100, draw) : 1000, tight ? between(20, 100, draw) : 1000};
    std::vector<std::uint32_t> order(n);
    std::iota(order.begin(), order.end(), 0U);
    detail::measured_work const samples{work, sizes, 2};
    auto step = detail::place_by_least_work(samples, order, count, capacity);
    auto const before = step;
    detail::step_swapper(samples, order, capacity, step).run();
    auto const loads = [&](detail::least_work_step const& of) {  // work and both sizes of each micro-batch
      numbers out(3 * count, 0);
      for (std::size_t j = 0; j < n; ++j)
        if (of.micro_batch[j] != of.nowhere)
          for (std::size_t k = 0; k < 3; ++k) out[3 * of.micro_batch[j] + k] += k == 0 ? work[j] : sizes[2 * j + k - 1];
      return out;
    };
    auto const most = [&](detail::least_work_step const& of) {  // 2^62 if a micro-batch exceeds a capacity
      auto const of_each = loads(of);
      std::int64_t out = 0;
      for (std::size_t m = 0; m < 3 * count; m += 3)
        out = (std::max)(out, of_each[m + 1] > capacity[0] || of_each[m + 2] > capacity[1] ? std::int64_t{1} << 62 : of_each[m]);
      return out;
    };
    auto const reached = most(step);
    CAPTURE(round, work, sizes, capacity, step.micro_batch);
    for (std::size_t m = 0; m < count; ++m) CHECK(loads(step)[3 * m] == step.work[m]);
    CHECK(reached <= most(before));
    for (std::size_t j = 0; j < n; ++j) CHECK((step.micro_batch[j] == step.nowhere) == (before.micro_batch[j] == step.nowhere));
    auto const mean = std::accumulate(step.work.begin(), step.work.end(), std::int64_t{0}) / static_cast<std::int64_t>(count);
    if (tight || reached <= mean + mean / 16384 || std::count(step.work.begin(), step.work.end(), reached) > 1) continue;
    auto changed = step;
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t i = 0; i < n + count; ++i) {
        if (changed.micro_batch[j] == step.nowhere || (i < n && changed.micro_batch[i] == step.nowhere)) continue;
        auto& other = changed.micro_batch[i < n ? i : j];
        if (i < n)
          std::swap(changed.micro_batch[j], other);
        else
          other = static_cast<std::uint32_t>(i - n);
        CHECK(most(changed) >= reached);
        changed.micro_batch = step.micro_batch;
      }
  }
}

TEST_CASE("outlier_stream: by hand") {
  outlier_options const o{.micro_batches = 2, .capacity = {100}, .deadline = 2, .tuning = {.outlier = 500, .delay_price = 20}};
  outlier_stream stream(o, quadratic_cost{.linear = 0, .quadratic = 1});
  // Work 100 + 8 of 1 is 108 a step, outliers are above 27: the 10 alone would have an imbalance of 2 x 100 / 108; it waits.
  auto const first = stream.push(numbers{10, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(first.workloads == numbers{4, 4});
  CHECK(stream.state().usual == 108);
  // The usual work falls by (4 - 108) / 10 = -10. Still alone.
  CHECK(stream.push(numbers{1, 1, 1, 1}).workloads == numbers{2, 2});
  CHECK(stream.state().usual == 98);
  // At its deadline, with a 9 that shares the step; the rest fills up the second micro-batch.
  auto const third = stream.push(numbers{9, 3, 3, 1});
  CHECK(third.workloads == numbers{100, 100});
  CHECK(third.micro_batches.members == members{0, 13, 14, 15, 16});
  CHECK(third.delays == members{2, 0, 0, 0, 0});
  CHECK(stream.waiting().empty());
}

TEST_CASE("outlier_stream: a sample at its deadline goes before others where room is short, or is listed as late") {
  outlier_options const o{.micro_batches = 1, .capacity = {10}, .deadline = 1};
  outlier_stream stream(o, token_cost{});
  // 6 and 4 fit; 3 does not. It is one step from its deadline, so the step does not list it.
  auto const first = stream.push(numbers{6, 4, 3});
  CHECK(first.micro_batches.members == members{0, 1});
  CHECK(first.late.empty());
  // 9 is longer, but 3 is due: it goes first.
  CHECK(stream.push(numbers{9}).micro_batches.members == members{2});
  CHECK(stream.waiting() == std::vector<stream_sample>{{3, 9, 1}});
  CHECK(stream.push(numbers{8, 7}).micro_batches.members == members{3});
  // Both are due and do not fit together.
  auto const fourth = stream.push(numbers{});
  CHECK(fourth.micro_batches.members == members{4});
  CHECK(fourth.late == members{5});
  CHECK(stream.push(numbers{}).delays == members{2});
}

TEST_CASE("outlier_stream: documents like WLB-LLM's are balanced within 0.5 % at four tenths of a step", "[published]") {
  constexpr quadratic_cost work{.linear = 35873, .quadratic = 1};  // attention and the rest are equal at 36K tokens: 7B
  for (auto const m : {std::int64_t{8}, std::int64_t{32}}) {
    if (m > 8 && round_step > 1) break;
    outlier_options o{.micro_batches = static_cast<std::uint64_t>(m), .capacity = {262144}};
    std::int64_t imbalance = 0, delay = 0;
    for (std::uint64_t seed = 5; seed < 9; ++seed) {
      auto const blocks = ballast_test::wlb_blocks(300, m * 118'000, seed);
      auto const run = replay_stream(blocks, outlier_stream(o, work));
      CAPTURE(m, seed, run.imbalance(), run.delay(), run.time_imbalance());
      CHECK(run.longest_delay() <= 16);
      imbalance += run.imbalance() / 4;
      delay += run.delay() / 4;
    }
    CAPTURE(m);
    CHECK(imbalance <= 1'005'000);
    CHECK(delay <= 400'000);
    o.deadline = 0;
    CHECK(replay_stream(ballast_test::wlb_blocks(300, m * 118'000, 5), outlier_stream(o, work)).imbalance() > 1'700'000);
  }
}

TEST_CASE("outlier_stream: without work, and misuse") {
  outlier_stream idle({.micro_batches = 2, .capacity = {10}}, [](std::int64_t) { return 0; });
  CHECK(idle.push(numbers{}).workloads == numbers{0, 0});
  CHECK(idle.push(numbers{7, 7}).micro_batches.members == members{0, 1});
  auto const start = [](outlier_options const& o) { return refusal([&] { return outlier_stream(o, cost).state().steps; }); };
  CHECK(start({.micro_batches = 0, .capacity = {1}}) == "micro_batches = 0 must be in 1 ... 2^20 - 1");
  CHECK(start({.micro_batches = 1, .capacity = {}}) == "capacity has 0 entries: samples that are lengths have one");
  CHECK(start({.micro_batches = 1, .capacity = {4, 4}}) == "capacity has 2 entries: samples that are lengths have one");
  CHECK(start({.micro_batches = 1, .capacity = {0}}) == "capacity[0] = 0 must be positive");
  CHECK(start({.micro_batches = 1, .capacity = {1}, .deadline = 1, .tuning = {.outlier = -1}}) == "outlier = -1 must not be negative");
  CHECK(start({.micro_batches = 1, .capacity = {1}, .deadline = 1, .tuning = {.delay_price = -1}}) ==
        "delay_price = -1 must be in 0 ... 2^20");
  CHECK(refusal([&] { return outlier_stream({.micro_batches = 1, .capacity = {}}, two_measures{}).state().steps; }) ==
        "capacity has 0 entries: it needs one for each measure");

  outlier_stream stream({.micro_batches = 2, .capacity = {10}}, cost);
  static_cast<void>(stream.push(numbers{9, 1}));
  auto const before = stream.state();
  CHECK(refusal([&] { return stream.push(numbers{1, 11}); }) == "lengths[1] = 11 exceeds capacity = 10");
  CHECK(refusal([&] { return stream.push(numbers{0}); }) == "lengths[0] = 0 must be positive");
  CHECK(refusal([&] { return stream.push(std::vector<std::uint64_t>{std::uint64_t{1} << 63}); }) ==
        "lengths[0] = 9223372036854775808 must be below 2^63");
  CHECK(stream.state() == before);
  outlier_stream dear({.micro_batches = 4, .capacity = {10}}, [](std::int64_t l) { return l << 58; });
  CHECK(refusal([&] { return dear.push(numbers{3, 1}); }) == "lengths[1] = 1 brings the work times micro_batches to 2^62");
  outlier_stream rows({.micro_batches = 1, .capacity = {10, 10}}, two_measures{});
  CHECK(refusal([&] { return rows.push(numbers{1, 2, 3}); }) == "3 measures are no multiple of 2");
  CHECK(refusal([&] { return rows.push(numbers{0, 2, -3, 0}); }) == "lengths[2] = -3 must not be negative");

  auto const resume = [](outlier_state const& s) {
    return refusal([&] { return outlier_stream({.micro_batches = 1, .capacity = {10}}, cost, s).state().steps; });
  };
  outlier_state const good{.samples = 5, .steps = 3, .usual = 7, .numbers = {1, 4}, .arrived = {0, 3}, .measures = {2, 3}};
  CHECK(resume(good) == "accepted");
  auto bad = good;
  bad.arrived.pop_back();
  CHECK(resume(bad) == "a state of 2 samples with 1 arrivals and 2 measures");
  bad = good;
  bad.usual = -1;
  CHECK(resume(bad) == "usual = -1 must not be negative");
  bad = good;
  bad.usual = std::int64_t{1} << 62;
  CHECK(resume(bad) == "usual = 4611686018427387904 times micro_batches reaches 2^62");
  bad = good;
  bad.numbers[1] = 5;
  CHECK(resume(bad) == "numbers[1] = 5 must ascend below samples = 5");
  bad = good;
  bad.arrived[1] = 4;
  CHECK(resume(bad) == "arrived[1] = 4 exceeds steps = 3");
  bad = good;
  bad.measures[1] = 11;
  CHECK(resume(bad) == "lengths[1] = 11 exceeds capacity = 10");
}

}  // namespace test_streams_outlier_stream
