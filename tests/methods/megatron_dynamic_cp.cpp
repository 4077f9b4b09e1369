// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/megatron_dynamic_cp.hpp>
#include <ballast/sharding/check.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstdint>
#include <list>
#include <vector>

namespace test_methods_megatron_dynamic_cp {

using namespace ballast::megatron_dynamic_cp;
using ballast::execution;
using ballast::status;
using ballast_test::between;

/// A group of ranks and its samples.
struct group {
  std::uint32_t width;
  std::vector<std::uint32_t> samples;
  friend bool operator==(group const&, group const&) = default;
};
using rounds = std::vector<std::vector<group>>;

rounds of(plan<> const& made) {
  rounds out;
  for (auto const& m : made.micro_batches) {
    auto& round = out.emplace_back();
    for (std::size_t g = 0; g < m.widths.size(); ++g) round.push_back({m.widths[g], {m.packs[g].begin(), m.packs[g].end()}});
  }
  return out;
}

/// The rules once more, rank by rank in floating point, and without a larger number of micro-batches.
rounds rank_by_rank(std::vector<std::int64_t> const& lengths, options const& o) {
  auto const all = static_cast<std::size_t>(o.ranks);
  std::vector<std::uint32_t> left;
  for (std::uint32_t i = 0; i < lengths.size(); ++i) left.push_back(i);
  std::sort(left.begin(), left.end(), [&](auto a, auto b) { return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b; });
  auto const tokens = [&](std::uint32_t i) { return static_cast<double>(lengths[i]); };
  auto const cap = static_cast<double>(o.capacity);
  rounds out;
  while (!left.empty()) {
    std::vector<double> load(all, 0);
    std::list<group> groups;
    std::size_t used = 0;
    std::vector<std::uint32_t> rest;
    auto const first_of = [&](group const* of_group) {
      std::size_t first = 0;
      for (auto const& g : groups) {
        if (&g == of_group) break;
        first += g.width;
      }
      return first;
    };
    for (auto const i : left) {
      std::uint32_t degree = static_cast<std::uint32_t>(o.fewest_ranks);
      while (tokens(i) > cap * degree) degree *= 2;
      group* best = nullptr;
      double least = -1;
      std::uint32_t on = 0;
      auto const limit = tokens(left[0]) * cap * 1.05;
      auto const value = [&](std::size_t first, std::uint32_t width) {
        auto busiest = 0.0;
        for (std::size_t r = 0; r < all; ++r)
          busiest = (std::max)(busiest, load[r] + (r >= first && r < first + width ? tokens(i) * tokens(i) / width : 0));
        return busiest;
      };
      for (auto width = degree; width <= all; width *= 2) {
        for (auto& g : groups) {
          double held = tokens(i) / width;
          for (auto const s : g.samples) held += tokens(s) / width;
          if (g.width != width || held > cap) continue;
          if (auto const v = value(first_of(&g), width); v <= limit && (least < 0 || v < least)) {
            least = v;
            best = &g;
            on = width;
          }
        }
        if (used + width <= all && i != left[0])
          if (auto const v = value(used, width); v <= limit && (least < 0 || v < least)) {
            least = v;
            best = nullptr;
            on = width;
          }
        if (i == left[0]) {
          on = width <= all ? width : 0;
          break;
        }
      }
      if (on == 0) {
        rest.push_back(i);
        continue;
      }
      if (best == nullptr) {
        best = &groups.emplace_back(group{on, {}});
        used += on;
      }
      for (auto r = first_of(best), end = r + on; r < end; ++r) load[r] += tokens(i) * tokens(i) / on;
      best->samples.push_back(i);
    }
    auto even = !groups.empty() && groups.front().samples.front() == left[0];
    while (even && used < all) {
      group* smallest = nullptr;
      for (auto& g : groups)
        if (smallest == nullptr || g.width < smallest->width) smallest = &g;
      auto const wider = (std::min)(2 * smallest->width, static_cast<std::uint32_t>(all));
      even = used + wider - smallest->width <= all;
      if (even) used += wider - smallest->width;
      if (even) smallest->width = wider;
    }
    if (!even) {
      groups.assign(1, {static_cast<std::uint32_t>(all), {}});
      rest.clear();
      double held = 0;
      for (auto const i : left) {
        auto const fits = held + tokens(i) <= cap * static_cast<double>(all);
        (fits ? groups.front().samples : rest).push_back(i);
        if (fits) held += tokens(i);
      }
    }
    out.emplace_back(groups.begin(), groups.end());
    left = rest;
  }
  return out;
}

TEST_CASE("megatron_dynamic_cp: the rules by hand", "[methods][megatron_dynamic_cp]") {
  // 10 tokens a rank, 8 ranks. 33 gets four, with 33 * 33 / 4 = 272.25 of work; no rank may get above 33 * 10 * 1.05 = 346.5. 15 and 12 get
  // two idle ranks each: on four, the busiest rank has no less. 9 has no room anywhere. The first two samples of 2 fill the pair of 15.
  std::vector<std::int64_t> const lengths{9, 33, 2, 12, 2, 15, 2};
  options const o{.capacity = 10, .ranks = 8};
  CHECK(of(micro_batches(lengths, o)) == rounds{{{4, {1}}, {2, {5, 2, 4}}, {2, {3, 6}}}, {{8, {0}}}});
  // With more ranks 9 has one of its own, and the first of the smallest packs gets those that are idle.
  CHECK(of(micro_batches(lengths, {.capacity = 10, .ranks = 16})) == rounds{{{4, {1}}, {4, {5}}, {4, {3}}, {2, {0}}, {2, {2, 4, 6}}}});
}

TEST_CASE("megatron_dynamic_cp: on numbers of ranks where the published code fails, one pack of all ranks",
          "[methods][megatron_dynamic_cp]") {
  // Two pairs on 5 ranks: doubling the first would push the second beyond the last rank.
  CHECK(of(micro_batches(std::vector<std::int64_t>{20, 19}, {.capacity = 10, .ranks = 5})) == rounds{{{5, {0, 1}}}});
  // A sample that five ranks hold, but not four.
  CHECK(of(micro_batches(std::vector<std::int64_t>{45, 5, 1}, {.capacity = 10, .ranks = 5})) == rounds{{{5, {0, 1}}}, {{5, {2}}}});
  CHECK(micro_batches(std::vector<std::int64_t>{51}, {.capacity = 10, .ranks = 5}).status == status::infeasible);
  // Seven ranks in halves of groups of 4 and of 2 and 1: neither becomes 7 by doubling.
  std::vector<std::int64_t> const seven{40, 20, 9};
  CHECK(of(micro_batches(seven, {.capacity = 10, .ranks = 7})) == rounds{{{4, {0}}, {2, {1}}, {1, {2}}}});
  CHECK(of(micro_batches(seven, {.capacity = 10, .ranks = 7, .micro_batch_multiple = 2})) == rounds{{{7, {1, 2}}}, {{7, {0}}}});
}

TEST_CASE("megatron_dynamic_cp: a multiple of micro-batches splits the last ones", "[methods][megatron_dynamic_cp]") {
  std::vector<std::int64_t> const lengths{33, 15, 12};
  CHECK(of(micro_batches(lengths, {.capacity = 10, .ranks = 8})) == rounds{{{4, {0}}, {2, {1}}, {2, {2}}}});
  // The half with the longest comes last, and the first of the smallest packs doubles until all ranks have one.
  CHECK(of(micro_batches(lengths, {.capacity = 10, .ranks = 8, .micro_batch_multiple = 2})) == rounds{{{4, {1}}, {4, {2}}}, {{8, {0}}}});
  CHECK(of(micro_batches(lengths, {.capacity = 10, .ranks = 8, .micro_batch_multiple = 3})) == rounds{{{8, {2}}}, {{8, {0}}}, {{8, {1}}}});
  CHECK(micro_batches(lengths, {.capacity = 10, .ranks = 8, .micro_batch_multiple = 4}).status == status::unknown);
}

TEST_CASE("megatron_dynamic_cp: the same micro-batches as a second version of the rules", "[methods][megatron_dynamic_cp]") {
  ballast::splitmix64 draw(5);
  for (int round = 0; round < 600; ++round) {
    options const o{.capacity = between(5, 200, draw),
                    .ranks = static_cast<std::uint64_t>(between(1, 20, draw)),
                    .fewest_ranks = draw() % 4 == 0 ? 2U : 1U};
    if (o.fewest_ranks > o.ranks) continue;
    auto const longest = o.capacity * between(1, static_cast<std::int64_t>(o.ranks), draw);
    auto const lengths = ballast_test::random_lengths(draw() % 40, longest, draw);
    CAPTURE(round, o.ranks, o.capacity, o.fewest_ranks, lengths);
    REQUIRE(of(micro_batches(lengths, o)) == rank_by_rank(lengths, o));
  }
}

TEST_CASE("megatron_dynamic_cp: every plan is valid, whatever the number of ranks", "[methods][megatron_dynamic_cp]") {
  ballast::splitmix64 draw(6);
  auto const cost = ballast_test::flexsp_cost();
  for (int round = 0; round < 300; ++round) {
    options o{.capacity = between(1, 3000, draw), .ranks = static_cast<std::uint64_t>(between(1, 24, draw)), .cost_per_pass = 1'000'000};
    if (draw() % 3 == 0) o.micro_batch_multiple = 1 + draw() % 4;
    if (draw() % 2 == 0) o.execution = execution::lockstep;
    auto const lengths = ballast_test::random_lengths(1 + draw() % 80, o.capacity * static_cast<std::int64_t>(o.ranks), draw);
    auto const plan = schedule(lengths, o, cost);
    CAPTURE(round, o.ranks, o.capacity, o.micro_batch_multiple, lengths);
    if (plan.status == status::unknown) {
      CHECK(o.micro_batch_multiple > 1);
      continue;
    }
    REQUIRE(plan.status == status::feasible);
    ballast::sharding_options const shape{.capacity = o.capacity, .ranks = o.ranks};
    CHECK(check_shards(plan, lengths, shape).valid());
    CHECK(plan.execution == o.execution);
    CHECK(plan.time.lower_bound <= plan.time.value);
    CHECK(plan.left_out.empty());
    for (std::size_t r = 1; r < plan.ranks(); ++r) CHECK(plan.passes(r) == plan.passes(0));
    CHECK(plan.passes(0) % o.micro_batch_multiple == 0);
    CHECK(hash(plan) == hash(schedule(lengths, o, cost)));
    o.execution = o.execution == execution::lockstep ? execution::independent : execution::lockstep;
    auto const other = schedule(lengths, o, cost);
    CHECK((o.execution == execution::lockstep ? other.time.value >= plan.time.value : other.time.value <= plan.time.value));
  }
  auto const none = schedule(std::vector<std::int64_t>{}, {.capacity = 5, .ranks = 3}, cost);
  CHECK(none.status == status::feasible);
  CHECK(none.time.value == 0);
}

TEST_CASE("megatron_dynamic_cp: bad input", "[methods][megatron_dynamic_cp]") {
  using ballast_test::refusal;
  std::vector<std::int64_t> const lengths{5, 7};
  CHECK(refusal([&] { return micro_batches(lengths, {.capacity = 0, .ranks = 2}); }) == "capacity = 0 must be positive");
  CHECK(refusal([&] { return micro_batches(lengths, {.capacity = 9, .ranks = 6, .fewest_ranks = 3}); }) ==
        "fewest_ranks = 3 must be a power of two, and at most ranks = 6");
  CHECK(refusal([&] { return micro_batches(lengths, {.capacity = 9, .ranks = 6, .fewest_ranks = 8}); }) ==
        "fewest_ranks = 8 must be a power of two, and at most ranks = 6");
  CHECK(refusal([&] { return micro_batches(lengths, {.capacity = 9, .ranks = 2, .micro_batch_multiple = 0}); }) ==
        "micro_batch_multiple = 0 must be positive");
  CHECK(refusal([&] { return micro_batches(std::vector<std::int64_t>{1, std::int64_t{1} << 30}, {.capacity = 1 << 30, .ranks = 8}); }) ==
        "lengths[1] = 1073741824 brings the sum of squared lengths times ranks to 2^62 or more");
}

}  // namespace test_methods_megatron_dynamic_cp
