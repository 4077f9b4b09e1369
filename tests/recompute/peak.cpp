// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/recompute/keep.hpp>
#include <ballast/recompute/peak.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace test_recompute_peak {

using namespace ballast;
using ballast_test::between;
using ballast_test::refusal;

namespace {

/// Kept flags as a span: std::vector<bool> has none.
struct flags {
  std::unique_ptr<bool[]> data;
  std::size_t size;
  explicit flags(std::vector<char> const& of) : data(new bool[of.size()]), size(of.size()) {
    for (std::size_t i = 0; i < size; ++i) data[i] = of[i] != 0;
  }
  operator std::span<bool const>() const { return {data.get(), size}; }
};

std::vector<forward_operator> chain_of(std::vector<std::int64_t> const& bytes, std::vector<std::int64_t> const& times) {
  std::vector<forward_operator> out(bytes.size());
  for (std::uint32_t i = 0; i < out.size(); ++i) {
    out[i] = {.time = times[i], .bytes = bytes[i]};
    if (i > 0) out[i].inputs = out[i].needs = {i - 1};
  }
  return out;
}

/// The same step, told as sets: at each event what lives is what was made and will be read again.
recompute_peak by_sets(std::vector<forward_operator> const& ops, std::vector<char> const& kept) {
  struct event {
    std::size_t op, asked;
    bool backward;
    std::vector<std::size_t> reads;  // 2 v: the copy of the forward pass, 2 v + 1: the one computed again, made by this event or before
  };
  auto const n = ops.size();
  std::vector<event> events;
  std::vector<char> again(n, 0);
  recompute_peak out;
  auto const copy = [&](std::size_t v) { return 2 * v + (kept[v] != 0 ? 0 : 1); };
  for (std::size_t i = 0; i < n; ++i) {
    events.push_back({i, i, false, {2 * i}});
    for (auto j : ops[i].inputs) events.back().reads.push_back(2 * std::size_t{j});
  }
  std::function<void(std::size_t, std::size_t)> const fetch = [&](std::size_t v, std::size_t asked) {
    if (kept[v] != 0 || again[v] != 0) return;
    for (auto j : ops[v].inputs) fetch(j, asked);
    again[v] = 1;
    events.push_back({v, asked, false, {2 * v + 1}});
    for (auto j : ops[v].inputs) events.back().reads.push_back(copy(j));
    out.recomputed_time += ops[v].time;
    ++out.recomputed;
  };
  for (auto i = n; i-- > 0;) {
    for (auto j : ops[i].needs) fetch(j, i);
    events.push_back({i, i, true, {}});
    for (auto j : ops[i].needs) events.back().reads.push_back(copy(j));
  }
  auto const reads = [&](std::size_t e, std::size_t c) { return std::count(events[e].reads.begin(), events[e].reads.end(), c) > 0; };
  for (std::size_t e = 0; e < events.size(); ++e) {
    auto total = ops[events[e].op].workspace;
    for (std::size_t c = 0; c < 2 * n; ++c) {
      bool before = false, after = false;
      for (std::size_t x = 0; x < events.size(); ++x) (x <= e ? before : after) = (x <= e ? before : after) || reads(x, c);
      if (reads(e, c) || (before && after)) total += ops[c / 2].bytes;
    }
    for (std::size_t v = 0; v < n; ++v) {  // a gradient: some reader's backward has begun, the maker's has not ended
      bool begun = false, ended = false;
      for (std::size_t x = 0; x <= e; ++x) {
        if (!events[x].backward) continue;
        auto const o = events[x].op;
        begun = begun || o == v || std::count(ops[o].inputs.begin(), ops[o].inputs.end(), v) > 0;
        ended = ended || (o == v && x < e);
      }
      if (begun && !ended) total += ops[v].bytes;
    }
    if (e < n) {
      out.forward = (std::max)(out.forward, total);
    } else if (total > out.backward) {
      out.backward = total;
      out.at = events[e].asked;
    }
  }
  return out;
}

}  // namespace

