// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/phases.hpp>
#include <ballast/batching/detail/step_cost.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/plan_steps.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/batching/weighed_samples.hpp>
#include <ballast/core/certificate.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/status.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `phase_steps`: steps of samples with a cost in each of several phases (vision, audio, language), balanced in all phases together.

namespace ballast::inline v0_2 {

namespace detail {

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
        contents_(lists_of(plan.packs)) {}

  void run() {
    for (std::size_t s = 0; s < plan_.steps(); ++s) {
      for (std::size_t row = 0; row < rows_; ++row) redeal(s, row);
      for (auto* sum : {&time_.value, &time_.lower_bound, &before_}) *sum += o_.cost_per_step;
    }
    plan_.packs = groups_of(contents_);
  }
  [[nodiscard]] certificate time() const { return time_; }       ///< of the new plan
  [[nodiscard]] std::int64_t before() const { return before_; }  ///< of the old one

 private:
  /// One step, or one row of its places. Items are positions in `in_`, since a sample may be repeated.
  void redeal(std::size_t s, std::size_t row) {
    in_.clear();
    place_.resize(ranks_ * each_);
    groups<Index> given;
    std::vector<std::size_t> taken(ranks_, 0);
    for (std::size_t k = 0; k < place_.size(); ++k) {
      auto const pack = place_[k] = plan_.at(s, k / each_, rows_ == 1 ? k % each_ : row);
      if (pack != plan_.none) {
        ++taken[k / each_];
        in_.insert(in_.end(), contents_[pack].begin(), contents_[pack].end());
      }
      given.offsets.push_back(in_.size());
    }
    if (in_.empty()) return;
    auto& items = given.members;
    items.resize(in_.size());
    std::iota(items.begin(), items.end(), Index{0});
    auto const fewest = *std::min_element(taken.begin(), taken.end());
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

}  // namespace detail

/// @brief A plan of steps whose ranks wait for each other after each phase. `slowest` is that of the sums of the costs of all phases.
/// @tparam Index  type of the sample indices and pack numbers
template <index_type Index = std::uint32_t>
struct phase_batching : batching<Index> {
  std::uint64_t phases = 0;  ///< number of phases; 0 without samples
  /// Sum over the steps and the phases of the cost of the slowest rank; if ranks wait at every micro-batch, over the micro-batches too. The
  /// lower bound holds for every other distribution of the same samples over the ranks of the same steps (or micro-batches) that leaves
  /// each rank the number of its micro-batches.
  certificate time;
  std::int64_t time_of_sums = 0;  ///< the same for the plan of `plan_steps` on the sums, from which this one was made; at least `time`
};

/// @brief Plans the steps of an epoch of samples that cost time in several phases, where ranks wait for each other after each phase.
///
/// The encoders and the language model of a multimodal model are such phases: each lasts as long as its slowest rank. `plan_steps` on the
/// sums of the costs chooses the samples of each step. Then `refine_phases` and, where every place is taken, `balance_phases` deal the
/// samples of a step to its micro-batches again under the capacity; the better of both is kept if the step takes less time.
///
/// @tparam Index  type of the sample indices
/// @tparam R      range of integers
/// @tparam Costs  a `phase_cost_model`
/// @param lengths  tokens of each sample in a micro-batch, at most the capacity
/// @param options  shape of a step, as for `plan_steps`; ranks wait per step or per micro-batch. `cost_per_micro_batch` belongs to the last
/// phase
/// @param costs    costs of a sample in each phase by its *index* in `lengths`; equally many for every sample, not negative, and not all 0
/// @return the plan, its time and a lower bound
/// @post `time.value` is at most `time_of_sums`, and equals `slowest.value` if there is one phase. `check_batching` accepts the plan, with
/// the sum of the costs as cost
/// @throws invalid_input as `plan_steps` with the sums as costs, for pipelines, or for different numbers of costs
/// @par Complexity
/// That of `plan_steps`, and for each step that of `balance_phases` and `refine_phases`.
/// @par Determinism
/// A pure function of its arguments.
/// @par Source
/// The phases: "OrchMLLM", arXiv 2503.23830, which deals the samples of each phase anew, as `phase_shards` does. One deal for all phases:
/// this library.
template <index_type Index = std::uint32_t, length_range R, phase_cost_model Costs>
[[nodiscard]] phase_batching<Index> phase_steps(R const& lengths, batching_options const& options, Costs const& costs) {
  require(options.synchronisation != synchronisation::pipeline,
          [] { return "synchronisation = pipeline: phases are barriers of ranks, so ask for per_step or per_micro_batch"; });
  auto const n = static_cast<std::size_t>(std::ranges::size(lengths));
  require_index<Index>(n, "lengths");
  std::vector<std::int64_t> flat, sums(n, 0);
  phase_batching<Index> out;
  std::int64_t all = 0;
  for (std::size_t i = 0; i < n; ++i) {
    auto const of_sample = costs(static_cast<std::int64_t>(i));
    auto const count = static_cast<std::size_t>(std::ranges::size(of_sample));
    if (i == 0) out.phases = count;
    require(count == out.phases && count > 0, [&] { return sentence("sample ", i, " has ", count, " costs, not ", out.phases); });
    auto const cost = read_by_position(of_sample);
    for (std::size_t p = 0; p < count; ++p) {
      require(std::in_range<std::int64_t>(cost[p]), [&] { return sentence("sample ", i, " has a cost outside [0, 2^63)"); });
      auto const c = static_cast<std::int64_t>(cost[p]);
      add_checked(all, c, "costs of samples", i);
      flat.push_back(c);
      sums[i] += c;
    }
  }
  auto const samples = weigh(lengths, sums, options);
  static_cast<batching<Index>&>(out) = plan_steps<Index>(samples, options);
  if (n == 0) return out;
  detail::phase_redealer<Index> redeal(out, samples, flat, static_cast<std::size_t>(out.phases), options);
  redeal.run();
  out.time = redeal.time();
  out.time_of_sums = redeal.before();
  detail::certify(static_cast<batching<Index>&>(out), samples, options);
  return out;
}

}  // namespace ballast::inline v0_2
