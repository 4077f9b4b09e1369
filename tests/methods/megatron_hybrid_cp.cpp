// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/random.hpp>
#include <ballast/methods/megatron_hybrid_cp.hpp>
#include <ballast/sharding/check.hpp>
#include <ballast/sharding/time_shards.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <utility>
#include <vector>

namespace test_methods_megatron_hybrid_cp {

using namespace ballast;
using namespace ballast_test;
using megatron_hybrid_cp::filling;
using numbers = std::vector<std::int64_t>;

namespace {

/// The published scheduler with an entry for each rank, in floating point, from its description: it shares nothing with the header.
struct by_rank {
  std::int64_t capacity;
  std::size_t ranks;
  using sample = std::pair<std::size_t, std::int64_t>;  // index, length
  struct rank_state {
    std::vector<sample> samples;
    double work = 0;
    int group = -1;
  };

  [[nodiscard]] std::size_t needed(std::int64_t length) const {
    std::size_t d = 1;
    while (static_cast<std::int64_t>(d) * capacity < length) d *= 2;
    return d;
  }
  [[nodiscard]] double work(std::int64_t length) const {
    return static_cast<double>(length) * static_cast<double>(length) / static_cast<double>(needed(length));
  }
  [[nodiscard]] std::vector<std::deque<sample>> buckets_of(std::vector<sample> const& all) const {
    std::map<std::size_t, int> kinds;
    double total = 0, held = 0;
    for (auto const& s : all) {
      ++kinds[needed(s.second)];
      total += work(s.second);
    }
    auto const target = total / static_cast<double>(kinds.size());
    auto remaining = static_cast<long>(kinds.size());
    std::vector<std::deque<sample>> out;
    std::deque<sample> now;
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const w = work(all[i].second);
      auto const few = static_cast<long>(all.size() - i) <= remaining - static_cast<long>(out.size());
      if (!now.empty() && (held + w > target * 1.1 || few)) {
        out.push_back(std::exchange(now, {}));
        held = 0;
        --remaining;
      }
      now.push_back(all[i]);
      held += w;
    }
    out.push_back(now);
    return out;
  }
  static double most(std::vector<rank_state> const& state) {
    double out = 0;
    for (auto const& r : state) out = std::max(out, r.work);
    return out;
  }
  static double least(std::vector<rank_state> const& state) {
    auto out = std::numeric_limits<double>::infinity();
    for (auto const& r : state) out = std::min(out, r.work);
    return out;
  }
  /// One round: the samples of each rank; what is left replaces `all`.
  std::vector<std::vector<sample>> round(std::vector<sample>& all) const {
    auto buckets = buckets_of(all);
    std::vector<rank_state> state(ranks);
    std::vector<std::vector<std::size_t>> members;
    auto const first = needed(all[0].second);
    auto check = false;
    while (!buckets.empty()) {
      auto const idle = [&] {
        std::vector<std::size_t> out;
        for (std::size_t r = 0; r < ranks; ++r)
          if (state[r].group < 0) out.push_back(r);
        return out;
      }();
      int group = -1;
      std::size_t b = 0, d = 0;
      for (; b < buckets.size(); ++b) {
        if (buckets[b].empty()) continue;
        d = needed(buckets[b].front().second);
        group = -1;
        for (std::size_t g = 0; g < members.size(); ++g)
          if (members[g].size() == d && (group < 0 || state[members[g][0]].work < state[members[static_cast<std::size_t>(group)][0]].work))
            group = static_cast<int>(g);
        if (group >= 0 || idle.size() >= d) break;
      }
      if (b == buckets.size()) break;
      if (idle.size() >= d) {
        group = static_cast<int>(members.size());
        members.emplace_back(idle.begin(), idle.begin() + static_cast<std::ptrdiff_t>(d));
      }
      for (auto const r : members[static_cast<std::size_t>(group)]) {
        state[r].group = group;
        state[r].samples.push_back(buckets[b].front());
        state[r].work += work(buckets[b].front().second);
      }
      buckets[b].pop_front();
      while (!buckets.empty() && buckets[0].empty()) buckets.erase(buckets.begin());
      if (d < first) check = true;
      if (check && !buckets.empty() && most(state) - least(state) <= 0.05 * most(state)) break;
    }
    all.clear();
    for (auto const& b : buckets) all.insert(all.end(), b.begin(), b.end());
    while (most(state) - least(state) > 0.05 * most(state) && least(state) > 0) {
      std::size_t busiest = 0;
      while (state[busiest].work < most(state)) ++busiest;
      if (state[busiest].samples.size() < 2) break;
      auto const last = state[busiest].samples.back();
      auto after = state;
      for (auto const r : members[static_cast<std::size_t>(state[busiest].group)]) {
        after[r].samples.pop_back();
        after[r].work -= work(last.second);
      }
      if (most(after) - least(after) >= most(state) - least(state)) break;
      state = after;
      all.push_back(last);
    }
    // Idle ranks are the last ones, and groups are neighbours: doubling one moves the later ones up.
    std::vector<std::pair<std::size_t, std::vector<sample>>> groups;
    std::size_t idle = ranks;
    for (auto const& m : members) {
      groups.emplace_back(m.size(), state[m[0]].samples);
      idle -= m.size();
    }
    while (idle > 0) {
      auto const g = std::min_element(groups.begin(), groups.end(), [](auto const& a, auto const& b) { return a.first < b.first; });
      idle -= g->first;
      g->first *= 2;
    }
    std::vector<std::vector<sample>> out;
    for (auto const& [width, samples] : groups) out.insert(out.end(), width, samples);
    return out;
  }
};

/// The samples on each rank in each round.
std::vector<std::vector<numbers>> samples_by_round(megatron_hybrid_cp::schedule_result<> const& plan) {
  std::vector<std::vector<numbers>> out(plan.rounds, std::vector<numbers>(plan.shards.ranks()));
  for (std::size_t r = 0; r < plan.shards.ranks(); ++r)
    for (std::size_t m = 0; m < plan.shards.passes(r); ++m) {
      auto& here = out[plan.round_of[plan.shards.rank_offsets[r] + m]][r];
      for (auto const& p : plan.shards(r, m)) here.push_back(p.sample);
    }
  for (auto& round : out)
    for (auto& samples : round) {
      std::sort(samples.begin(), samples.end());
      samples.erase(std::unique(samples.begin(), samples.end()), samples.end());
    }
  return out;
}

/// The passes of one round alone.
shards<> only_round(megatron_hybrid_cp::schedule_result<> const& plan, std::uint32_t round) {
  auto const& all = plan.shards;
  shards<> out;
  std::map<std::uint32_t, std::uint32_t> group;
  for (std::size_t r = 0; r < all.ranks(); ++r) {
    for (std::size_t m = 0; m < all.passes(r); ++m) {
      if (plan.round_of[all.rank_offsets[r] + m] != round) continue;
      for (auto p : all(r, m)) {
        if (p.group != not_shared) {
          auto const [at, added] = group.emplace(p.group, static_cast<std::uint32_t>(group.size()));
          if (added) out.rank_groups.push_back(all.rank_groups[p.group]);
          p.group = at->second;
        }
        out.pieces.push_back(p);
      }
      out.pass_offsets.push_back(out.pieces.size());
    }
    out.rank_offsets.push_back(out.passes());
  }
  return out;
}

}  // namespace

