// SPDX-License-Identifier: Apache-2.0
#include <ballast/loss.hpp>

#include "show.hpp"

#include <bit>
#include <span>

namespace plan_hashes {

using namespace ballast;

inline void put(digest& d, loss_totals const& t) { put(d, t.words); }

namespace {

/// The library promises every bit of a weight.
std::vector<std::uint64_t> bits_of(std::vector<double> const& weights) {
  std::vector<std::uint64_t> out;
  for (auto const w : weights) out.push_back(std::bit_cast<std::uint64_t>(w));
  return out;
}
std::vector<std::uint32_t> bits_of(std::vector<float> const& weights) {
  std::vector<std::uint32_t> out;
  for (auto const w : weights) out.push_back(std::bit_cast<std::uint32_t>(w));
  return out;
}

}  // namespace

void loss() {
  auto counts = long_tailed(64, 5000, 111);
  for (std::size_t i = 0; i < counts.size(); i += 9) counts[i] = 0;
  std::span const mine(counts.data(), 16);
  for (auto const& preset : loss_presets) {
    auto normaliser = preset.normaliser;
    if (normaliser.divisor == loss_divisor::length || normaliser.divisor == loss_divisor::sequence_length) normaliser.length = 4096;
    auto path = preset.path;
    path.ranks = 4;
    path.micro_batches = 2;
    auto const totals = loss_totals_of(counts, normaliser), part = loss_totals_of(mine, normaliser);
    auto const weight = sequence_weight_of(totals, normaliser, path, part);
    auto const name = std::string(preset.name);
    show("loss_totals_of", name, totals, part);
    show("sequence_weight_of", name, weight.numerator, weight.denominator, weight.power);
    show("loss_weights", name, bits_of(loss_weights(mine, totals, normaliser, path, part)));
  }
  auto const power = loss_normaliser::length_power(0.3);
  auto const totals = loss_totals_of(counts, power);
  show("loss_totals_of", "length_power", totals, totals.shared_by(1));
  show("loss_weights", "length_power", bits_of(loss_weights(mine, totals, power, {.ranks = 7})));

  std::vector<std::int64_t> const cu{0, 5, 5, 9, 30, 40};
  auto labels = uniform(44, 0, 9, 112);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = labels[i] < 3 ? -100 : labels[i];
  std::vector<double> const weights{0.5, 1, 2, 0.25, 3};
  show("label_counts", "in_model", label_counts(labels, cu));
  show("label_counts", "done", label_counts(labels, cu, {.ignore = 4, .shift = label_shift::done}));
  show("token_weights", "in_model", bits_of(token_weights(weights, labels, cu)));
  show("token_weights", "done", bits_of(token_weights(weights, labels, cu, {.ignore = 4, .shift = label_shift::done})));
}

}  // namespace plan_hashes