TEST_CASE("peak: agrees with sets of live tensors on random graphs") {
  std::uint64_t recomputed = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    splitmix64 draw(seed);
    std::vector<forward_operator> ops(static_cast<std::size_t>(between(1, 8, draw)));
    std::vector<char> kept(ops.size());
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      ops[i] = {.time = between(0, 9, draw), .bytes = between(0, 9, draw), .workspace = between(0, 4, draw)};
      for (std::uint32_t j = 0; j <= i; ++j) {
        if (j < i && uniform_below(3, draw) == 0) ops[i].inputs.push_back(j);
        if (uniform_below(3, draw) == 0) ops[i].needs.push_back(j);
      }
      kept[i] = uniform_below(2, draw) == 0 ? 1 : 0;
    }
    auto const found = evaluate_recompute(ops, flags(kept));
    CAPTURE(seed);
    CHECK(found == by_sets(ops, kept));
    recomputed += found.recomputed;
  }
  CHECK(recomputed > 2000);
}

TEST_CASE("peak: a chain by hand") {
  auto const ops = chain_of({4, 2, 3, 1}, {5, 6, 7, 8});
  auto const all = evaluate_recompute(ops, flags({1, 1, 1, 1}));
  CHECK(all.recomputed == 0);
  CHECK(all.forward == 10);   // nothing reads the last output again, but it is there when it is made
  CHECK(all.backward == 13);  // 4 + 2 + 3 kept, gradients 1 and 3
  CHECK(all.at == 3);
  auto const some = evaluate_recompute(ops, flags({1, 0, 0, 1}));
  CHECK(some.recomputed == 2);
  CHECK(some.recomputed_time == 13);
  CHECK(some.forward == 9);  // 4, 2, 3 while operator 2 runs
}

TEST_CASE("peak: memory can rise with the budget, as the knapsack sees no chain of recomputation") {
  // Four cheap checkpoints split a chain of large tensors; one tensor that takes longest to compute fills the larger budget instead.
  std::vector<std::int64_t> bytes, times;
  std::vector<saved_tensor> tensors;
  for (int i = 0; i < 16; ++i) {
    auto const checkpoint = i % 4 == 3;
    bytes.push_back(i == 0 ? 40 : checkpoint ? 10 : 30);
    times.push_back(i == 0 ? 1000 : checkpoint ? 20 : 1);
    tensors.push_back({.bytes = bytes.back(), .time = times.back()});
  }
  auto const ops = chain_of(bytes, times);
  auto const peak_at = [&](std::int64_t budget) {
    auto const plan = keep_tensors(tensors, budget);
    CHECK(plan.time.optimal());
    std::vector<char> kept;
    for (auto const k : plan.kept) kept.push_back(k != 0 ? 1 : 0);
    return evaluate_recompute(ops, flags(kept)).backward;
  };
  CHECK(peak_at(39) < peak_at(40));
}

TEST_CASE("peak: input that makes no sense is refused") {
  auto ops = chain_of({1, 1}, {1, 1});
  CHECK(refusal([&] { return evaluate_recompute(ops, flags({1})); }) == "1 kept entries for 2 operators");
  ops[0].inputs = {1};
  CHECK(refusal([&] { return evaluate_recompute(ops, flags({1, 1})); }) == "operators[0].inputs has 1, which does not come before it");
  ops[0].inputs = {};
  ops[0].needs = {1};
  CHECK(refusal([&] { return evaluate_recompute(ops, flags({1, 1})); }) == "operators[0].needs has 1, which comes after it");
  ops[0].needs = {};
  ops[1].bytes = -1;
  CHECK(refusal([&] { return evaluate_recompute(ops, flags({1, 1})); }) ==
        "operators[1].bytes or workspace = -1 is negative, or brings the sum to 2^62");
}

}  // namespace test_recompute_peak