TEST_CASE("megatron_hybrid_cp: the degree of a sample", "[published]") {
  CHECK(megatron_hybrid_cp::degree(1, 8192) == 1);
  CHECK(megatron_hybrid_cp::degree(8192, 8192) == 1);
  CHECK(megatron_hybrid_cp::degree(8193, 8192) == 2);
  CHECK(megatron_hybrid_cp::degree(3 * 8192, 8192) == 4);
  CHECK(megatron_hybrid_cp::degree(4 * 8192 + 1, 8192) == 8);
}

TEST_CASE("megatron_hybrid_cp: rounds by hand") {
  degree_cost const cost{.linear = 1000};
  megatron_hybrid_cp::options o{.capacity = 10, .ranks = 4, .cost_per_pass = 3};
  // 20 on two ranks (work 200) and 10 on each other one (work 100). The next sample, 6, goes to the first of the least loaded ranks. The
  // busiest group has one sample, so nothing is given back.
  auto plan = megatron_hybrid_cp::schedule(numbers{20, 10, 10}, o, cost);
  CHECK(plan.rounds == 1);
  CHECK(plan.time.value == 13);
  CHECK(plan.shards.rank_groups.size() == 1);
  plan = megatron_hybrid_cp::schedule(numbers{20, 10, 10, 6}, o, cost);
  CHECK(plan.rounds == 1);
  CHECK(plan.time.value == 13 + 9);
  // Three samples on four ranks: the smallest group, the first of two, gets the idle rank.
  plan = megatron_hybrid_cp::schedule(numbers{10, 10, 10}, o, cost);
  CHECK(plan.shards.rank_groups.size() == 1);
  CHECK(plan.time.value == 13);
  CHECK(plan.shards.passes(1) == 1);
  CHECK(plan.shards(1, 0)[0].sample == 0);
  // Each sample in a pass of its own.
  o.ranks = 1;
  CHECK(megatron_hybrid_cp::schedule(numbers{5, 5}, o, cost).time.value == 13);
  o.passes = filling::one_each;
  CHECK(megatron_hybrid_cp::schedule(numbers{5, 5}, o, cost).time.value == 16);
}

