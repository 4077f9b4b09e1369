// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/deal_steps.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/groups.hpp>
#include <ballast/core/level.hpp>
#include <ballast/core/math.hpp>
#include <ballast/levels/detail/level_members.hpp>
#include <ballast/levels/detail/shapes.hpp>
#include <ballast/levels/options.hpp>
#include <ballast/levels/steps.hpp>
#include <ballast/packing/best_fit_decreasing.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

/// @file
/// @brief `online_levels`: makes steps of several levels from a stream of samples, with a bounded look-ahead.

namespace ballast::inline v0_2 {

/// @brief One step of one level.
/// @tparam Index  type of the sample numbers
template <index_type Index = std::uint32_t>
struct level_step {
  std::uint32_t level = 0;          ///< number of the level
  std::uint64_t ranks = 1;          ///< number of ranks: devices / sp
  std::uint64_t micro_batches = 1;  ///< micro-batches of a rank
  groups<Index> packs;              ///< one pack for each place, by rank, then micro-batch; an empty group is an empty place
  friend bool operator==(level_step const&, level_step const&) = default;
};

/// @brief Takes samples one at a time, and hands out steps as soon as enough samples of a level have arrived.
///
/// Each level gathers samples until they fill `window` of its steps. The samples are packed by best-fit decreasing, packs of similar cost
/// share a step, and all full steps are handed out. The emptiest packs that do not fill a step are returned to the level, but preferably
/// none with samples that were returned before. So a sample waits for about `window` steps of its level, and only that many samples are
/// held at a time.
///
/// @tparam Index  type of the sample numbers: the first sample pushed is 0
template <index_type Index = std::uint32_t>
class online_levels {
 public:
  /// @brief A sample that waits for its step.
  struct waiting {
    Index sample = 0;         ///< number of the sample
    std::int64_t length = 0;  ///< tokens of the sample
    bool again = false;       ///< whether the sample was returned before
    friend bool operator==(waiting const&, waiting const&) = default;
  };
  /// @brief The state that a restart needs in addition to the options, in plain members for any file format.
  struct state_type {
    std::uint64_t samples = 0;                   ///< number of samples pushed so far
    std::uint64_t rounds = 0;                    ///< number of windows packed so far
    std::vector<std::vector<waiting>> gathered;  ///< waiting samples of each level
    std::deque<level_step<Index>> ready;         ///< steps that can be handed out; the next step is the last entry
    friend bool operator==(state_type const&, state_type const&) = default;
  };

  /// @brief Starts a new stream. @param levels levels with strictly ascending capacities @param options shape of the steps; `left_over` is
  /// not read
  /// @param window  number of steps of a level whose samples are gathered before they are packed, at least 1
  /// @throws invalid_input for bad levels, options or window
  online_levels(std::vector<level> levels, level_batching_options const& options, std::uint64_t window = 16)
      : levels_(std::move(levels)), window_(window) {
    detail::require_valid(levels_, level_packing_options{});
    require(window > 0 && window < 1U << 20, [&] { return "window = " + std::to_string(window) + " must be in 1 ... 2^20 - 1"; });
    for (auto const& l : levels_) shapes_.push_back(detail::shape_of(l, levels_, options));
    for (auto& shape : shapes_) shape.left_over = left_over::shorten;
    balanced_ = options.balanced;
    state_.gathered.resize(levels_.size());
    tokens_.resize(levels_.size(), 0);
  }
  /// @brief Continues a stream from its state. @param levels as before @param options as before @param window as before @param state from
  /// `state()`
  /// @throws invalid_input as above, or if the state is not one of a stream with these levels and options
  online_levels(std::vector<level> levels, level_batching_options const& options, std::uint64_t window, state_type state)
      : online_levels(std::move(levels), options, window) {
    require(state.gathered.size() == levels_.size(), [&] {
      return "a state of " + std::to_string(state.gathered.size()) + " levels for " + std::to_string(levels_.size()) + " levels";
    });
    require_ours(state);
    for (std::size_t i = 0; i < levels_.size(); ++i)
      for (auto const& w : state.gathered[i]) add_checked(tokens_[i], w.length, "state.gathered", i);
    state_ = std::move(state);
  }

  /// @brief Takes the next sample. @param length tokens of the sample @throws invalid_input unless the length is positive and fits the
  /// longest level, or if `Index` cannot number the sample
  /// @par Complexity Amortised O(log window) a sample.
  void push(std::int64_t length) {
    require(length > 0 && length <= levels_.back().capacity, [&] {
      return "sample " + std::to_string(state_.samples) + " of " + std::to_string(length) + " tokens must be in 1 ... " +
             std::to_string(levels_.back().capacity) + ", the longest level";
    });
    require_index<Index>(state_.samples + 1, "samples");
    std::size_t i = 0;
    while (levels_[i].capacity < length) ++i;
    state_.gathered[i].push_back({static_cast<Index>(state_.samples++), length, false});
    tokens_[i] += length;
    auto const all_places = static_cast<std::int64_t>(places(i) * window_);
    if (tokens_[i] / all_places >= levels_[i].capacity) pack(i, false);
  }
  /// @brief Whether a step can be handed out.
  [[nodiscard]] bool ready() const noexcept { return !state_.ready.empty(); }
  /// @brief Hands out the next step. @return the step @throws invalid_input if none is ready
  [[nodiscard]] level_step<Index> pop() {
    require(ready(), [] { return std::string("no step is ready: push more samples, or flush"); });
    auto step = std::move(state_.ready.back());
    state_.ready.pop_back();
    return step;
  }
  /// @brief Ends the stream: packs all waiting samples; the last step of each level may have empty places.
  void flush() {
    for (std::size_t i = 0; i < levels_.size(); ++i)
      if (!state_.gathered[i].empty()) pack(i, true);
  }
  /// @brief The state that a restart needs.
  [[nodiscard]] state_type const& state() const noexcept { return state_; }

