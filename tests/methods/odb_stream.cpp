// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/odb_stream.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace test_methods_odb_stream {

namespace odb = ballast::odb;
using lengths_t = std::vector<std::int64_t>;
using ballast_test::between;
using ballast_test::refusal;
using ballast_test::round_step;

/// What a checkpoint would keep.
odb::rank_stream<std::uint64_t>::state_type copy(odb::rank_stream<std::uint64_t>::state_type const& state) { return state; }

struct instance {
  lengths_t lengths;
  std::uint64_t ranks = 1, slots = 1;
  odb::rank_options options;
};

instance random_instance(ballast::splitmix64& draw) {
  instance made;
  made.lengths = ballast_test::random_lengths(draw() % 200, 64, draw);
  made.ranks = 1 + draw() % 5;
  made.slots = 1 + draw() % 12;
  made.options = {.budget = between(1, 200, draw), .buffer = 1 + draw() % 20};
  if (draw() % 2 == 0) made.options.keep = odb::keeping::oldest;
  return made;
}

TEST_CASE("odb: every sample of an epoch is in one batch, and ranks are idle only at their end", "[methods][property]") {
  ballast::splitmix64 draw(1);
  for (int round = 0; round < 1000; round += round_step) {
    auto const [lengths, ranks, slots, options] = random_instance(draw);
    CAPTURE(round, lengths.size(), ranks, slots, options.budget, options.buffer);
    auto const plan = odb::plan_epoch(lengths, ranks, options, slots);
    REQUIRE(plan.batches.size() == plan.steps() * ranks);
    std::vector<int> places(lengths.size(), 0);
    std::vector<std::size_t> left(ranks, 0);
    for (std::size_t i = 0; i < lengths.size(); ++i) ++left[i % ranks];
    for (std::size_t s = 0; s < plan.steps(); ++s)
      for (std::size_t r = 0; r < ranks; ++r) {
        auto const batch = plan.batches[s * ranks + r];
        REQUIRE(batch.empty() == (left[r] == 0));
        std::int64_t longest = 0;
        for (auto const i : batch) {
          ++places[i];
          REQUIRE(i % ranks == r);
          longest = (std::max)(longest, lengths[i]);
        }
        auto const count = static_cast<std::int64_t>(batch.size());
        REQUIRE((count <= 1 || count * longest <= options.budget));
        left[r] -= batch.size();
      }
    REQUIRE(std::count(places.begin(), places.end(), 1) == static_cast<std::ptrdiff_t>(lengths.size()));
    REQUIRE(plan == odb::plan_epoch(lengths, ranks, options, slots));
    if (options.keep == odb::keeping::oldest)
      for (auto const delay : plan.delays) REQUIRE(delay < options.buffer);
  }
}

TEST_CASE("odb: a stream that is resumed at any round continues as if it had not stopped", "[methods][property]") {
  ballast::splitmix64 draw(2);
  for (int round = 0; round < 300; round += round_step) {
    auto const [lengths, ranks, slots, options] = random_instance(draw);
    auto const whole = odb::plan_epoch<std::uint64_t>(lengths, ranks, options, slots);
    std::vector<odb::rank_stream<std::uint64_t>> streams(ranks, odb::rank_stream<std::uint64_t>(options));
    ballast::groups<std::uint64_t> batches;
    for (std::uint64_t target = 1; target > 0;) {
      std::vector<odb::rank_counts> counts;
      for (std::size_t r = 0; r < ranks; ++r) {
        while (!streams[r].ready()) {
          if (draw() % 4 == 0) streams[r] = odb::rank_stream<std::uint64_t>(options, copy(streams[r].state()));
          auto const next = streams[r].state().samples * ranks + r;
          if (next < lengths.size())
            REQUIRE(streams[r].push(lengths[next]) == next / ranks);
          else
            streams[r].end();
        }
        if (draw() % 2 == 0) streams[r] = odb::rank_stream<std::uint64_t>(options, copy(streams[r].state()));
        counts.push_back(streams[r].counts(slots));
      }
      target = odb::group_target(counts);
      std::vector<ballast::groups<std::uint64_t>> taken;
      for (auto& stream : streams) taken.push_back(stream.take(target));
      for (std::size_t s = 0; s < target; ++s)
        for (std::size_t r = 0; r < ranks; ++r) {
          std::vector<std::uint64_t> batch;
          if (!taken[r].empty())
            for (auto const i : taken[r][s]) batch.push_back(i * ranks + r);
          batches.push_back(batch);
        }
    }
    REQUIRE(batches == whole.batches);
    REQUIRE(std::all_of(streams.begin(), streams.end(), [](auto const& s) { return s.done(); }));
  }
}

