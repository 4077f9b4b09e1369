// SPDX-License-Identifier: Apache-2.0
#include <ballast/packing/padded_batches.hpp>

#include <ballast/packing/check_padded.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_packing_padded_batches {

using namespace ballast_test;
using namespace ballast;

namespace {

/// The fewest batches of any partition, tried sample by sample.
std::size_t fewest(std::vector<std::int64_t> const& lengths, packing_options const& o) {
  std::vector<std::vector<std::int64_t>> batches;
  auto best = lengths.size();
  auto const holds = [&](std::vector<std::int64_t> const& batch) {
    auto const longest = (*std::max_element(batch.begin(), batch.end()) + o.sample_multiple - 1) / o.sample_multiple * o.sample_multiple;
    return longest * static_cast<std::int64_t>(batch.size()) <= o.capacity && (o.max_samples == 0 || batch.size() <= o.max_samples);
  };
  auto const place = [&](auto const& self, std::size_t i) -> void {
    if (batches.size() >= best && i < lengths.size()) return;
    if (i == lengths.size()) {
      best = (std::min)(best, batches.size());
      return;
    }
    for (std::size_t b = 0; b <= batches.size(); ++b) {
      if (b == batches.size()) batches.emplace_back();
      batches[b].push_back(lengths[i]);
      if (holds(batches[b])) self(self, i + 1);
      batches[b].pop_back();
      if (batches[b].empty()) {
        batches.pop_back();
        break;
      }
    }
  };
  place(place, 0);
  return best;
}

}  // namespace

TEST_CASE("padded_batches: no partition of few samples has fewer batches") {
  splitmix64 draw(41);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::int64_t> lengths(draw() % 9);
    for (auto& l : lengths) l = between(1, 30, draw);
    packing_options const o{.capacity = 32 + between(0, 60, draw),
                            .max_samples = draw() % 3 == 0 ? 2 + draw() % 3 : 0,
                            .sample_multiple = draw() % 3 == 0 ? 4 : 1};
    CAPTURE(round, lengths, o.capacity, o.max_samples, o.sample_multiple);
    auto const plan = padded_batches(lengths, o);
    CHECK(check_padded(plan.packs, lengths, o).valid());
    CHECK(plan.packs.size() == fewest(lengths, o));
    CHECK(plan.count == certificate{static_cast<std::int64_t>(plan.packs.size()), static_cast<std::int64_t>(plan.packs.size())});
    CHECK(plan.tokens == std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}));
    CHECK(plan == padded_batches(lengths, o));
  }
}

TEST_CASE("padded_batches: many samples, each policy, and what rows are padded to") {
  splitmix64 draw(42);
  std::vector<std::int64_t> lengths(5000);
  for (auto& l : lengths) l = between(1, draw() % 20 == 0 ? 3000 : 400, draw);
  for (auto const policy : {oversize::set_aside, oversize::truncate}) {
    packing_options const o{.capacity = 2048, .sample_multiple = 16, .oversize = policy};
    auto const plan = padded_batches(lengths, o);
    CHECK(check_padded(plan.packs, lengths, o).valid());
    CHECK(plan.set_aside.empty() == (policy == oversize::truncate));
    CHECK(plan.bound == packing_bound::longest_rows);
    CHECK(to_string(plan.bound) == "longest-rows");
    std::vector<std::int64_t> cut(lengths);
    for (auto& l : cut) l = (std::min)(l, o.capacity);
    auto const padded = padded_lengths(plan.packs, cut, o.sample_multiple);
    for (auto const batch : plan.packs) {
      std::int64_t sum = 0;
      for (auto const i : batch) {
        CHECK(padded[i] == padded[batch[0]]);
        CHECK(padded[i] % 16 == 0);
        CHECK(padded[i] >= cut[i]);
        sum += padded[i];
      }
      CHECK(sum <= o.capacity);
    }
  }
  CHECK(padded_batches(std::vector<int>{}, {.capacity = 8}).bound == packing_bound::none);
  CHECK(padded_batches(std::vector<int>{4, 4}, {.capacity = 8}).packs.size() == 1);
  CHECK(padded_batches(std::vector<int>{5, 1}, {.capacity = 8}).packs.size() == 2);
}

TEST_CASE("padded_batches: what padded rows cannot have is refused") {
  std::vector<int> const lengths{5, 4, 4, 9};
  groups<> seven;
  seven.push_back(std::vector<std::uint32_t>{7});
  for (auto const policy : {oversize::split, oversize::alone})
    CHECK(refusal([&] { return padded_batches(lengths, {.capacity = 10, .oversize = policy}); }) ==
          "oversize: a padded row can be rejected, set aside or truncated");
  CHECK(refusal([&] { return padded_batches(lengths, {.capacity = 10, .pack_count = 2}); }) ==
        "pack_count, pack_count_multiple and pack_multiple are not for padded batches");
  CHECK(refusal([&] { return padded_lengths(seven, std::vector<std::int64_t>{1}); }) == "a batch holds 7, which is no sample");
}

}  // namespace test_packing_padded_batches
