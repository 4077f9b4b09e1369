// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching.hpp>
#include <ballast/core/hash.hpp>
#include <ballast/cost/polynomial.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include "support/archetypes.hpp"
#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace test_batching_planners {

// What every planner of steps owes its caller, shown on all of them at once.

using namespace ballast_test;
using ballast::left_over;
using ballast::synchronisation;
using options = ballast::batching_options;
using plan = ballast::batching<>;

namespace {

struct planner {
  char const* name;
  plan (*make)(std::vector<std::int64_t> const&, options const&);
  std::uint32_t overhead = 0;
};

auto packed(std::vector<std::int64_t> const& lengths, options const& o) {
  return ballast::best_fit_shuffled(lengths, {.capacity = o.capacity, .seed = o.seed}).packs;
}

planner const planners[] = {
    {"in order",
     [](auto const& l, options const& o) {
       return ballast::deal_steps(packed(l, o), l, o, ballast::dense_4096_cost, {.how = ballast::dealing::in_order});
     }},
    {"random",
     [](auto const& l, options const& o) {
       return ballast::deal_steps(packed(l, o), l, o, ballast::dense_4096_cost, {.how = ballast::dealing::random});
     }},
    {"sorted", [](auto const& l, options const& o) { return ballast::deal_steps(packed(l, o), l, o, ballast::dense_4096_cost); }},
    {"windows, redealt",
     [](auto const& l, options const& o) {
       return ballast::deal_steps(packed(l, o), l, o, ballast::dense_4096_cost,
                                  {.window = 2, .emission = ballast::emission::shuffled, .redeal = true});
     }},
    {"rows",
     [](auto const& l, options const& o) {
       return ballast::deal_steps(packed(l, o), l, o, ballast::dense_4096_cost,
                                  {.how = ballast::dealing::rows, .window = 3, .redeal = true});
     }},
    {"stream",
     [](auto const& l, options const& o) { return ballast::stream_steps(l, o, ballast::dense_4096_cost, {.tuning = {.threshold = 0}}); }},
    {"stream, as full as balanced",
     [](auto const& l, options const& o) {
       return ballast::stream_steps(l, o, ballast::dense_4096_cost, {.tuning = {.fill = 0, .threshold = 0}});
     }},
    {"stream, gathered", [](auto const& l, options const& o) { return ballast::stream_steps(l, o, ballast::dense_4096_cost); }},
    {"stream, shared",
     [](auto const& l, options const& o) {
       return ballast::stream_steps(l, o, ballast::dense_4096_cost, {.share_overhead = 43, .tuning = {.threshold = 0, .share = 400}});
     },
     43},
    {"stream, gathered and shared",
     [](auto const& l, options const& o) {
       return ballast::stream_steps(l, o, ballast::dense_4096_cost, {.most_ranks_shared = 2, .tuning = {.threshold = 200, .share = 500}});
     }},
    {"default", [](auto const& l, options const& o) { return ballast::plan_steps(l, o, ballast::dense_4096_cost); }},
};

/// The plan in one number: packs and table.
std::uint64_t fingerprint(plan const& p) {
  ballast::fnv1a h;
  h.append(ballast::hash(p.packs));
  for (auto place : p.table) h.append(place);
  return h.value();
}

}  // namespace

TEST_CASE("planners of steps: every sample once or named, no capacity exceeded, the certificate true") {
  ballast::splitmix64 draw(31);
  for (int round = 0; round < 60; ++round) {
    auto const count = static_cast<std::size_t>(round < 8 ? round : 1 << (round % 10));
    auto const lengths = random_lengths(count, 1000, draw);
    options const o{.capacity = 1000 + between(0, 1, draw) * 500,
                    .ranks = static_cast<std::uint64_t>(between(1, 9, draw)),
                    .micro_batches = static_cast<std::uint64_t>(between(1, 4, draw)),
                    .synchronisation = static_cast<synchronisation>(round % 3),
                    .stages = static_cast<std::uint64_t>(between(1, 4, draw)),
                    .left_over = static_cast<left_over>(draw() % 4),
                    .seed = draw()};
    for (auto const& p : planners) {
      CAPTURE(p.name, round, count, o.capacity, o.ranks, o.micro_batches, static_cast<int>(o.left_over),
              static_cast<int>(o.synchronisation));
      auto const made = p.make(lengths, o);
      CHECK(ballast::describe(ballast::check_batching(made, lengths, o, ballast::dense_4096_cost, p.overhead)) == "valid");
      CHECK(fingerprint(made) == fingerprint(p.make(lengths, o)));
      CHECK((o.left_over == left_over::drop || made.dropped.empty()));
      CHECK((o.left_over == left_over::repeat || made.repeated.empty()));
    }
  }
}

