// SPDX-License-Identifier: Apache-2.0
#include <ballast/batching/balanced_measures.hpp>
#include <ballast/core/hash.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace test_batching_balanced_measures {

using namespace ballast_test;
using namespace ballast;

namespace {

/// Image tokens, and all tokens; six samples in ten are text alone.
struct images_and_text {
  std::vector<std::int64_t> images, tokens;
  [[nodiscard]] sample_measures view() const { return {images, tokens}; }
};

images_and_text draw_samples(std::size_t n, splitmix64& draw) {
  images_and_text out;
  for (std::size_t i = 0; i < n; ++i) {
    auto const images = draw() % 10 < 6 ? 0 : 256 * between(1, draw() % 5 == 0 ? 20 : 4, draw);
    auto const words = between(10, draw() % 6 == 0 ? 3000 : 400, draw);
    out.images.push_back(images);
    out.tokens.push_back(images + words);
  }
  return out;
}

/// The time of a model that reads images as fast as text.
struct by_tokens {
  std::int64_t operator()(std::span<std::int64_t const> of) const { return of[1] * (20'000 + of[1]); }
};

/// Throws unless each sample is in one place or named, and no pack exceeds a capacity.
void check_places(batching<> const& steps, images_and_text const& of, vector_batching_options const& o) {
  std::vector<int> seen(of.tokens.size());
  for (std::size_t s = 0; s < steps.steps(); ++s)
    for (auto const pack : steps.packs_of(s)) {
      std::int64_t images = 0, tokens = 0;
      REQUIRE(!pack.empty());
      REQUIRE((o.max_samples == 0 || pack.size() <= o.max_samples));
      for (auto const i : pack) ++seen[i], images += of.images[i], tokens += of.tokens[i];
      REQUIRE(images <= o.others[0]);
      REQUIRE(tokens <= o.steps.capacity);
    }
  for (auto const i : steps.repeated) --seen[i];
  for (auto const i : steps.dropped) ++seen[i];
  REQUIRE(std::all_of(seen.begin(), seen.end(), [](int times) { return times == 1; }));
}

[[nodiscard]] double widest(vector_batching<> const& plan) { return (std::max)(plan.balance[0].mean_ratio, plan.balance[1].mean_ratio); }

}  // namespace

TEST_CASE("balanced_steps: nothing is lost, capacities hold, and the cost pays at most 3 % for equal measures") {
  splitmix64 draw(38);
  for (int round = 0; round < 40; round += round_step) {
    auto const samples = draw_samples(draw() % 4 == 0 ? draw() % 40 : 200 + draw() % 1500, draw);
    std::uint64_t const ranks = 1 + draw() % 9, micro_batches = 1 + draw() % 4, most = draw() % 3 == 0 ? 12 : 0;
    auto const wait = static_cast<synchronisation>(draw() % 3);
    auto const rest = static_cast<left_over>(draw() % 4);
    CAPTURE(round, samples.tokens.size(), ranks, micro_batches, most, static_cast<int>(wait), static_cast<int>(rest));
    vector_batching_options const o{.steps = {.capacity = 16'384,
                                              .ranks = ranks,
                                              .micro_batches = micro_batches,
                                              .synchronisation = wait,
                                              .stages = wait == synchronisation::pipeline ? 2U : 1U,
                                              .left_over = rest,
                                              .seed = 7},
                                    .others = {12'000},
                                    .max_samples = most};
    auto const plan = balanced_steps(samples.view(), o, by_tokens{});
    check_places(plan, samples, o);
    CHECK(hash(plan) == hash(balanced_steps(samples.view(), o, by_tokens{})));
    CHECK(plan.slowest.lower_bound <= plan.slowest.value);
    auto alone = o;  // by its cost alone, in windows of 16 steps
    if (wait != synchronisation::pipeline) alone.weights = {0, 0};
    auto const by_cost = plan_steps(samples.view(), alone, by_tokens{});
    CHECK(plan.slowest.value * 100 <= by_cost.slowest.value * 103);
    CHECK(plan.pack_count == by_cost.pack_count);
    if (wait == synchronisation::pipeline) CHECK(hash(plan) == hash(by_cost));
  }
}

TEST_CASE("balanced_steps: ranks have nearly the same of each measure, as no plan of one measure and no order of packs has") {
  splitmix64 draw(39);
  for (std::uint64_t const micro_batches : {1U, 4U})
    for (auto const wait : {synchronisation::per_step, synchronisation::per_micro_batch}) {
      CAPTURE(micro_batches, static_cast<int>(wait));
      auto const samples = draw_samples(6000, draw);
      vector_batching_options o{
          .steps = {.capacity = 16'384, .ranks = 8, .micro_batches = micro_batches, .synchronisation = wait, .seed = 7},
          .others = {12'000}};
      auto const plan = balanced_steps(samples.view(), o, by_tokens{});
      CHECK(widest(plan) < 0.04);
      CHECK(plan.cost_balance.idle() < 0.03);
      for (std::size_t m = 0; m < 2; ++m) {  // in its own measure, a plan of one measure is less than 3 points better
        auto one = o;
        one.weights = {m == 0 ? 1 : 0, m == 1 ? 1 : 0};
        CHECK(plan.balance[m].mean_ratio < plan_steps(samples.view(), one).balance[m].mean_ratio + 0.03);
      }
      auto const ordered = plan_steps(samples.view(), o);  // rows of packs alike in every measure, as `ballast pack --ranks` orders them
      CHECK((widest(plan) < 0.02 || widest(plan) < widest(ordered) / 2));  // 2 % are even enough
      o.weights = {0, 0};
      CHECK(widest(plan) < widest(plan_steps(samples.view(), o, by_tokens{})) / 2);
    }
}

}  // namespace test_batching_balanced_measures
