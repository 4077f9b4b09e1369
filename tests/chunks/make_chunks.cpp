// SPDX-License-Identifier: Apache-2.0
#include <ballast/chunks/check.hpp>
#include <ballast/chunks/make_chunks.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/cost/attention.hpp>

#include "support/archetypes.hpp"
#include "support/brute_force.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace test_chunks_make_chunks {

using ballast::check_chunks;
using ballast::chunking_options;
using ballast::make_chunks;
using namespace ballast_test;

namespace {

using lengths = std::vector<std::int64_t>;
std::string const fine = "valid";

/// Lengths up to eight chunks, most of them short.
lengths mixed_lengths(std::size_t count, std::int64_t size, ballast::splitmix64& draw) {
  auto out = random_lengths(count, size, draw);
  for (auto& l : out)
    if (draw() % 4 == 0) l = between(1, 8 * size, draw);
  return out;
}

std::uint64_t hash_of(ballast::chunking<> const& plan) {
  ballast::fnv1a h;
  for (auto const& r : plan.ranges)
    for (auto const value : {std::uint64_t{r.sample}, static_cast<std::uint64_t>(r.begin), static_cast<std::uint64_t>(r.end)})
      h.append(value);
  for (auto const at : plan.offsets) h.append(at);
  h.append(hash(plan.chains));
  return h.value();
}

}  // namespace