TEST_CASE("odb: with few slots, a long sample waits for the end of the epoch unless the oldest leave first", "[methods]") {
  lengths_t lengths(400, 1);
  lengths[0] = 90;  // one group of one sample, always the smallest
  odb::rank_options options{.budget = 100, .buffer = 40};
  lengths[1] = 50;
  auto const published = odb::plan_epoch(lengths, 1, options, 1);
  options.keep = odb::keeping::oldest;
  auto const oldest = odb::plan_epoch(lengths, 1, options, 1);
  CHECK(published.delays[0] == published.rounds - 1);
  CHECK(oldest.delays[0] == 0);
}

TEST_CASE("odb: empty and tiny epochs", "[methods]") {
  odb::rank_options const options{.budget = 10, .buffer = 4};
  CHECK(odb::plan_epoch(lengths_t{}, 3, options).steps() == 0);
  auto const one = odb::plan_epoch(lengths_t{7}, 3, options);
  CHECK(one.steps() == 1);
  CHECK(one.batches.members == std::vector<std::uint32_t>{0});
  CHECK(one.batches.offsets == std::vector<std::uint64_t>{0, 1, 1, 1});
  odb::rank_stream<> stream(options);
  CHECK_FALSE(stream.ready());
  CHECK(stream.take(3).empty());
  CHECK(stream.counts() == odb::rank_counts{});
  for (int i = 0; i < 4; ++i) stream.push(5);
  CHECK(stream.ready());
  CHECK(stream.counts(7) == odb::rank_counts{2, 4, 7});
  CHECK(stream.take(0).empty());
  CHECK(stream.counts().samples == 4);
}

TEST_CASE("odb: a stream refuses misuse", "[methods]") {
  using stream = odb::rank_stream<>;
  odb::rank_options const good{.budget = 10, .buffer = 4};
  CHECK(refusal([] { return stream({.budget = 0}); }) == "budget = 0 must be positive");
  CHECK(refusal([] { return stream({.budget = 1, .buffer = 0}); }) == "buffer = 0 must be positive");
  CHECK(refusal([&] { return stream(good, {2, false, {{0, 0}}}); }) == "state.buffer[0] = 0 tokens must be positive");
  CHECK(refusal([&] { return stream(good, {2, false, {{2, 1}}}); }) == "state.buffer[0] = 2 must ascend, below state.samples");
  CHECK(refusal([&] { return stream(good, {2, false, {{1, 1}, {0, 1}}}); }) == "state.buffer[1] = 0 must ascend, below state.samples");
  stream some(good);
  some.push(1);
  CHECK(refusal([&] { return some.push(0); }) == "sample[1] = 0 tokens must be positive");
  CHECK(refusal([&] { return some.take(2); }) == "target = 2 exceeds the 1 samples of the rank");
  CHECK(some.counts().samples == 1);
  some.end();
  CHECK(refusal([&] { return some.push(1); }) == "the stream has ended");
  CHECK(refusal([&] { return odb::plan_epoch(lengths_t{1}, 0, good); }) == "ranks = 0 must be positive");
  CHECK(refusal([&] { return odb::plan_epoch(lengths_t{1}, 1, good, 0); }) == "slots = 0 must be positive");
  CHECK(refusal([&] { return odb::plan_epoch(lengths_t{1, -1}, 1, good); }) == "lengths[1] = -1 must be positive");
}

}  // namespace test_methods_odb_stream
