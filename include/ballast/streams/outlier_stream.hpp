// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/streams/detail/outlier_run.hpp>
#include <ballast/streams/detail/place_work.hpp>
#include <ballast/streams/stream_step.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <ranges>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

/// @file
/// @brief `outlier_stream`: steps of balanced work from a stream of samples, in which expensive samples wait for others like them, up to a
/// deadline.

namespace ballast::inline v0_2 {

/// @brief Which samples of an `outlier_stream` wait. Seldom set.
struct outlier_tuning {
  std::int64_t outlier = 450;  ///< samples wait above this many thousandths of the usual work of a micro-batch
  /// Imbalance, in thousandths, that is worth as much as a step's work not waiting if little waits; at most 2^20.
  std::int64_t delay_price = 225;
};

/// @brief Shape of a step of an `outlier_stream`. `micro_batches` and `capacity` have no default.
struct outlier_options {
  std::uint64_t micro_batches = 0;       ///< micro-batches of a step over all data-parallel ranks, at least 1
  std::vector<std::int64_t> capacity{};  ///< largest total of each measure in a micro-batch, at least 1; one entry if samples are lengths
  std::uint64_t deadline = 16;           ///< most steps that a sample waits; 0: nothing waits
  outlier_tuning tuning{};               ///< which samples wait
};

/// @brief What a restart of an `outlier_stream` needs beside the options and the cost, in plain members for any file format.
struct outlier_state {
  std::uint64_t samples = 0;           ///< number of samples pushed so far
  std::uint64_t steps = 0;             ///< number of steps made so far
  std::int64_t usual = 0;              ///< usual work of a step
  std::vector<std::uint64_t> numbers;  ///< numbers of the samples that wait, ascending
  std::vector<std::uint64_t> arrived;  ///< the step with which each came
  std::vector<std::int64_t> measures;  ///< tokens of each; all measures of each, one after another
  friend bool operator==(outlier_state const&, outlier_state const&) = default;
};

/// @brief The cost of a sample of a stream: a `cost_model` of its length, or a pure callable that maps the span of its measures to an
/// integer.
template <class C>
concept stream_cost = cost_model<C> || (std::copy_constructible<C> && std::regular_invocable<C const&, std::span<std::int64_t const>> &&
                                        integer<std::invoke_result_t<C const&, std::span<std::int64_t const>>>);

/// @brief Makes one step of every block of samples that arrives. Samples of much work wait until a step is balanced with them, but at most
/// `deadline` steps.
///
/// Samples of at most `outlier` thousandths of the usual work of a micro-batch never wait, unless there is no room. Of the others, the
/// outliers, those between two levels of work leave together, so that they balance each other: of all runs of outliers that are consecutive
/// in work, a step takes the one with the least *imbalance minus worth*. The imbalance is M times the largest load of the run on the M
/// micro-batches, longest processing time first, over all work of the step, and at least 1. The worth is the price of delay times v(P) -
/// v(R), over the usual work of a step: P is the work of all outliers, R that of those which stay, and v(x) = x - 9 x^2 / (10 X), where X
/// is the work of outliers that balances a step with the heaviest of them, M times its work less all that is no outlier, and at least P. So
/// outliers that wait have a worth for those to come: near X, a step that takes only some of them puts off the step that takes all.
/// Outliers at their deadline are in every run that is considered.
///
/// Then all samples of the step are placed, most work first: each goes to the micro-batch with the least work among those with room. Up to
/// 32 times, the micro-batch with the most work then gives or swaps a sample with one of the four with the least. What finds no room waits
/// for the next step. If that happens to a sample at its deadline, the samples at their deadline are placed first; a sample that finds no
/// room even then is listed as `late`.
///
/// The usual work u of a step is the work a of the first block; each later block changes u by (a - u) / 10, rounded towards 0.
///
/// Ranks that push the same blocks get the same steps without communication.
///
/// @tparam Cost  a `stream_cost`
/// @post no sample waits more steps than `deadline`, unless it was listed as `late`
/// @par Source
/// Wang et al., "WLB-LLM", arXiv 2503.17924, lets outliers wait in queues by length; here any outliers of like work leave together, and
/// none waits without end.
template <stream_cost Cost>
class outlier_stream {
 public:
  /// @brief Starts a stream. @param shape micro-batches, capacities, and who waits how long @param cost work of a sample
  /// @throws invalid_input for a bad option
  outlier_stream(outlier_options shape, Cost const& cost) : options_(std::move(shape)), cost_(cost) {
    auto const& o = options_;
    require(o.micro_batches > 0 && o.micro_batches < 1U << 20,
            [&] { return sentence("micro_batches = ", o.micro_batches, " must be in 1 ... 2^20 - 1"); });
    require(by_row ? !o.capacity.empty() : o.capacity.size() == 1, [&] {
      return sentence("capacity has ", o.capacity.size(),
                      by_row ? " entries: it needs one for each measure" : " entries: samples that are lengths have one");
    });
    for (std::size_t k = 0; k < o.capacity.size(); ++k)
      require(o.capacity[k] > 0, [&] { return entry("capacity", k, o.capacity[k]) + " must be positive"; });
    require(o.tuning.outlier >= 0, [&] { return sentence("outlier = ", o.tuning.outlier, " must not be negative"); });
    require(o.tuning.delay_price >= 0 && o.tuning.delay_price <= 1 << 20,
            [&] { return sentence("delay_price = ", o.tuning.delay_price, " must be in 0 ... 2^20"); });
  }
  /// @brief Continues a stream from its state. @param shape as before @param cost as before @param state from `state()`
  /// @throws invalid_input as the overload above, or if the state is not one of a stream with as many measures
  outlier_stream(outlier_options shape, Cost const& cost, outlier_state state) : outlier_stream(std::move(shape), cost) {
    auto const n = state.numbers.size();
    require(state.arrived.size() == n && state.measures.size() == n * measures(), [&] {
      return sentence("a state of ", n, " samples with ", state.arrived.size(), " arrivals and ", state.measures.size(), " measures");
    });
    require(state.usual >= 0, [&] { return sentence("usual = ", state.usual, " must not be negative"); });
    require(state.usual < (std::int64_t{1} << 62) / static_cast<std::int64_t>(options_.micro_batches),
            [&] { return sentence("usual = ", state.usual, " times micro_batches reaches 2^62"); });
    for (std::size_t i = 0; i < n; ++i) {
      require(state.numbers[i] < state.samples && (i == 0 || state.numbers[i] > state.numbers[i - 1]),
              [&] { return sentence(entry("numbers", i, state.numbers[i]), " must ascend below samples = ", state.samples); });
      require(state.arrived[i] <= state.steps,
              [&] { return sentence(entry("arrived", i, state.arrived[i]), " exceeds steps = ", state.steps); });
    }
    work_ = weighed(state.measures, {});
    state_ = std::move(state);
  }