 private:
  [[nodiscard]] std::size_t places(std::size_t i) const { return static_cast<std::size_t>(shapes_[i].ranks * shapes_[i].micro_batches); }

  /// Each sample that waits is one that was pushed, waits once and fits its level; each step has the shape of its level.
  void require_ours(state_type const& state) const {
    std::vector<Index> all;
    for (std::size_t i = 0; i < levels_.size(); ++i)
      for (auto const& w : state.gathered[i]) {
        require(w.length > 0 && w.length <= levels_[i].capacity, [&] {
          return entry("state.gathered", i, w.sample) + " has " + std::to_string(w.length) + " tokens, which level " + std::to_string(i) +
                 " does not hold";
        });
        all.push_back(w.sample);
      }
    for (std::size_t k = 0; k < state.ready.size(); ++k) {
      auto const& [at, ranks, micro_batches, packs] = state.ready[k];
      require(at < levels_.size() && ranks == shapes_[at].ranks && micro_batches == shapes_[at].micro_batches &&
                  packs.size() == places(at) && packs.offsets.front() == 0 && packs.offsets.back() == packs.members.size() &&
                  std::is_sorted(packs.offsets.begin(), packs.offsets.end()),
              [&] { return "state.ready[" + std::to_string(k) + "] is no step of these levels"; });
      all.insert(all.end(), packs.members.begin(), packs.members.end());
    }
    std::sort(all.begin(), all.end());
    auto const twice = std::adjacent_find(all.begin(), all.end());
    require(twice == all.end(), [&] { return "the state has sample " + std::to_string(*twice) + " twice"; });
    require(all.empty() || all.back() < state.samples,
            [&] { return "the state has sample " + std::to_string(all.back()) + " of " + std::to_string(state.samples) + " samples"; });
  }

  /// Packs the gathered samples of a level and makes steps of the packs; unless `all`, samples of an incomplete step stay gathered.
  void pack(std::size_t i, bool all) {
    auto& gathered = state_.gathered[i];
    std::vector<std::int64_t> lengths;
    for (auto const& w : gathered) lengths.push_back(w.length);
    auto packs = best_fit_decreasing(lengths, {.capacity = levels_[i].capacity}).packs;
    std::vector<char> stays(gathered.size(), 0);
    if (!all && packs.size() % places(i) != 0) packs = whole_steps(packs, gathered, places(i), stays);

    std::vector<waiting> taken, left;
    std::vector<std::uint32_t> number(gathered.size(), 0);  // position of each sample in `taken`
    for (std::size_t k = 0; k < gathered.size(); ++k) {
      if (stays[k] == 0) {
        number[k] = static_cast<std::uint32_t>(taken.size());
        taken.push_back(gathered[k]);
      } else {
        left.push_back({gathered[k].sample, gathered[k].length, true});
      }
    }
    for (auto& m : packs.members) m = number[m];
    make_steps(i, std::move(packs), taken);
    gathered = std::move(left);
    tokens_[i] = 0;
    for (auto const& w : gathered) tokens_[i] += w.length;
  }

  /// The packs that make up whole steps. The other packs stay, preferably the emptiest packs without samples that were returned before;
  /// their samples are marked in `stays`.
  [[nodiscard]] static groups<std::uint32_t> whole_steps(groups<std::uint32_t> const& packs, std::vector<waiting> const& gathered,
                                                         std::size_t places, std::vector<char>& stays) {
    std::vector<std::tuple<bool, std::int64_t, std::size_t>> order;
    for (std::size_t p = 0; p < packs.size(); ++p) {
      std::int64_t tokens = 0;
      auto again = false;
      for (auto const k : packs[p]) {
        tokens += gathered[k].length;
        again = again || gathered[k].again;
      }
      order.emplace_back(!again, -tokens, p);
    }
    std::sort(order.begin(), order.end());
    groups<std::uint32_t> whole;
    auto const count = round_down(packs.size(), places);
    for (std::size_t k = 0; k < order.size(); ++k) {
      auto const pack = packs[std::get<2>(order[k])];
      if (k < count)
        whole.push_back(pack);
      else
        for (auto const m : pack) stays[m] = 1;
    }
    return whole;
  }

  /// Makes steps of packs of the samples `taken`, to be handed out after the steps that are ready now.
  void make_steps(std::size_t i, groups<std::uint32_t> packs, std::vector<waiting> const& taken) {
    std::vector<std::int64_t> lengths;
    for (auto const& w : taken) lengths.push_back(w.length);
    auto shape = shapes_[i];
    shape.epoch = state_.rounds++;
    auto const steps = deal_steps(std::move(packs), lengths, shape, attention_only, {.how = balanced_ ? dealing::sorted : dealing::random});
    std::vector<level_step<Index>> fresh;
    std::vector<Index> pack;
    for (std::size_t s = steps.steps(); s-- > 0;) {  // the first step to hand out comes last
      level_step<Index> step{static_cast<std::uint32_t>(i), steps.ranks, steps.micro_batches, {}};
      for (auto const p : steps.step(s)) {
        pack.clear();
        if (p != steps.none)
          for (auto const m : steps.packs[p]) pack.push_back(taken[m].sample);
        step.packs.push_back(pack);
      }
      fresh.push_back(std::move(step));
    }
    state_.ready.insert(state_.ready.begin(), std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
  }

  std::vector<level> levels_;
  std::vector<batching_options> shapes_;
  std::uint64_t window_;
  bool balanced_ = true;
  state_type state_;
  std::vector<std::int64_t> tokens_;  // tokens of the waiting samples of each level
};

}  // namespace ballast::inline v0_2
