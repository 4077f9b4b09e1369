// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/cost/calibrate.hpp>
#include <ballast/cost/presets.hpp>
#include <ballast/footprint/sequence_parallel.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

// The profiles that HBP published (arXiv 2503.07680, tables 4, 18 and 19), and fits of the model of footprint/sequence_parallel.hpp to
// them.

namespace ballast_test {

/// A row of a published profile: LLaMA-3.1-8B, 32 H100, iterations of 512K tokens.
struct hbp_profile_row {
  int table;  ///< 4: full-length samples; 18: the paper's data up to 32K; 19: all of the paper's data
  std::int64_t thousands;
  std::uint32_t sp;
  int layers;      ///< fewest recomputed layers that fit; -1: memory runs out
  double seconds;  ///< 0: memory runs out

  [[nodiscard]] ballast::level setting() const {
    return {.capacity = thousands * 1024, .sp = sp, .recomputed_layers = static_cast<std::uint32_t>(layers)};
  }
  /// The token-weighted mean length of the samples. The paper's data is not published; at 1,750 tokens attention takes 3 % of the time.
  [[nodiscard]] std::int64_t sample() const { return table == 4 ? thousands * 1024 : 1750; }
};
inline constexpr std::array<hbp_profile_row, 19> hbp_profile{{
    {4, 32, 2, 28, 4.45},  {4, 32, 4, 23, 4.35},  {4, 32, 8, 8, 4.12},   {4, 64, 2, -1, 0},      {4, 64, 4, 28, 6.3},
    {4, 64, 8, 24, 6.2},   {4, 128, 4, -1, 0},    {4, 128, 8, 29, 10.2}, {4, 128, 16, 23, 10.5}, {18, 32, 1, -1, 0},
    {18, 32, 2, 28, 3.01}, {18, 32, 4, 23, 2.95}, {18, 32, 8, 8, 2.82},  {18, 32, 16, 0, 3.60},  {19, 8, 2, 8, 2.69},
    {19, 16, 1, 28, 2.65}, {19, 32, 8, 8, 2.83},  {19, 64, 4, 28, 3.01}, {19, 128, 8, 28, 3.05},
}};

[[nodiscard]] inline ballast::sequence_parallel_setup hbp_setup() { return {.model = ballast::transformer_preset("llama-3.1-8b")}; }

/// Modelled seconds of an iteration of 512K tokens, in samples of `sample` tokens.
[[nodiscard]] inline double iteration_seconds(ballast::sequence_parallel_setup const& on, ballast::level const& at, std::int64_t sample) {
  constexpr std::int64_t tokens = 512 * 1024;
  auto const packs = static_cast<std::uint64_t>(tokens / at.capacity);
  return static_cast<double>(ballast::modelled_level_time(on, at)(packs, tokens, tokens * sample)) / 1e9 / on.devices;
}

/// The parts of a row's modelled milliseconds: matrix products, exchange in a node, exchange beyond, parameters; and, as the fifth of five,
/// attention, which is otherwise one of the products.
template <std::size_t Columns>
  requires(Columns == 4 || Columns == 5)
[[nodiscard]] std::array<double, Columns> parts_of(hbp_profile_row const& row) {
  auto const on = hbp_setup();
  auto const ms = [&](ballast::sequence_parallel_setup const& with, std::int64_t sample) {
    return 1000 * iteration_seconds(with, row.setting(), sample);
  };
  auto const all = ms(on, row.sample());
  auto const part = [&](auto change) {  // each part is in inverse proportion to its constant
    auto twice = on;
    change(twice);
    return 2 * (all - ms(twice, row.sample()));
  };
  std::array<double, Columns> out{part([](auto& s) { s.utilisation *= 2; }), part([](auto& s) { s.link_share *= 2; }),
                                  part([](auto& s) { s.network_bandwidth *= 2; }), part([](auto& s) { s.parameter_bandwidth *= 2; })};
  if constexpr (Columns == 5) {
    out[4] = all - ms(on, 0);
    out[0] -= out[4];
  }
  return out;
}

/// The rows that the constants of `sequence_parallel_setup` were fitted to.
[[nodiscard]] inline bool in_fit_of_constants(hbp_profile_row const& row) { return row.table == 19 || (row.table == 18 && row.sp == 16); }
/// The rows of a fit that has not seen a pack of 64K tokens.
[[nodiscard]] inline bool below_and_above_64k(hbp_profile_row const& row) { return row.thousands != 64; }

/// Relative least squares over the rows that `in` accepts. A coefficient is the default constant over the fitted one.
template <std::size_t Columns, class In>
[[nodiscard]] ballast::work_calibration<Columns> fit_times(In const& in) {
  std::vector<ballast::work_timing<Columns>> rows;
  for (auto const& row : hbp_profile)
    if (row.seconds > 0 && in(row)) rows.push_back({parts_of<Columns>(row), 1000 * row.seconds});
  return ballast::calibrate(rows);
}
template <std::size_t Columns>
[[nodiscard]] double predicted_seconds(ballast::work_calibration<Columns> const& fit, hbp_profile_row const& row) {
  auto const parts = parts_of<Columns>(row);
  double ms = 0;
  for (std::size_t i = 0; i < Columns; ++i) ms += parts[i] * fit.coefficients[i];
  return ms / 1000;
}

/// The fewest recomputed layers that fit; -1 if memory runs out.
[[nodiscard]] inline int least_layers(ballast::sequence_parallel_setup const& on, ballast::level at) {
  auto const fits = [&](std::uint32_t layers) {
    at.recomputed_layers = layers;
    return ballast::remaining_memory(on, at) >= 0;
  };
  std::uint32_t none = 0, enough = static_cast<std::uint32_t>(on.model.layers);
  if (!fits(enough)) return -1;
  while (none < enough) {
    auto const middle = (none + enough) / 2;
    if (fits(middle))
      enough = middle;
    else
      none = middle + 1;
  }
  return static_cast<int>(enough);
}

/// The activation factor, in thousandths, at which the fewest layers of the rows that `in` accepts come nearest to the published ones, by
/// least squares; the middle one of equally good factors. To run out of memory counts as 33 layers.
template <class In>
[[nodiscard]] std::int64_t fit_activations(In const& in) {
  auto on = hbp_setup();
  std::vector<std::int64_t> best;
  auto least = (std::numeric_limits<int>::max)();
  for (on.framework.activations = 3500; on.framework.activations <= 5000; on.framework.activations += 50) {
    int squares = 0;
    for (auto const& row : hbp_profile) {
      if (!in(row)) continue;
      auto const layers = [](int found) { return found < 0 ? 33 : found; };
      auto const off = layers(least_layers(on, row.setting())) - layers(row.layers);
      squares += off * off;
    }
    if (squares < least) best.clear();
    if (squares <= least) best.push_back(on.framework.activations);
    least = (std::min)(least, squares);
  }
  return best[best.size() / 2];
}

}  // namespace ballast_test
