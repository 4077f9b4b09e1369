// SPDX-License-Identifier: Apache-2.0
#include <ballast/core/metrics/step_balance.hpp>
#include <ballast/core/random.hpp>
#include <ballast/levels/figures.hpp>
#include <ballast/loss/presets.hpp>
#include <ballast/methods/hbp.hpp>
#include <ballast/packing/first_fit_decreasing.hpp>
#include <ballast/packing/shuffled.hpp>
#include <ballast/packing/worst_fit.hpp>

#include "support/catch.hpp"
#include "support/lengths.hpp"
#include "support/refusal.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace test_methods_hbp {

namespace hbp = ballast::hbp;
using levels_t = std::vector<ballast::level>;

TEST_CASE("hbp: a run trains every sample once, short level first", "[methods]") {
  ballast::splitmix64 draw(1);
  std::vector<std::int64_t> lengths(20000);
  for (auto& l : lengths) {
    auto const is_long = draw() % 200 == 0;
    l = is_long ? ballast_test::between(2049, 16384, draw) : ballast_test::between(16, 900, draw);
  }
  levels_t const levels{{2048, 1, 0}, {16384, 8, 0}};
  auto const plan = hbp::plan_training(lengths, levels, {.devices = 16, .warm_up = 50});
  std::vector<int> stands(lengths.size(), 0);
  std::size_t short_ones = 0;
  for (std::size_t k = 0; k < plan.order.size(); ++k) {
    auto const step = plan.order.at(k);
    auto const& steps = plan.steps.steps[step.source];
    if (k < 50) CHECK(step.setting == levels[0]);
    short_ones += step.setting == levels[0] ? 1U : 0U;
    for (auto const pack : steps.packs_of(step.index))
      for (auto m : pack) ++stands[m];
  }
  CHECK(std::count(stands.begin(), stands.end(), 1) == static_cast<std::ptrdiff_t>(stands.size()));
  CHECK(plan.order.size() == plan.steps.size());
  CHECK(short_ones > 50);
  CHECK(short_ones < plan.order.size());
  std::vector<ballast::level_time> const times{{0, 1000, 1}, {0, 1000, 1}};
  auto const figures = ballast::figures_of(plan.steps, plan.packed.lengths, times);
  auto const random = hbp::plan_training(lengths, levels, {.devices = 16, .balanced = false, .warm_up = 50});
  CHECK(figures.attention_ratio < 0.03);
  CHECK(figures.attention_ratio < 0.1 * ballast::figures_of(random.steps, random.packed.lengths, times).attention_ratio);
  CHECK(hbp::plan_training(lengths, levels, {.devices = 16, .warm_up = 50}).order == plan.order);
}

namespace {

// The loss that a trainer reports: the mean over the ranks of what each rank sums, of the sequences' summed token losses.
double loss_of(hbp::plan<> const& p, std::size_t i, std::vector<std::int64_t> const& labels, std::vector<double> const& losses) {
  auto const step = p.order.at(i);
  auto const& steps = p.steps.steps[step.source];
  double sum = 0;
  for (std::size_t r = 0; r < steps.ranks; ++r) {
    auto const weights = hbp::loss_weights_of(p, i, r, labels);
    auto weight = weights.begin();
    for (auto const pack : steps.packs_of(step.index, r))
      for (auto const m : pack) sum += *weight++ * losses[m];
    CHECK(weight == weights.end());
  }
  auto const path = hbp::path_of(p, i);  // all of a pack's devices see its losses, together once
  return sum / static_cast<double>(path.averaged_over());
}

}  // namespace

TEST_CASE("hbp: the losses of the paper's four normalisers, from the weights of a plan", "[methods][published]") {
  for (std::uint32_t const sp : {1U, 2U}) {
    auto const loss = [&](char const* name) {
      auto const p = hbp::plan_training(std::vector<int>{4, 4, 4, 4}, levels_t{{8, sp, 0}},
                                        {.devices = 2 * sp, .loss = ballast::loss_preset_named(name)});
      REQUIRE(p.order.size() == 1);
      std::vector<std::int64_t> labels(4);
      std::vector<double> losses(4);
      std::size_t next = 0;  // rank 0 has 1 and 1 labels, rank 1 has 4 and 2
      for (auto const pack : p.steps.steps[0].packs_of(0))
        for (auto const m : pack) {
          labels[m] = std::vector<std::int64_t>{1, 1, 4, 2}[next];
          losses[m] = std::vector<double>{2, 1, 4, 3}[next++];
        }
      return loss_of(p, 0, labels, losses);
    };
    using Catch::Matchers::WithinRel;
    CHECK_THAT(loss("hbp-sum"), WithinRel(10.0, 1e-12));
    CHECK_THAT(loss("hbp-token-mean"), WithinRel((3 / 2. + 7 / 6.) / 2, 1e-12));
    CHECK_THAT(loss("hbp-sample-mean"), WithinRel(1.375, 1e-12));
    CHECK_THAT(loss("hbp-ave-token"), WithinRel(1.25, 1e-12));
  }
}