TEST_CASE("make_chunks: the published example, 16 samples in 3 standalone and 4 dependent chunks") {
  // ChunkFlow, arXiv 2503.02356: one sample is cut in four, the other 15 fill three chunks.
  lengths const l{5, 2, 3, 29, 1, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  auto const plan = make_chunks(l, {.size = 8});
  CHECK(describe(check_chunks(plan, l, {.size = 8})) == fine);
  CHECK(plan.size() == 3 + 4);
  CHECK(plan.count == ballast::certificate{7, 7});
  CHECK(plan.chains.offsets == std::vector<std::uint64_t>{0, 1, 2, 3, 7});
  CHECK(plan.chains.members == std::vector<std::uint32_t>{0, 1, 2, 3, 4, 5, 6});
  for (std::uint32_t k = 3; k < 7; ++k) {
    REQUIRE(plan[k].size() == 1);
    CHECK(plan[k].front() == ballast::token_range<>{3, 8 * (k - 3), k == 6 ? 29 : 8 * (k - 2)});
  }
  CHECK(plan.tokens(6) == 5);
}

TEST_CASE("make_chunks: every plan is legal, and the lower bound is one", "[property]") {
  ballast::splitmix64 draw(31);
  ballast::chunking_workspace<> workspace;  // kept, as callers do who cut every batch
  ballast::chunking<> again;
  for (int round = 0; round < 400; round += round_step) {
    auto const size = between(1, 60, draw);
    auto const l = mixed_lengths(static_cast<std::size_t>(between(0, 80, draw)), size, draw);
    auto const plan = make_chunks(l, {.size = size});
    CAPTURE(round, size, l);
    CHECK(describe(check_chunks(plan, l, {.size = size})) == fine);
    make_chunks(l, {.size = size}, workspace, again);
    CHECK(plan == again);
    std::int64_t tokens = 0, pieces = 0, whole = 0;
    for (auto const length : l) {
      whole += length;
      pieces += length > size ? (length + size - 1) / size : 0;
    }
    for (std::size_t k = 0; k < plan.size(); ++k) tokens += plan.tokens(k);
    CHECK(tokens == whole);
    CHECK(plan.count.lower_bound * size >= whole);
    CHECK(plan.count.lower_bound >= pieces);
    std::size_t dependent = 0;
    for (auto const chain : plan.chains) dependent += chain.size() > 1 ? chain.size() : 0;
    CHECK(static_cast<std::int64_t>(dependent) == pieces);
  }
}

TEST_CASE("make_chunks: the optimum of tiny batches is between the bound and the plan", "[property]") {
  ballast::splitmix64 draw(32);
  int proven = 0;
  for (int round = 0; round < 300; ++round) {
    auto const size = between(1, 12, draw);
    auto const l = mixed_lengths(static_cast<std::size_t>(between(1, 8, draw)), size, draw);
    lengths brief;
    std::int64_t pieces = 0;
    for (auto const length : l) {
      if (length <= size)
        brief.push_back(length);
      else
        pieces += (length + size - 1) / size;  // chunks of its own: no fewer hold its tokens
    }
    auto const optimum = pieces + fewest_packs(brief, size).value();
    auto const plan = make_chunks(l, {.size = size});
    CAPTURE(round, size, l, optimum);
    CHECK(plan.count.lower_bound <= optimum);
    CHECK(plan.count.value >= optimum);
    CHECK(plan.count.value <= optimum + 1);
    proven += plan.count.optimal() ? 1 : 0;
  }
  CHECK(proven > 290);
}

TEST_CASE("make_chunks: nothing, one token, exactly one chunk, one token more") {
  for (auto const& l : {lengths{}, lengths{1}, lengths{8}, lengths{9}, lengths{16}, lengths{17, 8, 8}}) {
    auto const plan = make_chunks(l, {.size = 8});
    CAPTURE(l);
    CHECK(describe(check_chunks(plan, l, {.size = 8})) == fine);
    CHECK(plan.count.optimal());
  }
  CHECK(make_chunks(lengths{}, {.size = 8}).chains.empty());
  CHECK(make_chunks(lengths{9}, {.size = 8}).chains.size() == 1);
  auto const most = (std::numeric_limits<std::int64_t>::max)();
  auto const huge = make_chunks(lengths{most}, {.size = most / 2});
  CHECK(describe(check_chunks(huge, lengths{most}, {.size = most / 2})) == fine);
  CHECK(huge.size() == 3);
}

TEST_CASE("make_chunks: takes any range of integers and index type") {
  weakest_lengths const weak(lengths{9, 3, 20});
  auto const plan = make_chunks<std::uint64_t>(weak, {.size = 8});
  CHECK(describe(check_chunks(plan, weak, {.size = 8})) == fine);
  CHECK(plan.size() == 6);
}

TEST_CASE("make_chunks: a million samples") {
  std::vector<std::int32_t> l;
  ballast::splitmix64 draw(5);
  for (int i = 0; i < 1'000'000; ++i) l.push_back(static_cast<std::int32_t>(1 + draw() % (draw() % 64 == 0 ? 100'000 : 3000)));
  auto const plan = make_chunks(l, {.size = 8192});
  CHECK(describe(check_chunks(plan, l, {.size = 8192})) == fine);
  CHECK(plan.count.gap() < 0.001);
}

TEST_CASE("make_chunks: the same plan on every platform") {
  CHECK(hash_of(make_chunks(golden_lengths(), {.size = 512})) == 0x11900d030615daad);
}

TEST_CASE("make_chunks: refuses misuse before any work") {
  CHECK(refusal([] { return make_chunks(lengths{3}, {}); }) == "size = 0 must be positive");
  ballast::chunking_workspace<> workspace;
  auto out = make_chunks(lengths{3}, {.size = 2});
  CHECK(refused_untouched(out, [&] { make_chunks(lengths{3, 0}, {.size = 2}, workspace, out); }));
  CHECK(refusal([] { return make_chunks(lengths{3, 0}, {.size = 2}); }) == "lengths[1] = 0 must be positive");
  CHECK(refusal([] { return make_chunks(lengths{3, std::int64_t{1} << 33}, {.size = 2}); }) ==
        "lengths[1] = 8589934592 brings the number of chunks to 2^32 or more: size = 2 is too small");
  CHECK(refusal([] { return make_chunks(lengths{(std::int64_t{1} << 32) - 1, 1}, {.size = 1}); }) ==
        "2 samples and 4294967295 pieces may be 2^32 chunks or more");
}

TEST_CASE("chunk_times: later pieces of a sample attend to all before them") {
  lengths const l{3, 20, 2};
  auto const plan = make_chunks(l, {.size = 8});
  REQUIRE(plan.size() == 4);
  ballast::causal_pairs const pairs;
  CHECK(chunk_times(plan, pairs) == std::vector<std::int64_t>{6 + 3, 36, 136 - 36, 210 - 136});
  CHECK(chunk_times(plan, pairs, 5) == std::vector<std::int64_t>{14, 41, 105, 79});
  // A chunk i of q tokens attends to q (i q) + q (q + 1) / 2 pairs.
  CHECK(ballast::shard_pairs(pairs, 8, 16) == 8 * 8 + 36);
  CHECK(chunk_times(plan, ballast::linear_cost{.per_token = 2, .per_sample = 7}) == std::vector<std::int64_t>{24, 23, 16, 8});
  CHECK(refusal([&] { return chunk_times(plan, pairs, -1); }) == "per_chunk of chunk[0] = -1 must not be negative");
  CHECK(refusal([&] { return chunk_times(plan, [](std::int64_t n) { return 100 - n; }); }) ==
        "the cost falls from 92 at 8 tokens to 84 at 16");
  CHECK(refusal([&] { return chunk_times(plan, [](std::int64_t n) { return n - 5; }); }) ==
        "end = 3 of a range of sample 0 has cost -2, outside [0, 2^63)");
  CHECK(refusal([&] { return chunk_times(plan, pairs, std::int64_t{1} << 62); }) ==
        "time of chunk[1] = 4611686018427387940 brings a sum to 2^63 or more");
}

}  // namespace test_chunks_make_chunks
