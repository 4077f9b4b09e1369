// SPDX-License-Identifier: Apache-2.0
#include <ballast/layout/cu_seqlens.hpp>
#include <ballast/layout/zigzag.hpp>
#include <ballast/sharding/make_shards.hpp>
#include <ballast/sharding/plan_shards.hpp>
#include <ballast/sharding/shard_layout.hpp>

#include "support/catch.hpp"
#include "support/exhaustive_shards.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

namespace test_sharding_shard_layout {

using ballast_test::between;
using ballast_test::refusal;

TEST_CASE("shard layout: rows of a shared pass are those of zigzag sharding") {
  for (std::int64_t const ranks : {2, 4}) {
    std::vector<std::int64_t> const lengths{8 * ranks, 2 * ranks, 6 * ranks};
    ballast::pass_list<> list;
    std::vector<std::uint32_t> block(static_cast<std::size_t>(ranks));
    std::iota(block.begin(), block.end(), std::uint32_t{0});
    list.ranks.push_back(block);
    list.placements = {{.sample = 0}, {.sample = 1}, {.sample = 2}};
    auto const plan = make_shards(lengths, list, static_cast<std::uint64_t>(ranks));
    std::vector<std::uint32_t> const row{0, 1, 2};
    auto const cu = ballast::cu_seqlens<std::int64_t>(row, lengths, 2 * ranks);
    for (std::int64_t r = 0; r < ranks; ++r) {
      auto const rank = static_cast<std::size_t>(r);
      CHECK(shard_samples(plan, rank, 0) == row);
      CHECK(ballast::shard_token_indices(plan, rank, 0, std::span(cu).first(3)) == ballast::zigzag_indices<std::int64_t>(cu, {ranks}, r));
      auto const local = ballast::shard_cu_seqlens<std::int64_t>(plan, rank, 0);
      for (std::size_t i = 0; i < cu.size(); ++i) CHECK(local[i] * ranks == cu[i]);
    }
  }
}

TEST_CASE("shard layout: over all ranks and passes, each token of the data set is read once, at its position") {
  ballast::splitmix64 draw(2);
  for (int round = 0; round < 40; ++round) {
    auto const lengths = ballast_test::random_lengths(static_cast<std::size_t>(between(1, 40, draw)), 4000, draw);
    std::vector<std::int64_t> starts(lengths.size());
    std::exclusive_scan(lengths.begin(), lengths.end(), starts.begin(), std::int64_t{0});
    auto const plan = ballast::plan_shards(lengths, {.capacity = 1000, .ranks = 8, .cost_per_pass = 1000000}, ballast_test::flexsp_cost());
    std::vector<int> read(static_cast<std::size_t>(starts.back() + lengths.back()), 0);
    for (std::size_t r = 0; r < plan.ranks(); ++r)
      for (std::size_t m = 0; m < plan.passes(r); ++m) {
        auto const indices = ballast::shard_token_indices(plan, r, m, starts);
        auto const positions = ballast::shard_position_ids<std::int64_t>(plan, r, m);
        auto const cu = ballast::shard_cu_seqlens<std::int64_t>(plan, r, m);
        auto const samples = shard_samples(plan, r, m);
        REQUIRE(samples.size() + 1 == cu.size());
        REQUIRE(cu.back() == static_cast<std::int64_t>(indices.size()));
        for (std::size_t i = 0; i < samples.size(); ++i)
          for (auto t = static_cast<std::size_t>(cu[i]); t < static_cast<std::size_t>(cu[i + 1]); ++t) {
            CHECK(indices[t] == starts[samples[i]] + positions[t]);
            ++read[static_cast<std::size_t>(indices[t])];
          }
      }
    CHECK(std::all_of(read.begin(), read.end(), [](int times) { return times == 1; }));
  }
}

TEST_CASE("shard layout: refuses what does not exist or does not fit") {
  auto const plan = ballast::plan_shards(std::vector{5, 3}, {.capacity = 100, .ranks = 2}, ballast_test::flexsp_cost());
  std::int64_t const one[] = {0};
  std::int64_t const far[] = {std::int64_t{1} << 40, 0};
  CHECK(refusal([&] { return shard_samples(plan, 2, 0); }) == "rank = 2 must be below 2");
  CHECK(refusal([&] { return ballast::shard_cu_seqlens(plan, 0, 9); }).starts_with("pass = 9 must be below "));
  CHECK(refusal([&] {
          return ballast::shard_token_indices(plan, 0, 0, one).size() + ballast::shard_token_indices(plan, 1, 0, one).size();
        }) == "starts has 1 entry, none for sample 1");
  CHECK(refusal([&] {
          return ballast::shard_token_indices<std::int32_t>(plan, 0, 0, far).size() +
                 ballast::shard_token_indices<std::int32_t>(plan, 1, 0, far).size();
        }).ends_with(" does not fit in 32 bits"));
}

}  // namespace test_sharding_shard_layout