TEST_CASE("megatron_hybrid_cp: the same groups as the published scheduler rank by rank", "[published][property]") {
  splitmix64 draw(21);
  int rounds = 0, trimmed = 0;
  for (int test = 0; test < 2000; ++test) {
    by_rank const published{between(50, 2000, draw), std::size_t{1} << between(0, 6, draw)};
    auto const longest = published.capacity * static_cast<std::int64_t>(published.ranks);
    auto const count = static_cast<std::size_t>(between(1, test % 2 == 0 ? 200 : 12, draw));
    auto const most = draw() % 2 == 0 ? longest : (longest + 7) / 8;
    auto lengths = random_lengths(count, most, draw);
    for (auto& l : lengths) l = std::max(l, static_cast<std::int64_t>(published.ranks));  // no pass has fewer tokens than ranks
    std::vector<by_rank::sample> left;
    for (std::size_t i = 0; i < lengths.size(); ++i) left.emplace_back(i, lengths[i]);
    std::sort(left.begin(), left.end(), [](auto a, auto b) { return a.second != b.second ? a.second > b.second : a.first < b.first; });
    auto const plan = megatron_hybrid_cp::schedule(lengths, {.capacity = published.capacity, .ranks = published.ranks}, flexsp_cost());
    auto const samples = samples_by_round(plan);
    CAPTURE(test, published.capacity, published.ranks, lengths);
    for (std::size_t k = 0; k < samples.size(); ++k, ++rounds) {
      REQUIRE_FALSE(left.empty());
      auto const expected = published.round(left);
      trimmed += !std::is_sorted(left.begin(), left.end(), [](auto a, auto b) { return a.second > b.second; });
      for (std::size_t r = 0; r < published.ranks; ++r) {
        numbers mine;
        for (auto const& s : expected[r]) mine.push_back(static_cast<std::int64_t>(s.first));
        std::sort(mine.begin(), mine.end());
        REQUIRE(samples[k][r] == mine);
      }
    }
    CHECK(left.empty());
  }
  CAPTURE(rounds, trimmed);
  CHECK(rounds > 500);
  CHECK(trimmed > 20);
}

TEST_CASE("megatron_hybrid_cp: the rounds that the published Python code forms", "[published]") {
  splitmix64 draw(61);
  numbers lengths(300);
  for (auto& l : lengths) {
    auto const value = draw(), shape = draw();
    l = static_cast<std::int64_t>(16 + value % (shape % 8 == 0 ? 10000 : shape % 3 == 0 ? 2500 : 600));
  }
  auto const plan = megatron_hybrid_cp::schedule(lengths, {.capacity = 700, .ranks = 16}, flexsp_cost());
  std::uint64_t hash = 0;  // of the samples of every rank in every round, as `get_groups_and_subsamples` returned them
  for (auto const& round : samples_by_round(plan))
    for (auto const& samples : round) {
      for (auto const i : samples) hash = hash * 1000003 + static_cast<std::uint64_t>(i) + 1;
      hash *= 1000003;
    }
  CHECK(plan.rounds == 6);
  CHECK(hash == 8842170323015757138U);
}

