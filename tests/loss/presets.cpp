// SPDX-License-Identifier: Apache-2.0
// Each preset's weights against what the framework's own code would multiply a sequence's summed loss with, before its plumbing.
#include <ballast/loss/presets.hpp>

#include <ballast/loss/weights.hpp>

#include "support/catch.hpp"
#include "support/refusal.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace test_loss_presets {

using namespace ballast;
using ballast_test::refusal;

namespace {
// 4 ranks with 2 context ranks each, 3 micro-batches of 2 sequences on each rank. This micro-batch holds 4 and 9 labels, the rank's others
// 2 x 10 and 2 x 6, and all other ranks as many as this one: 45 tokens and 6 sequences a rank, 180 and 24 in the step.
constexpr std::int64_t ranks = 4, context = 2, micro_batches = 3, length = 32;
std::vector<std::int64_t> const here{4, 9}, rank_counts{4, 9, 10, 10, 6, 6};

double weight(std::string_view name, std::size_t sequence) {
  auto preset = loss_preset_named(name);
  preset.path.ranks = ranks;
  preset.path.context = context;
  preset.path.micro_batches = micro_batches;
  preset.normaliser.length = length;
  auto const rank = loss_totals_of(rank_counts, preset.normaliser);
  loss_totals totals;
  for (std::int64_t r = 0; r < ranks; ++r) totals += rank;
  auto const part = preset.normaliser.scope == loss_scope::rank ? rank : loss_totals_of(here, preset.normaliser);
  return loss_weights(here, totals, preset.normaliser, preset.path, part)[sequence];
}
bool is(double a, double b) { return std::abs(a - b) <= 1e-14 * b; }
double roots() { return 4 * (2 + 3 + 2 * std::sqrt(10.0) + 2 * std::sqrt(6.0)); }
}  // namespace

TEST_CASE("loss presets: what a framework would multiply each token loss with") {
  // Hugging Face: over the tokens of all processes, times the processes; of one process; or the mean, which the trainer divides by 3
  CHECK(is(weight("hf", 0), 8 / 180.0));
  CHECK(is(weight("hf-2024-10", 0), 2 / 45.0));
  CHECK(is(weight("hf-2024-09", 0), 2 / 13.0));
  // Megatron: the mean over the micro-batch, which it multiplies by 2, divides by 3 and averages over 8 ranks; or the sum
  CHECK(is(weight("megatron", 0), 1 / 13.0));
  CHECK(weight("megatron-per-token", 1) == 1);
  CHECK(weight("torchtune", 1) == 1);
  // verl: times dp_size
  CHECK(is(weight("verl-token-mean", 0), 4 / 180.0));
  CHECK(is(weight("verl-seq-mean-token-mean", 1), 4 / (24.0 * 9)));
  CHECK(is(weight("verl-seq-mean-token-sum", 1), 4 / 24.0));
  CHECK(is(weight("verl-seq-mean-token-sum-norm", 1), 1 / 32.0));
  // TRL: means over a micro-batch of 2 sequences on each of 8 processes, divided by 3 behind this weight
  CHECK(is(weight("trl-grpo", 1), 2 / (2.0 * 9)));
  CHECK(is(weight("trl-dr_grpo", 1), 2 / (2.0 * 32)));
  CHECK(is(weight("trl-bnpo", 1), 2 / 13.0));
  CHECK(is(weight("trl-dapo", 1), 8 / 180.0));
  // InternVL: the token weight over the mean of its sums over all 8 processes
  CHECK(is(weight("internvl-token", 1), 24 / 180.0));
  CHECK(is(weight("internvl-sample", 1), 24 / (9 * 24.0)));
  CHECK(is(weight("internvl-square", 1), 24 / (3 * roots())));
  // HBP: over what a rank has
  CHECK(weight("hbp-sum", 1) == 1);
  CHECK(is(weight("hbp-token-mean", 1), 2 / 45.0));
  CHECK(is(weight("hbp-sample-mean", 1), 2 / (6.0 * 9)));
  CHECK(is(weight("hbp-ave-token", 1), 2 / (6 * 7.5)));
}

TEST_CASE("loss_preset_named: every name is found once, and another is refused with the list") {
  for (auto const& preset : loss_presets) CHECK(loss_preset_named(preset.name) == preset);
  auto const sentence = refusal([] { return loss_preset_named("verl"); });
  CHECK(sentence.starts_with("no loss preset \"verl\"; there are hf, hf-2024-10, "));
  CHECK(sentence.ends_with(", hbp-ave-token"));
}

TEST_CASE("loss presets: sequences without labels count for TRL and not for verl") {
  std::vector<std::int64_t> const counts{5, 0, 0, 5};
  auto const first = [&](std::string_view name) {
    auto const preset = loss_preset_named(name);
    return loss_weights(counts, loss_totals_of(counts, preset.normaliser), preset.normaliser, preset.path)[0];
  };
  CHECK(first("trl-grpo") == 1 / 20.0);
  CHECK(first("verl-seq-mean-token-mean") == 1 / 10.0);
}

}  // namespace test_loss_presets
