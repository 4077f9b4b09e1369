// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/phases.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Deals the samples of each step of a plan (or, if ranks wait at every micro-batch, of each row of places) to its places again, so that
/// the sum over phases of the slowest rank falls. Empty places stay empty. No sample is shared by ranks.
template <index_type Index>
class phase_redealer {
 public:
  phase_redealer(batching<Index>& plan, weighed_samples const& samples, std::vector<std::int64_t> const& costs, std::size_t phases,
                 batching_options const& o)
      : plan_(plan),
        samples_(samples),
        costs_(costs),
        p_(phases),
        o_(o),
        ranks_(static_cast<std::size_t>(plan.ranks)),
        rows_(o.synchronisation == synchronisation::per_micro_batch ? static_cast<std::size_t>(plan.micro_batches) : 1),
        each_(static_cast<std::size_t>(plan.micro_batches) / rows_),
        contents_(plan.packs.size()) {}

  void run() {
    for (std::size_t p = 0; p < contents_.size(); ++p) contents_[p].assign(plan_.packs[p].begin(), plan_.packs[p].end());
    for (std::size_t s = 0; s < plan_.steps(); ++s) {
      for (std::size_t row = 0; row < rows_; ++row) redeal(s, row);
      for (auto* sum : {&time_.value, &time_.lower_bound, &before_}) *sum += o_.cost_per_step;
    }
    plan_.packs.clear();
    for (auto const& pack : contents_) plan_.packs.push_back(pack);
  }
  [[nodiscard]] certificate time() const { return time_; }       ///< of the new plan
  [[nodiscard]] std::int64_t before() const { return before_; }  ///< of the old one

 private:
  /// One step, or one row of its places. Items are positions in `in_`, since a sample may be repeated.
  void redeal(std::size_t s, std::size_t row) {
    in_.clear();
    place_.clear();
    groups<Index> given;
    auto fewest = each_;
    for (std::size_t r = 0; r < ranks_; ++r) {
      std::size_t taken = 0;
      for (std::size_t m = 0; m < each_; ++m) {
        auto const pack = plan_.at(s, r, rows_ == 1 ? m : row);
        std::vector<Index> bin;
        place_.push_back(pack);
        if (pack != plan_.none) {
          ++taken;
          bin.resize(contents_[pack].size());
          std::iota(bin.begin(), bin.end(), static_cast<Index>(in_.size()));
          in_.insert(in_.end(), contents_[pack].begin(), contents_[pack].end());
        }
        given.push_back(bin);
      }
      fewest = (std::min)(fewest, taken);
    }
    if (in_.empty()) return;
    std::vector<Index> items(in_.size());
    std::iota(items.begin(), items.end(), Index{0});
    auto const costs = [&](std::int64_t i) { return std::span(costs_).subspan(in_[static_cast<std::size_t>(i)] * p_, p_); };
    auto const size = [&](std::int64_t i) { return samples_.tokens[in_[static_cast<std::size_t>(i)]]; };
    phase_options const options{.sets = ranks_, .capacity = o_.capacity, .bins = each_};
    auto const old = value_of(given);
    auto best = old;
    auto better = refine_phases(given, items, options, costs, size);
    time_.lower_bound += better.time.lower_bound + o_.cost_per_micro_batch * static_cast<std::int64_t>(fewest);
    if (fewest == each_ && better.time.value > better.time.lower_bound) {
      auto dealt = balance_phases<Index>(items, options, costs, size);
      auto const& bins = dealt.sets;
      if (dealt.status == status::feasible && dealt.time.value < better.time.value &&
          std::all_of(bins.begin(), bins.end(), [](auto bin) { return !bin.empty(); }))
        better = std::move(dealt);
    }
    if (auto const value = value_of(better.sets); value < best) {
      best = value;
      for (std::size_t b = 0; b < place_.size(); ++b) {
        if (place_[b] == plan_.none) continue;
        auto& pack = contents_[place_[b]];
        pack.clear();
        for (auto const i : better.sets[b]) pack.push_back(in_[i]);
      }
    }
    before_ += old;
    time_.value += best;
  }
  /// The sum over phases of the slowest rank, with the fixed costs of micro-batches in the last phase.
  [[nodiscard]] std::int64_t value_of(groups<Index> const& bins) const {
    std::vector<std::int64_t> slowest(p_, 0), mine(p_);
    for (std::size_t r = 0; r < ranks_; ++r) {
      std::fill(mine.begin(), mine.end(), 0);
      for (std::size_t b = r * each_; b < (r + 1) * each_; ++b) {
        for (auto const i : bins[b])
          for (std::size_t p = 0; p < p_; ++p) mine[p] += costs_[in_[i] * p_ + p];
        if (!bins[b].empty()) mine[p_ - 1] += o_.cost_per_micro_batch;
      }
      for (std::size_t p = 0; p < p_; ++p) slowest[p] = (std::max)(slowest[p], mine[p]);
    }
    return std::accumulate(slowest.begin(), slowest.end(), std::int64_t{0});
  }

  batching<Index>& plan_;
  weighed_samples const& samples_;
  std::vector<std::int64_t> const& costs_;
  std::size_t p_;
  batching_options const& o_;
  std::size_t ranks_, rows_, each_;
  std::vector<std::vector<Index>> contents_;  // of each pack
  std::vector<Index> in_, place_;             // samples of the step; packs of its places
  certificate time_;
  std::int64_t before_ = 0;
};

}  // namespace ballast::inline v0_2::detail