TEST_CASE("megatron_hybrid_cp: valid shards, timed with and without the waits after rounds", "[property]") {
  splitmix64 draw(22);
  int waits = 0;
  for (int test = 0; test < 300; ++test) {
    megatron_hybrid_cp::options o{.capacity = between(50, 2000, draw), .ranks = std::uint64_t{1} << between(0, 5, draw)};
    o.cost_per_pass = between(0, flexsp_cost_per_pass, draw);
    o.passes = draw() % 3 == 0 ? filling::one_each : filling::first_fit;
    o.bucket_tolerance = draw() % 2 == 0 ? 100 : between(0, 1000, draw);
    o.balance_tolerance = draw() % 2 == 0 ? 50 : between(0, 1000, draw);
    auto const count = static_cast<std::size_t>(between(0, 100, draw));
    auto const lengths = random_lengths(count, o.capacity * static_cast<std::int64_t>(o.ranks), draw);
    CAPTURE(test, o.capacity, o.ranks, lengths);
    sharding_options const shape{.capacity = o.capacity, .ranks = o.ranks};
    auto const plan = megatron_hybrid_cp::schedule(lengths, o, flexsp_cost());
    CHECK(check_shards(plan.shards, lengths, shape).valid());
    CHECK(plan.shards.left_out.empty());
    CHECK(time_shards(plan.shards, flexsp_cost(), o.cost_per_pass).makespan == plan.shards.time.value);
    std::int64_t sum = 0;
    for (std::uint32_t k = 0; k < plan.rounds; ++k) sum += time_shards(only_round(plan, k), flexsp_cost(), o.cost_per_pass).makespan;
    CHECK(sum == plan.time.value);
    CHECK(plan.shards.time.lower_bound == plan.time.lower_bound);
    CHECK(plan.shards.time.value <= plan.time.value);
    waits += plan.shards.time.value < plan.time.value;
    for (std::size_t p = 0; p + 1 < plan.round_of.size() && plan.shards.ranks() == 1; ++p) CHECK(plan.round_of[p] <= plan.round_of[p + 1]);
    auto aligned = o;
    aligned.widest_first = true;
    auto const repaired = megatron_hybrid_cp::schedule(lengths, aligned, flexsp_cost());
    CHECK(check_shards(repaired.shards, lengths, shape, {.aligned = true}).valid());
    CHECK(repaired.time == plan.time);
    aligned.passes = filling::one_each;
    CHECK(megatron_hybrid_cp::schedule(lengths, aligned, flexsp_cost()).time.value >=
          (o.passes == filling::first_fit ? plan.time.value : 0));
  }
  CAPTURE(waits);
  CHECK(waits > 50);
}

TEST_CASE("megatron_hybrid_cp: published rounds can put a wide group behind narrow ones, on ranks that are no block", "[published]") {
  numbers const lengths{17, 17, 15, 33, 18, 33, 23, 8, 20};
  sharding_options const shape{.capacity = 10, .ranks = 8};
  megatron_hybrid_cp::options o{.capacity = 10, .ranks = 8};
  auto const published = megatron_hybrid_cp::schedule(lengths, o, flexsp_cost());
  CHECK(check_shards(published.shards, lengths, shape).valid());
  CHECK(check_shards(published.shards, lengths, shape, {.aligned = true}).fault == shard_fault::group_not_aligned);
  o.widest_first = true;
  auto const repaired = megatron_hybrid_cp::schedule(lengths, o, flexsp_cost());
  CHECK(check_shards(repaired.shards, lengths, shape, {.aligned = true}).valid());
  CHECK(repaired.time == published.time);
}

TEST_CASE("megatron_hybrid_cp: what it refuses, and what has no plan") {
  degree_cost const cost{.linear = 1000};
  CHECK(megatron_hybrid_cp::schedule(numbers{41, 3}, {.capacity = 10, .ranks = 4}, cost).shards.status == status::infeasible);
  // Four ranks of one token each have room for this sample, but one of them would have none.
  CHECK(megatron_hybrid_cp::schedule(numbers{3}, {.capacity = 1, .ranks = 4}, cost).shards.status == status::unknown);
  CHECK(megatron_hybrid_cp::schedule(numbers{}, {.capacity = 10, .ranks = 4}, cost).time == certificate{});
  CHECK(refusal([&] { return megatron_hybrid_cp::schedule(numbers{4}, {.capacity = 10, .ranks = 6}, cost); }) ==
        "ranks = 6 must be a power of two");
  CHECK(refusal([&] { return megatron_hybrid_cp::schedule(numbers{4}, {.capacity = 10, .ranks = 4, .balance_tolerance = -1}, cost); }) ==
        "balance_tolerance = -1 must be in 0 ... 1000");
  CHECK(refusal([&] { return megatron_hybrid_cp::schedule(numbers{4, 0}, {.capacity = 10, .ranks = 4}, cost); }) ==
        "lengths[1] = 0 must be positive");
  auto const huge = std::int64_t{1} << 32;
  CHECK(refusal([&] { return megatron_hybrid_cp::schedule(numbers{huge}, {.capacity = huge, .ranks = 1}, cost); }) ==
        "lengths[0] = 4294967296 brings the sum of squared lengths to 2^62 or more");
}

}  // namespace test_methods_megatron_hybrid_cp