  /// @brief Takes the next block of samples and makes a step.
  /// @tparam R  range of integers
  /// @param block  tokens of each sample; with a cost of several measures, the measures of each sample, one after another
  /// @return the step, with samples of this block and earlier ones
  /// @throws invalid_input if a length is not positive, a measure is negative or exceeds its capacity, or the work of all samples that wait
  /// times `micro_batches` reaches 2^62; the stream is then as before
  /// @par Complexity
  /// O(n log n + n log micro-batches) with the samples that wait, plus at most 2^15 log micro-batches to choose among the outliers. If
  /// little room is left, a sample may look at every micro-batch.
  template <length_range R>
  [[nodiscard]] stream_step push(R const& block) {
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(std::ranges::size(block)));
    auto const at = read_by_position(block);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(std::in_range<std::int64_t>(at[i]), [&] { return entry("lengths", i, at[i]) + " must be below 2^63"; });
      sizes[i] = static_cast<std::int64_t>(at[i]);
    }
    auto const more = weighed(sizes, work_);
    auto const arrived = std::accumulate(more.begin(), more.end(), std::int64_t{0});
    auto& s = state_;
    s.usual = s.steps == 0 ? arrived : s.usual + (arrived - s.usual) / 10;
    for (std::size_t i = 0; i < more.size(); ++i) s.numbers.push_back(s.samples++);
    s.arrived.resize(s.numbers.size(), s.steps);
    s.measures.insert(s.measures.end(), sizes.begin(), sizes.end());
    work_.insert(work_.end(), more.begin(), more.end());
    return make(false);
  }
  /// @brief Ends the stream: makes steps of all that waits, each of as much as fits. @return the steps; none if nothing waits
  [[nodiscard]] std::vector<stream_step> flush() {
    std::vector<stream_step> out;
    while (!work_.empty()) out.push_back(make(true));
    return out;
  }
  /// @brief The samples that wait. @return by number
  [[nodiscard]] std::vector<stream_sample> waiting() const {
    std::vector<stream_sample> out;
    for (std::size_t i = 0; i < work_.size(); ++i)
      out.push_back({state_.numbers[i], state_.measures[(i + 1) * measures() - 1], state_.arrived[i]});
    return out;
  }
  /// @brief What a restart needs.
  [[nodiscard]] outlier_state const& state() const noexcept { return state_; }

 private:
  static constexpr bool by_row = !cost_model<Cost>;

  [[nodiscard]] std::size_t measures() const noexcept { return options_.capacity.size(); }

  /// The work of each sample, beside samples of the work `others`.
  [[nodiscard]] std::vector<std::int64_t> weighed(std::vector<std::int64_t> const& sizes, std::vector<std::int64_t> const& others) const {
    auto const each = measures();
    require(sizes.size() % each == 0, [&] { return sentence(sizes.size(), " measures are no multiple of ", each); });
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      require(sizes[i] >= (by_row ? 0 : 1),
              [&] { return entry("lengths", i, sizes[i]) + (by_row ? " must not be negative" : " must be positive"); });
      require(sizes[i] <= options_.capacity[i % each],
              [&] { return sentence(entry("lengths", i, sizes[i]), " exceeds capacity = ", options_.capacity[i % each]); });
    }
    auto left = ((std::int64_t{1} << 62) - 1) / static_cast<std::int64_t>(options_.micro_batches);
    for (auto const w : others) left -= w;
    std::vector<std::int64_t> out(sizes.size() / each);
    for (std::size_t i = 0; i < out.size(); ++i) {
      auto const name = [&] { return by_row ? sentence("sample ", i, " of the block") : entry("lengths", i, sizes[i]); };
      if constexpr (by_row) {
        auto const value = cost_(std::span(sizes).subspan(i * each, each));
        require(std::in_range<std::int64_t>(value) && std::cmp_greater_equal(value, 0),
                [&] { return sentence(name(), " has cost ", value, ", outside [0, 2^63)"); });
        out[i] = static_cast<std::int64_t>(value);
      } else {
        out[i] = checked_cost(sizes[i], cost_, "cost", name);
      }
      require(out[i] <= left, [&] { return name() + " brings the work times micro_batches to 2^62"; });
      left -= out[i];
    }
    return out;
  }

  /// The samples that wait, most work first; of equal work the older first.
  [[nodiscard]] std::vector<std::uint32_t> by_work() const {
    std::vector<keyed_item<>> items(work_.size()), scratch;
    for (std::size_t i = 0; i < items.size(); ++i) items[i] = {work_[i], static_cast<std::uint32_t>(i)};
    sort_largest_first(items, scratch);
    std::vector<std::uint32_t> out(items.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = items[i].item;
    return out;
  }
  /// Makes a step of samples that wait: of all, or of those that the policy chooses.
  [[nodiscard]] stream_step make(bool of_all) {
    auto const& o = options_;
    auto const n = work_.size();
    auto const count = static_cast<std::size_t>(o.micro_batches);
    auto const is_due = [&](std::uint32_t i) { return state_.steps - state_.arrived[i] >= o.deadline; };
    auto order = by_work();
    if (!of_all) {
      std::vector<std::int64_t> outliers;
      detail::outlier_run due;
      std::int64_t others = std::accumulate(work_.begin(), work_.end(), std::int64_t{0});
      for (auto const i : order) {
        if (compare_products(1000 * static_cast<std::int64_t>(count), work_[i], o.tuning.outlier, state_.usual) <= 0) break;
        if (is_due(i)) due = {due.last == 0 ? outliers.size() : due.first, outliers.size() + 1};
        outliers.push_back(work_[i]);
        others -= work_[i];
      }
      auto const run =
          detail::outlier_chooser(outliers, {static_cast<std::int64_t>(count), others, state_.usual, o.tuning.delay_price}).choose(due);
      order.erase(order.begin() + static_cast<std::ptrdiff_t>(run.last), order.begin() + static_cast<std::ptrdiff_t>(outliers.size()));
      order.erase(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(run.first));
    }
    detail::measured_work const samples{work_, state_.measures, measures()};
    auto placed = detail::place_by_least_work(samples, order, count, o.capacity);
    auto const nowhere = placed.nowhere;
    auto const late = [&](std::size_t j) { return placed.micro_batch[j] == nowhere && is_due(order[j]); };
    auto any_late = false;
    for (std::size_t j = 0; j < order.size() && !any_late; ++j) any_late = late(j);
    if (any_late) {
      std::sort(order.begin(), order.end(), [&](auto a, auto b) {
        if (is_due(a) != is_due(b)) return is_due(a);
        return work_[a] != work_[b] ? work_[a] > work_[b] : a < b;
      });
      placed = detail::place_by_least_work(samples, order, count, o.capacity);
    }
    detail::step_swapper(samples, order, o.capacity, placed).run();
    stream_step out;
    out.workloads = std::move(placed.work);
    out.micro_batches.offsets.assign(count + 1, 0);
    for (auto const m : placed.micro_batch)
      if (m != nowhere) ++out.micro_batches.offsets[m + 1];
    std::partial_sum(out.micro_batches.offsets.begin(), out.micro_batches.offsets.end(), out.micro_batches.offsets.begin());
    auto const size = static_cast<std::size_t>(out.micro_batches.offsets.back());
    out.micro_batches.members.resize(size);
    out.delays.resize(size);
    out.lengths.resize(size * measures());
    auto next = out.micro_batches.offsets;
    std::vector<char> leaves(n, 0);
    for (std::size_t j = 0; j < order.size(); ++j) {
      auto const i = order[j];
      auto const m = placed.micro_batch[j];
      if (late(j)) out.late.push_back(state_.numbers[i]);
      if (m == nowhere) continue;
      auto const at = static_cast<std::size_t>(next[m]++);
      leaves[i] = 1;
      out.micro_batches.members[at] = state_.numbers[i];
      out.delays[at] = state_.steps - state_.arrived[i];
      auto const sizes = samples.sizes_of(i);
      std::copy(sizes.begin(), sizes.end(), out.lengths.begin() + static_cast<std::ptrdiff_t>(at * measures()));
    }
    std::sort(out.late.begin(), out.late.end());
    keep(leaves);
    ++state_.steps;
    return out;
  }

  /// Forgets the samples that leave.
  void keep(std::vector<char> const& leaves) {
    auto const each = measures();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < leaves.size(); ++i) {
      if (leaves[i] != 0) continue;
      work_[kept] = work_[i];
      state_.numbers[kept] = state_.numbers[i];
      state_.arrived[kept] = state_.arrived[i];
      for (std::size_t k = 0; k < each; ++k) state_.measures[kept * each + k] = state_.measures[i * each + k];
      ++kept;
    }
    work_.resize(kept);
    state_.numbers.resize(kept);
    state_.arrived.resize(kept);
    state_.measures.resize(kept * each);
  }

  outlier_options options_;
  Cost cost_;
  outlier_state state_;
  std::vector<std::int64_t> work_;  // of each sample that waits
};

}  // namespace ballast::inline v0_2