TEST_CASE("hbp: the weights of every step's tokens sum to what the normaliser says", "[methods]") {
  ballast::splitmix64 draw(5);
  std::vector<std::int64_t> lengths(3000);
  for (auto& l : lengths) l = draw() % 50 == 0 ? ballast_test::between(2049, 16384, draw) : ballast_test::between(16, 900, draw);
  levels_t const levels{{2048, 1, 0}, {16384, 8, 0}};
  CHECK(hbp::options{}.loss == ballast::loss_preset_named("hbp-ave-token"));
  for (auto const* const name : {"hbp-ave-token", "hf", "hf-2024-09", "internvl-square"}) {
    auto const p = hbp::plan_training(lengths, levels, {.devices = 16, .warm_up = 5, .loss = ballast::loss_preset_named(name)});
    std::size_t of_each[2]{};
    for (std::size_t i = 0; i < p.order.size(); ++i) {
      auto const step = p.order.at(i);
      auto const& steps = p.steps.steps[step.source];
      auto const path = hbp::path_of(p, i);
      CHECK(path.ranks * path.context == 16);
      CHECK(path.context == (step.source == 0 ? 1 : 8));
      ++of_each[step.source];
      // The mean over the ranks of T / (B T_ave); a mean over tokens has the sum 1.
      double wanted = 0, all_tokens = 0, all_samples = 0;
      for (auto const pack : steps.packs_of(step.index)) {
        all_samples += static_cast<double>(pack.size());
        for (auto const m : pack) all_tokens += static_cast<double>(p.packed.lengths[m]);
      }
      for (std::size_t r = 0; r < steps.ranks; ++r) {
        double tokens = 0, samples = 0;
        for (auto const pack : steps.packs_of(step.index, r)) {
          samples += static_cast<double>(pack.size());
          for (auto const m : pack) tokens += static_cast<double>(p.packed.lengths[m]);
        }
        if (samples > 0) wanted += tokens / (samples * (all_tokens / all_samples)) / static_cast<double>(steps.ranks);
      }
      std::vector<double> tokens(p.packed.lengths.begin(), p.packed.lengths.end());
      auto const sum = loss_of(p, i, p.packed.lengths, tokens);
      CAPTURE(name, i, step.source);
      auto const is_mean_of_steps = p.loss.normaliser.scope == ballast::loss_scope::step && p.loss.normaliser.power == 0;
      if (p.loss == ballast::loss_preset_named("hbp-ave-token")) CHECK_THAT(sum, Catch::Matchers::WithinRel(wanted, 1e-9));
      if (is_mean_of_steps) CHECK_THAT(sum, Catch::Matchers::WithinRel(1.0, 1e-9));
    }
    CHECK(of_each[0] > 5);
    CHECK(of_each[1] > 5);
  }
}

TEST_CASE("hbp: loss weights of a rank or labels that are not there", "[methods]") {
  auto const p = hbp::plan_training(std::vector<int>{4, 4}, levels_t{{4, 1, 0}}, {.devices = 2});
  CHECK(ballast_test::refusal([&] { (void)hbp::loss_weights_of(p, 0, 2, p.packed.lengths); }) == "rank = 2 of 2 ranks");
  CHECK(ballast_test::refusal([&] { (void)hbp::loss_weights_of(p, 0, 0, std::vector<std::int64_t>(1)); }) ==
        "1 label for 2 samples and pieces");
}

