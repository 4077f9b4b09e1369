// SPDX-License-Identifier: Apache-2.0
#include <ballast/attention/attention_tasks.hpp>
#include <ballast/core/random.hpp>
#include <ballast/sharding/make_shards.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace test_attention_attention_tasks {

using ballast::attention_task;
using ballast_test::between;

TEST_CASE("attention_task: pairs as counted one query at a time", "[property]") {
  ballast::splitmix64 draw(1);
  for (int round = 0; round < 500; ++round) {
    attention_task<> t{.begin = between(0, 40, draw)};
    t.end = t.begin + between(1, 40, draw);
    t.tail_begin = t.end + between(0, 40, draw);
    t.tail_end = t.tail_begin + between(0, 40, draw);
    std::int64_t pairs = 0, queries = 0;
    for (auto q = t.begin; q < t.end; ++q, ++queries) pairs += q + 1;
    for (auto q = t.tail_begin; q < t.tail_end; ++q, ++queries) pairs += q + 1;
    CHECK(t.pairs() == pairs);
    CHECK(t.queries() == queries);
    CHECK(t.keys() == (t.has_tail() ? t.tail_end : t.end));
  }
}

TEST_CASE("attention_task: q queries off the head and q off the tail cost q times the slope, q (L + 1) for a whole sample", "[published]") {
  ballast::splitmix64 draw(2);
  for (int round = 0; round < 500; ++round) {
    auto const begin = between(0, 50, draw), size = between(1, 50, draw), gap = between(0, 50, draw);
    attention_task<> const all{0, 0, begin, begin + size, begin + size + gap, begin + 2 * size + gap};
    auto const q = between(1, size, draw);
    attention_task<> const ends{0, 0, begin, begin + q, all.tail_end - q, all.tail_end};
    CHECK(ends.pairs() == q * all.slope());
    CHECK(all.pairs() == size * all.slope());
  }
  std::int64_t const length = 131072;
  CHECK(attention_task<>{0, 0, 0, 128, length - 128, length}.pairs() == 128 * (length + 1));
}

TEST_CASE("attention_tasks_of: zigzag pieces are the head and the tail of a task, and every rank has the same pairs", "[published]") {
  std::int64_t const ranks = 4, u = 6;
  ballast::pass_list<> list;
  std::uint32_t const all[] = {0, 1, 2, 3};
  list.ranks.push_back(all);
  list.placements = {{.sample = 0}};
  auto const plan = make_shards(std::vector{2 * ranks * u}, list, 4);
  auto const tasks = attention_tasks_of(plan);
  REQUIRE(tasks.size() == 4);
  for (std::uint32_t r = 0; r < 4; ++r) {
    CHECK(tasks[r].home == r);
    CHECK(tasks[r].queries() == 2 * u);
    CHECK(tasks[r].pairs() == u * u * (2 * ranks - 1) + u * (u + 1));
  }
  CHECK(tasks[3].keys() == 5 * u);  // the last rank has neighbouring chunks
}

TEST_CASE("hash of an attention plan: index types agree, homes count") {
  ballast::attention_plan<std::uint32_t> small;
  ballast::attention_plan<std::uint64_t> large;
  small.tasks = {{1, 2, 3, 4, 5, 6}};
  large.tasks = {{1, 2, 3, 4, 5, 6}};
  small.server_offsets = large.server_offsets = {0, 1};
  CHECK(small.servers() == 1);
  CHECK(small(0).size() == 1);
  CHECK(hash(small) == hash(large));
  large.tasks[0].home = 0;
  CHECK(hash(small) != hash(large));
}

}  // namespace test_attention_attention_tasks