TEST_CASE("every rank of a step has the same number of micro-batches unless there are too few samples") {
  ballast::splitmix64 draw(73);
  ballast::fnv1a unequal, priced;  // the plans whose ranks may have different numbers, without and with a price of micro-batches
  std::size_t steps = 0, spared = 0, differ = 0;
  for (int round = 0; round < 240; round += round_step) {
    options o{.capacity = 1000 + between(0, 1, draw) * 500,
              .ranks = static_cast<std::uint64_t>(between(1, 12, draw)),
              .micro_batches = static_cast<std::uint64_t>(between(1, 6, draw)),
              .synchronisation = static_cast<synchronisation>(round % 3),
              .stages = static_cast<std::uint64_t>(between(1, 5, draw)),
              .left_over = static_cast<left_over>(round / 3 % 4),
              .seed = draw()};
    if (draw() % 2 == 0) o.cost_per_micro_batch = 1'000'000;
    auto lengths = random_lengths(static_cast<std::size_t>(round < 24 ? round : between(1, 400, draw)), 1000, draw);
    if (round % 5 == 0)
      for (auto& l : lengths) l = 300 + l * 7 / 10;  // few samples in each micro-batch
    for (auto const& p : planners) {
      CAPTURE(p.name, round, lengths.size(), o.capacity, o.ranks, o.micro_batches, static_cast<int>(o.left_over),
              static_cast<int>(o.synchronisation));
      auto const made = p.make(lengths, o);
      CHECK(ballast::describe(ballast::check_batching(made, lengths, o, ballast::dense_4096_cost, p.overhead)) == "valid");
      for (std::size_t s = 0; s < made.steps(); ++s) {
        std::size_t fewest = made.table.size(), most = 0, samples = 0;
        for (std::size_t r = 0; r < made.ranks; ++r) {
          std::size_t has = 0;
          for (auto const pack : made.packs_of(s, r)) {
            samples += pack.size();
            ++has;
          }
          fewest = (std::min)(fewest, has);
          most = (std::max)(most, has);
        }
        ++steps;
        if (fewest == most) continue;
        ++spared;
        auto const shares = std::any_of(made.shared.begin(), made.shared.end(), [&](auto const& x) { return x.step == s; });
        CHECK((s + 1 == made.steps() || shares));
        CHECK((samples < most * made.ranks || shares));
      }
      auto without = o;
      without.equal_micro_batches = false;
      auto const as_before = p.make(lengths, without);
      CHECK(ballast::describe(ballast::check_batching(as_before, lengths, without, ballast::dense_4096_cost, p.overhead)) == "valid");
      (o.cost_per_micro_batch == 0 ? unequal : priced).append(fingerprint(as_before));
      differ += fingerprint(as_before) == fingerprint(made) ? 0U : 1U;
    }
  }
  CAPTURE(steps, spared, differ);
  if (round_step == 1) CHECK(unequal.value() == 0x3f831c616fe15fffU);
  if (round_step == 1) CHECK(priced.value() == 0x64fb8e1f5a9abc15U);
  CHECK((steps > 10'000 / round_step && differ > 200 / round_step && 50 * spared < steps));
}

TEST_CASE("the price of a micro-batch and of a step enters value and bound, and nothing else of a finished table") {
  ballast::splitmix64 draw(29);
  for (int round = 0; round < 12; ++round) {
    auto const lengths = random_lengths(300, 900, draw);
    options const free{.capacity = 1000,
                       .ranks = 1 + draw() % 8,
                       .micro_batches = 1 + draw() % 3,
                       .synchronisation = static_cast<synchronisation>(round % 3),
                       .stages = 3,
                       .seed = draw()};
    auto priced = free;
    priced.cost_per_micro_batch = 1 + static_cast<std::int64_t>(draw() % 1'000'000);
    priced.cost_per_step = static_cast<std::int64_t>(draw() % 10'000'000);
    auto const packs = packed(lengths, free);
    auto const without = ballast::deal_steps(packs, lengths, free, ballast::dense_4096_cost, {.how = ballast::dealing::in_order}),
               with = ballast::deal_steps(packs, lengths, priced, ballast::dense_4096_cost, {.how = ballast::dealing::in_order});
    CAPTURE(round, free.ranks, free.micro_batches, without.slowest.lower_bound, with.slowest.lower_bound);
    CHECK(with.table == without.table);
    CHECK(ballast::describe(ballast::check_batching(with, lengths, priced, ballast::dense_4096_cost)) == "valid");
    CHECK(ballast::check_batching(with, lengths, free, ballast::dense_4096_cost).fault == ballast::batching_fault::wrong_cost);
    CHECK(ballast::check_batching(without, lengths, priced, ballast::dense_4096_cost).fault == ballast::batching_fault::wrong_cost);
    auto const steps = static_cast<std::int64_t>(with.steps()), ranks = static_cast<std::int64_t>(with.ranks);
    auto const taken = std::count_if(with.table.begin(), with.table.end(), [&](auto p) { return p != with.none; });
    CHECK(with.cost - without.cost == priced.cost_per_step * steps * ranks + priced.cost_per_micro_batch * taken);
    CHECK(with.slowest.lower_bound >= without.slowest.lower_bound + priced.cost_per_step * steps);
  }
  std::vector<std::int64_t> const l{5, 6, 7};
  auto const refused = [&](std::int64_t each, std::int64_t step, std::uint32_t fill = 0) {
    return refusal([&] {
      return ballast::plan_steps(l, {.capacity = 8, .cost_per_micro_batch = each, .cost_per_step = step, .least_fill = fill},
                                 ballast::dense_4096_cost);
    });
  };
  CHECK(refused(-1, 0) == "cost_per_micro_batch = -1 must not be negative");
  CHECK(refused(0, -7) == "cost_per_step = -7 must not be negative");
  CHECK(refused(0, 0, 1001) == "least_fill = 1001 must be at most 1000");
  CHECK(refused(std::int64_t{1} << 60, 9) ==
        "cost_per_micro_batch = 1152921504606846976 and cost_per_step = 9 bring the cost of 3 samples too near to 2^63; count costs in a "
        "larger unit");
  CHECK(refused(0, std::int64_t{1} << 59).find("too near to 2^63") != std::string::npos);
  CHECK(refused(std::int64_t{1} << 58, std::int64_t{1} << 57) == "accepted");
}

TEST_CASE("no rank without work: conversations cut at the capacity, on many ranks") {
  // As the lengths of published traces: most are short, some fill a micro-batch.
  ballast::splitmix64 draw(41);
  for (int round = 0; round < 60; round += round_step) {
    options const o{.capacity = 4096,
                    .ranks = round % 2 == 0 ? 16U : 5U,
                    .micro_batches = 1 + 3 * (draw() % 2),
                    .synchronisation = static_cast<synchronisation>(draw() % 3),
                    .stages = 2,
                    .left_over = static_cast<left_over>(draw() % 4),
                    .seed = draw()};
    std::vector<std::int64_t> lengths(1000 + draw() % 200);
    for (auto& l : lengths) {
      auto const scale = draw() % 8;
      l = (std::min)(o.capacity, std::int64_t{20} + static_cast<std::int64_t>(draw() % (std::uint64_t{64} << scale)));
    }
    for (auto const& p : planners) {
      auto const made = p.make(lengths, o);
      auto const replicas = o.synchronisation == synchronisation::pipeline;
      CAPTURE(p.name, round, static_cast<int>(o.left_over), static_cast<int>(o.synchronisation));
      // What a trainer counts: micro-batches of each rank in each step.
      std::size_t idle = 0, missing = 0;
      for (std::size_t s = 0; s < made.steps(); ++s)
        for (std::size_t r = 0; r < made.ranks; ++r) {
          auto const mine = made.packs_of(s, r);
          auto const has = static_cast<std::uint64_t>(std::ranges::distance(mine.begin(), mine.end()));
          if (has == 0) ++idle;
          if (has != made.micro_batches && !replicas && (o.left_over != left_over::shorten || s + 1 < made.steps())) ++missing;
        }
      CHECK(idle == made.idle_ranks().size());  // in the last step alone
      CHECK((idle == 0 || o.left_over == left_over::shorten));
      CHECK(missing == 0);
    }
  }
}

TEST_CASE("a last step of fewer samples than places: all of them apart, spread evenly, and ranks without any are named") {
  for (auto const& p : planners) {
    if (std::string(p.name).find("shared") != std::string::npos) continue;
    CAPTURE(p.name);
    std::vector<std::int64_t> const long_ones(2050, 8192), ten(10, 100);
    auto const many = p.make(long_ones, {.capacity = 8192, .ranks = 8});
    CHECK(many.steps() == 257);
    CHECK(many.idle_ranks() == std::vector<std::uint64_t>{2, 3, 4, 5, 6, 7});
    auto const few = p.make(ten, {.capacity = 8192, .ranks = 8, .micro_batches = 8});
    CHECK(few.steps() == 1);
    CHECK(few.idle_ranks().empty());
    if (few.micro_batches == 8) CHECK(few.packs.size() == 8);  // two pairs, so that all ranks have equal numbers
    auto const apart = p.make(ten, {.capacity = 8192, .ranks = 8, .micro_batches = 8, .equal_micro_batches = false});
    if (apart.micro_batches == 8) CHECK(apart.packs.size() == 10);
    auto const large = p.make(std::vector<std::int64_t>(10, 5000), {.capacity = 8192, .ranks = 8, .micro_batches = 8});
    CHECK(large.packs.size() == 10);  // no two of them fit into a micro-batch
    auto const all = p.make(ten, {.capacity = 8192, .ranks = 8, .micro_batches = 8, .left_over = left_over::repeat});
    CHECK(all.idle_ranks().empty());
    if (all.micro_batches == 8) CHECK(std::count(all.table.begin(), all.table.end(), all.none) == 0);
    CHECK(p.make(ten, {.capacity = 8192, .ranks = 8, .micro_batches = 8, .left_over = left_over::drop}).steps() <= 1);
  }
}

TEST_CASE("plan_steps: equal samples take the fewest steps there can be") {
  for (auto const wait : {synchronisation::per_step, synchronisation::per_micro_batch, synchronisation::pipeline})
    for (std::int64_t const length : {8192, 4097, 4096, 3000})
      for (std::uint64_t const ranks : {1U, 8U, 64U})
        for (std::uint64_t const each : {1U, 2U, 3U, 8U})
          for (std::size_t const count : {std::size_t{1}, std::size_t{512}, std::size_t{514}}) {
            options const o{.capacity = 8192, .ranks = ranks, .micro_batches = each, .synchronisation = wait, .stages = 4};
            std::vector<std::int64_t> const l(count, length);
            auto const made = ballast::plan_steps(l, o, ballast::dense_4096_cost);
            auto const a_step = static_cast<std::size_t>(8192 / length) * ranks * each;
            CAPTURE(static_cast<int>(wait), length, ranks, each, count);
            CHECK(made.steps() == (count + a_step - 1) / a_step);
            CHECK(ballast::describe(ballast::check_batching(made, l, o, ballast::dense_4096_cost)) == "valid");
          }
}

TEST_CASE("left_over::repeat: what would not be a sum of 63 bits is refused") {
  std::vector<std::int64_t> const one{1000};
  options const o{.capacity = 1000, .ranks = 4, .micro_batches = 16, .left_over = left_over::repeat};
  auto const costs = [](int bits) { return [bits](std::int64_t) { return std::int64_t{1} << bits; }; };
  auto const run = [&](int bits) {
    return refusal(
        [&] { (void)ballast::deal_steps(ballast::groups<>{{0, 1}, {0}}, one, o, costs(bits), {.how = ballast::dealing::in_order}); });
  };
  CHECK(run(59).find("the last step repeats sample 0 of cost 576460752303423488 until") == 0);
  CHECK(run(54) == "accepted");
  CHECK(refusal([&] { (void)ballast::plan_steps(one, o, costs(59)); }).find("the last step repeats sample 0") == 0);
  auto const made = ballast::plan_steps(one, o, costs(54));
  CHECK(made.slowest.value == std::int64_t{1} << 58);
  CHECK(made.slowest.lower_bound == made.slowest.value);
}

TEST_CASE("planners of steps: the golden plans") {
  auto const l32 = golden_lengths();
  std::vector<std::int64_t> const lengths(l32.begin(), l32.end());
  std::vector<std::uint64_t> found;
  for (auto const& p : planners)
    found.push_back(fingerprint(p.make(lengths, {.capacity = 2048, .ranks = 16, .stages = 2, .seed = 7, .epoch = 1})));
  CHECK(found == std::vector<std::uint64_t>{0xd89a9fc51c63f69eU, 0x093cd685a4de1f96U, 0xd4ccafbcdcc3e2faU, 0x1b68929bbf44524bU,
                                            0x8655bb672cbd7cc2U, 0x3da2b97a8bb0e6f6U, 0x32e3c04400f71865U, 0x5a9fd4aa28953c5eU,
                                            0x32b4afdb5dfdcbfaU, 0xaf37aff6c1466968U, 0x73c799063246a936U});
}

TEST_CASE("the bound is none that a plan goes below: all deals of small steps") {
  ballast::splitmix64 draw(17);
  for (int round = 0; round < 60; round += round_step) {
    auto const lengths = random_lengths(6, 100, draw);
    for (auto const wait : {synchronisation::per_step, synchronisation::per_micro_batch, synchronisation::pipeline}) {
      options const o{
          .capacity = 300, .ranks = 2, .micro_batches = 2, .synchronisation = wait, .stages = 3, .left_over = left_over::shorten};
      // Every way to give six samples to four places.
      auto best = std::int64_t{-1}, bound = std::int64_t{0};
      for (unsigned code = 0; code < 4096; ++code) {
        std::vector<std::uint32_t> in[4];
        for (std::uint32_t i = 0; i < 6; ++i) in[code >> (2 * i) & 3].push_back(i);
        ballast::groups<> packs;
        for (auto const& pack : in)
          if (!pack.empty()) packs.push_back(pack);
        if (packs.size() < 4) continue;
        std::int64_t most = 0;
        for (auto const pack : packs) {
          std::int64_t sum = 0;
          for (auto i : pack) sum += lengths[i];
          most = (std::max)(most, sum);
        }
        if (most > o.capacity) continue;
        auto const made = ballast::deal_steps(packs, lengths, o, ballast::dense_4096_cost, {.how = ballast::dealing::in_order});
        bound = made.slowest.lower_bound;
        if (best < 0 || made.slowest.value < best) best = made.slowest.value;
      }
      if (best < 0) continue;
      CHECK(bound <= best);
      CHECK(bound > best / 3);
      if (wait != synchronisation::per_step) continue;
      auto const streamed = ballast::stream_steps(lengths, o, ballast::dense_4096_cost, {.tuning = {.threshold = 0}});
      if (streamed.steps() == 1) CHECK(streamed.slowest.value <= best + best / 3);
    }
  }
}

}  // namespace test_batching_planners