TEST_CASE("hbp: the base packer keeps packs with 128 free tokens and the last round, as the authors' code does", "[methods][published]") {
  ballast::splitmix64 draw(6);
  std::vector<std::int64_t> lengths(1500);
  for (auto& l : lengths) l = ballast_test::between(200, 900, draw);
  auto const packs = [&](ballast::sampling_options sampling, std::int64_t spare) {
    if (spare > 0) sampling.filter = {4096 - spare};
    return hbp::isf_packer{std::move(sampling)}(lengths, {.capacity = 4096}, std::uint32_t{}).packs;
  };
  auto const published = hbp::isf_packer{}(lengths, {.capacity = 4096}, std::uint32_t{}).packs;
  CHECK(published == packs(hbp::options{}.sampling, 0));
  CHECK(published == packs(hbp::published_sampling(), 128));
  CHECK_FALSE(published == packs(hbp::published_sampling(), 32));
  CHECK_FALSE(published == packs({}, 128));
  CHECK(hbp::isf_packer{}(std::vector<std::int64_t>{3, 3, 2}, {.capacity = 5}, std::uint32_t{}).packs.size() == 2);
}

namespace {

// A small stand-in for short conversations and a few long documents.
std::vector<std::int64_t> mixed_lengths() {
  ballast::splitmix64 draw(8);
  std::vector<std::int64_t> lengths(40000);
  for (auto& l : lengths) {
    auto const most = std::int64_t{1} << ballast_test::between(5, 11, draw);  // of every order of magnitude
    l = draw() % 500 == 0 ? ballast_test::between(4097, 16384, draw) : ballast_test::between(16, most, draw);
  }
  return lengths;
}
double attention_ratio(ballast::groups<> const& packs, std::vector<std::int64_t> const& lengths, std::size_t ranks) {
  std::vector<std::int64_t> squares;  // of packs in random order
  for (auto const p : ballast::random_permutation<std::uint32_t>(packs.size() / ranks * ranks, 5)) {
    squares.push_back(0);
    for (auto const m : packs[p]) squares.back() += lengths[m] * lengths[m];
  }
  return ballast::balance_of_steps(squares, ranks).mean_ratio;
}

}  // namespace

TEST_CASE("hbp: packers that begin with the longest samples balance attention worse in random steps, table 13", "[methods][published]") {
  auto const lengths = mixed_lengths();
  auto descending = lengths;
  std::sort(descending.rbegin(), descending.rend());
  ballast::packing_options const pack{.capacity = 16384};
  auto const decreasing = std::min(attention_ratio(ballast::first_fit_decreasing(lengths, pack).packs, lengths, 4),
                                   attention_ratio(ballast::worst_fit(descending, pack).packs, descending, 4));  // SPFHP
  auto const of = [&](auto const& plan) { return attention_ratio(plan.packs, lengths, 4); };
  auto const random_order = {of(ballast::first_fit_shuffled(lengths, pack)), of(ballast::best_fit_shuffled(lengths, pack)),
                             of(hbp::isf_packer{}(lengths, pack, std::uint32_t{}))};
  for (auto const abr : random_order) {
    CAPTURE(abr, decreasing);
    CHECK(abr < 0.97 * decreasing);
  }
}

TEST_CASE("hbp: levels and balance each lower the time, and balance removes the ABR, tables 6 and 22", "[methods][published]") {
  auto const lengths = mixed_lengths();
  auto const figures = [&](levels_t const& levels, bool balanced) {
    auto const plan = hbp::plan_training(lengths, levels, {.devices = 32, .balanced = balanced});
    std::vector<ballast::level_time> times;  // an exchange in the long level, attention as much as the rest at 16K
    for (auto const& l : levels) times.push_back({0, l.sp > 1 ? 16384 + 2000 : 16384, 1});
    return ballast::figures_of(plan.steps, plan.packed.lengths, times);
  };
  levels_t const one{{16384, 8, 0}}, two{{2048, 1, 0}, {16384, 8, 0}};
  auto const naive = figures(one, false), hierarchical = figures(two, false), balanced = figures(two, true);
  CAPTURE(naive.attention_ratio, hierarchical.attention_ratio, balanced.attention_ratio);
  CHECK(balanced.attention_ratio < 0.1 * naive.attention_ratio);
  CHECK(balanced.attention_ratio < 0.1 * hierarchical.attention_ratio);
  CHECK(hierarchical.seconds < naive.seconds);
  CHECK(balanced.seconds < hierarchical.seconds);
  CHECK(naive.communication_ratio == 1);
  CHECK(balanced.communication_ratio < 0.5);
}

}  // namespace test_methods_hbp
