// SPDX-License-Identifier: Apache-2.0
#include <ballast/methods/omnibal_training.hpp>

#include "support/catch.hpp"
#include "support/omnibal_ablation.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace test_methods_omnibal_training {

using namespace ballast;
using ballast_test::refusal;
using cut = std::vector<std::uint32_t>;

namespace {

surrogate::samples const& mixture() {
  static auto const all = ablation::some_of(surrogate::vision_mixture(surrogate::four_files_redrawn()), 24'000);
  return all;
}
ablation::trained_model const& megatron() {
  static auto const setting = ablation::with_megatron(vision_language_preset("internvl-chat-1.5"));
  return setting;
}

}  // namespace

TEST_CASE("omnibal_training: table 2's three gains, modelled", "[published]") {
  auto const rows = ablation::rows_of(megatron(), mixture());
  for (auto const& r : rows) {
    CAPTURE(r.name);
    CHECK(r.plan.status == status::feasible);
    for (auto const& m : r.plan.memory) CHECK(m.bytes() <= 72'000'000'000);
  }
  auto const gain = [&](std::size_t after) { return rows[after - 1].seconds_per_sample / rows[after].seconds_per_sample; };
  double const published[] = {61.8, 51.9, 29.0, 21.3};  // GPU days
  for (std::size_t k = 1; k < 4; ++k) {
    CAPTURE(rows[k].name, gain(k));
    CHECK(gain(k) > 0.75 * published[k - 1] / published[k]);
    CHECK(gain(k) < 1.25 * published[k - 1] / published[k]);
  }
  CHECK(gain(4) > 1.05);  // the library's plan is faster than the paper's
}

TEST_CASE("omnibal_training: packs, cut and recomputation follow one another") {
  auto const& m = megatron();
  auto const found = m.omnibal_plan(mixture());
  CHECK(found.data.steps.table == omnibal::plan_data(mixture().tiles, mixture().tokens, {.ranks = 4, .micro_batches = 16}).steps.table);
  CHECK(found.cuts.tried == 27);
  REQUIRE(found.measured.size() == 27);
  CHECK(found.measured[found.chosen] == *std::min_element(found.measured.begin(), found.measured.end()));
  auto const& boundaries = found.cuts.candidates[found.chosen].boundaries;
  CHECK(found.plan.stages.partition.boundaries == boundaries);
  REQUIRE(found.recomputed.size() == 4);
  auto const data = ablation::loaded(found.data.steps, mixture());
  auto const all = m.recomputed(data, boundaries);
  auto some = std::size_t{0};
  for (std::size_t s = 0; s < 4; ++s) {
    auto const inside = std::count_if(m.kinds.begin() + boundaries[s], m.kinds.begin() + boundaries[s + 1],
                                      [](auto kind) { return kind != omnibal::layer_kind::other; });
    CHECK((found.recomputed[s] >= 0 && found.recomputed[s] <= inside));
    CHECK(found.plan.memory[s].bytes() <= m.memory - omnibal::default_reserve);
    CHECK(found.plan.memory[s].bytes() >= all.memory[s].bytes());
    some += found.recomputed[s] > 0 && found.recomputed[s] < inside ? 1U : 0U;
  }
  CHECK(some > 0);
  CHECK(found.plan.time.value < all.time.value);
  auto const of_model = omnibal::plan_training(mixture().tiles, mixture().tokens, m.model, m.on, m.by,
                                               {.data = {.ranks = 4, .micro_batches = 16}, .memory = m.memory});
  CHECK(of_model.plan.steps == found.plan.steps);
}

TEST_CASE("omnibal_training: cuts are measured by a callable") {
  auto const& m = megatron();
  omnibal::training_options const o{.data = {.ranks = 4, .micro_batches = 16}, .search = {.stages = 4, .radius = 2}, .memory = m.memory};
  std::size_t calls = 0;
  auto const earliest = [&](std::span<std::uint32_t const> boundaries) {
    ++calls;
    return std::int64_t{boundaries[1]} * 10'000 + boundaries[2] * 100 + boundaries[3];
  };
  auto const found = omnibal::plan_training(mixture().tiles, mixture().tokens, m.model, m.on, m.by, o, std::cref(earliest));
  auto const& anchor = found.cuts.anchor.boundaries;
  CHECK(calls == found.cuts.candidates.size());
  auto const& boundaries = found.plan.stages.partition.boundaries;
  for (auto const& c : found.cuts.candidates) CHECK(boundaries <= c.boundaries);
  CHECK(boundaries[1] + 2 == anchor[1]);
}

TEST_CASE("omnibal_training: kinds of layers, and what they recompute") {
  auto const& m = megatron();
  CHECK(m.kinds.size() == m.layers.size());
  for (std::size_t i = 0; i < m.kinds.size(); ++i) {
    auto const& name = m.layers[i].name;
    auto const kind = name.starts_with("vision ")     ? omnibal::layer_kind::vision
                      : name.starts_with("language ") ? omnibal::layer_kind::language
                                                      : omnibal::layer_kind::other;
    CHECK(m.kinds[i] == kind);
  }
  cut const boundaries{0, 50, 97};
  std::vector<std::int64_t> const counts{46, 3};
  auto const made = omnibal::with_recomputation(m.layers, m.kinds, boundaries, counts);
  for (std::size_t i = 0; i < made.size(); ++i) {
    REQUIRE(made[i].options.size() == 1);
    auto const again = (i >= 1 && i <= 45) || i == 48 || (i >= 50 && i < 53);
    CHECK(made[i].options[0] == (again ? m.layers[i].options.back() : m.layers[i].options.front()));
  }
  CHECK(refusal([&] { return omnibal::with_recomputation(m.layers, m.kinds, boundaries, std::span(counts).first(1)); }) ==
        "kinds, boundaries and recomputed do not match the layers");
}

TEST_CASE("omnibal_training: too few layers, and too little memory") {
  auto const& m = megatron();
  auto const few = ablation::some_of(mixture(), 3'000);
  auto const plan = [&](std::uint64_t stages, std::int64_t memory) {
    return omnibal::plan_training(few.tiles, few.tokens, m.model, m.on, m.by,
                                  {.data = {.ranks = 4}, .search = {.stages = stages, .radius = 0}, .memory = memory});
  };
  CHECK(plan(98, m.memory).plan.status == status::infeasible);
  CHECK(plan(98, m.memory).cuts.candidates.empty());
  auto const tight = plan(4, 10'000'000'000);
  CHECK(tight.plan.status == status::infeasible);
  CHECK(std::count(tight.recomputed.begin(), tight.recomputed.end(), 0) == 0);
  CHECK(tight.plan.time.value > 0);
  CHECK(refusal([&] { return omnibal::plan_training(few.tiles, few.tokens, m.layers, std::span(m.kinds).first(96), m.rates(), {}); }) ==
        "kinds has 96 entries for 97 layers");
}

}  // namespace test_methods_omnibal_training
