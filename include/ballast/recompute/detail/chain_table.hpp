// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/recompute/chain_step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

// The table of checkpoint_chain.

namespace ballast::inline v0_2::detail {

// The dynamic programme over (first block, last block, units of memory).
template <class = when_called>
class chain_table {
 public:
  static constexpr auto never = std::int64_t{1} << 61;  // above the time of any schedule: see `checkpoint_chain`

  chain_table(std::span<chain_block const> blocks, std::int64_t input, std::int64_t budget, std::int64_t unit, bool round_up)
      : n_(blocks.size()),
        output_(n_ + 1),
        gradient_(n_ + 1),
        all_(n_),
        save_(n_),
        back_(n_),
        forward_(n_ + 1),
        backward_(n_),
        overhead_(n_) {
    auto const units = [&](std::int64_t bytes) { return bytes / unit + (round_up && bytes % unit != 0 ? 1 : 0); };
    output_[0] = gradient_[0] = units(input);
    for (std::size_t i = 0; i < n_; ++i) {
      auto const& s = blocks[i];
      output_[i + 1] = units(s.output);
      gradient_[i + 1] = units(s.gradient);
      all_[i] = units(s.saved);
      overhead_[i] = units(s.forward_overhead);
      save_[i] = all_[i] + overhead_[i];
      back_[i] = all_[i] + units(s.backward_overhead);
      forward_[i + 1] = forward_[i] + s.forward;
      backward_[i] = s.backward;
    }
    width_ = static_cast<std::size_t>((std::max)(budget / unit - output_[0], std::int64_t{-1}) + 1);
    if (width_ == 0) return;
    best_.assign(n_ * (n_ + 1) / 2 * width_, never);
    for (std::size_t span = 1; span <= n_; ++span)
      for (std::size_t s = 0; s + span <= n_; ++s) fill(s, s + span - 1);
  }
  [[nodiscard]] std::int64_t value() const { return width_ == 0 ? never : at(0, n_ - 1, static_cast<std::int64_t>(width_) - 1); }
  [[nodiscard]] std::vector<chain_step> schedule() const {
    std::vector<chain_step> out;
    emit(0, n_ - 1, static_cast<std::int64_t>(width_) - 1, out);
    return out;
  }

 private:
  [[nodiscard]] std::size_t row(std::size_t s, std::size_t t) const { return (t * (t + 1) / 2 + s) * width_; }
  [[nodiscard]] std::int64_t at(std::size_t s, std::size_t t, std::int64_t m) const {
    return m < 0 ? never : best_[row(s, t) + static_cast<std::size_t>(m)];
  }
  // Least memory to save block s, without its input, with the gradient of block t's output.
  [[nodiscard]] std::int64_t least_to_save(std::size_t s, std::size_t t) const {
    return (std::max)(gradient_[t + 1] + save_[s], gradient_[s + 1] + back_[s] + gradient_[s]);
  }
  // The same for forgetting: blocks s … j - 1 run, and only the last output is kept.
  [[nodiscard]] std::int64_t least_to_forget(std::size_t s, std::size_t t, std::size_t j) const {
    auto most = output_[s + 1] + overhead_[s];
    for (auto k = s + 1; k < j; ++k) most = (std::max)(most, output_[k] + output_[k + 1] + overhead_[k]);
    return gradient_[t + 1] + most;
  }
  [[nodiscard]] std::int64_t saving(std::size_t s, std::size_t t, std::int64_t m) const {
    if (m < least_to_save(s, t)) return never;
    auto const rest = s == t ? 0 : at(s + 1, t, m - all_[s]);
    return rest == never ? never : forward_[s + 1] - forward_[s] + backward_[s] + rest;
  }
  [[nodiscard]] std::int64_t forgetting(std::size_t s, std::size_t t, std::size_t j, std::int64_t m) const {
    auto const right = at(j, t, m - output_[j]), left = at(s, j - 1, m);
    return right == never || left == never ? never : forward_[j] - forward_[s] + right + left;
  }
  void fill(std::size_t s, std::size_t t) {
    auto const here = best_.begin() + static_cast<std::ptrdiff_t>(row(s, t));
    auto const width = static_cast<std::int64_t>(width_);
    for (auto m = least_to_save(s, t); m < width; ++m) here[static_cast<std::ptrdiff_t>(m)] = saving(s, t, m);
    auto most = output_[s + 1] + overhead_[s];
    for (auto j = s + 1; j <= t; ++j) {
      if (j > s + 1) most = (std::max)(most, output_[j - 1] + output_[j] + overhead_[j - 1]);
      auto const again = forward_[j] - forward_[s];
      auto const first = (std::max)(gradient_[t + 1] + most, output_[j]);
      auto* const cell = best_.data() + row(s, t);
      auto const *const right = best_.data() + row(j, t), *const left = best_.data() + row(s, j - 1);
      for (auto m = first; m < width; ++m)  // sums with `never` stay above it, and below 2^63
        cell[m] = (std::min)(cell[m], again + right[m - output_[j]] + left[m]);
    }
    for (std::int64_t m = 0; m < width; ++m) here[m] = (std::min)(here[m], never);
  }
  void emit(std::size_t s, std::size_t t, std::int64_t m, std::vector<chain_step>& out) const {
    auto const block = [](std::size_t i) { return static_cast<std::uint32_t>(i); };
    auto const target = at(s, t, m);
    if (saving(s, t, m) == target) {
      out.push_back({chain_action::save, block(s)});
      if (s != t) emit(s + 1, t, m - all_[s], out);
      out.push_back({chain_action::backward, block(s)});
      return;
    }
    auto j = s + 1;
    while (m < least_to_forget(s, t, j) || forgetting(s, t, j, m) != target) ++j;
    for (auto k = s; k < j; ++k) {
      out.push_back({chain_action::forward, block(k)});
      if (k > s) out.push_back({chain_action::drop, block(k - 1)});
    }
    emit(j, t, m - output_[j], out);
    out.push_back({chain_action::drop, block(j - 1)});
    emit(s, j - 1, m, out);
  }

  std::size_t n_, width_ = 0;
  std::vector<std::int64_t> output_, gradient_, all_, save_, back_, forward_, backward_, overhead_, best_;
};

}  // namespace ballast::inline v0_2::detail
