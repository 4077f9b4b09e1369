// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/methods/wlb.hpp>
#include <ballast/streams/stream_step.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

/// @file
/// @brief WLB-LLM's thresholds, tuned on a sample of the stream, and the packers that the paper compares with.

namespace ballast::inline v0_2::wlb {

/// @brief Global batches of a stream, each with the tokens of its documents.
using global_batches = stream_blocks;
/// @brief Steps of a stream, and the documents that are in none of them.
using replayed = stream_replay;

/// @brief Pushes all batches through a `packer`.
///
/// @tparam Cost  a `cost_model`
/// @param batches  the global batches
/// @param shape    micro-batches, capacity and thresholds
/// @param cost     work of a document
/// @return a step for each batch
/// @throws invalid_input as `packer`
/// @par Complexity
/// That of `packer::push` for each batch.
/// @par Determinism
/// A pure function of its arguments.
template <cost_model Cost>
[[nodiscard]] replayed replay(global_batches const& batches, options const& shape, Cost const& cost) {
  return replay_stream(batches, packer<Cost>(shape, cost));
}

/// @brief The paper's baseline with a window: the documents of several global batches are repacked together, longest first.
///
/// Each document goes to the micro-batch with the least work if it fits there, otherwise to the one with the fewest tokens; what fits in
/// neither waits for the next window. `shape.capacity` is the fixed length of a sequence.
///
/// @tparam Cost  a `cost_model`
/// @param batches  the global batches; those behind the last full window are left
/// @param shape    micro-batches of a step, and capacity; `thresholds` is not read
/// @param cost     work of a document; the paper takes the square of the length
/// @param window   global batches that are packed together, at least 1
/// @return as many steps as there are batches in full windows
/// @throws invalid_input if `window` is 0, or as `packer`
/// @par Complexity
/// O(n log n).
/// @par Determinism
/// A pure function of its arguments.
template <cost_model Cost>
[[nodiscard]] replayed repack_windows(global_batches const& batches, options shape, Cost const& cost, std::size_t window = 1) {
  require(window > 0 && window < 1U << 10, [&] { return sentence("window = ", window, " must be in 1 ... 2^10 - 1"); });
  shape.thresholds.clear();
  auto const each = static_cast<std::size_t>(shape.micro_batches);
  shape.micro_batches *= window;
  packer<Cost> stream(shape, cost);
  replayed out;
  std::vector<std::int64_t> together;
  std::vector<std::uint64_t> arrived;  // of each document
  for (std::size_t b = 0; b < batches.size(); ++b) {
    together.insert(together.end(), batches[b].begin(), batches[b].end());
    arrived.resize(arrived.size() + batches[b].size(), b);
    if ((b + 1) % window != 0) continue;
    auto const all = stream.push(together);
    together.clear();
    for (std::size_t s = 0; s < window; ++s) {
      step one;
      for (auto m = s * each; m < (s + 1) * each; ++m) {
        one.micro_batches.push_back(all.micro_batches[m]);
        one.workloads.push_back(all.workloads[m]);
      }
      auto const first = static_cast<std::size_t>(all.micro_batches.offsets[s * each]);
      for (std::size_t i = 0; i < one.micro_batches.members.size(); ++i) {
        one.lengths.push_back(all.lengths[first + i]);
        std::uint64_t const came = arrived[static_cast<std::size_t>(one.micro_batches.members[i])], trained = out.steps.size();
        one.delays.push_back(trained > came ? trained - came : 0);  // a later batch may be trained early
      }
      out.steps.push_back(std::move(one));
    }
  }
  out.left = stream.state().left;
  for (auto& d : out.left) d.arrived = arrived[static_cast<std::size_t>(d.number)];
  for (std::size_t i = 0; i < together.size(); ++i) {
    auto const number = arrived.size() - together.size() + i;
    out.left.push_back({number, together[i], arrived[number]});
  }
  return out;
}

/// @brief The paper's original packing: documents in the order in which they come, in sequences of a fixed length; no document is cut.
///
/// @tparam Cost  a `cost_model`
/// @param batches  the global batches, read as one stream
/// @param shape    micro-batches of a step, and capacity; `thresholds` is not read
/// @param cost     work of a document
/// @return as many full steps as the stream fills
/// @throws invalid_input as `packer`
/// @par Complexity
/// O(n).
/// @par Determinism
/// A pure function of its arguments.
template <cost_model Cost>
[[nodiscard]] replayed pack_in_order(global_batches const& batches, options shape, Cost const& cost) {
  shape.thresholds.clear();
  detail::require_valid(shape);
  auto const each = static_cast<std::size_t>(shape.micro_batches);
  shape.micro_batches = 1;
  replayed out;
  step now;
  std::vector<document> open;
  std::int64_t tokens = 0;
  std::uint64_t number = 0;
  auto const close = [&] {
    step one;
    static_cast<void>(detail::fill(open, out.steps.size(), shape, cost, one));
    now.micro_batches.push_back(one.micro_batches[0]);
    now.workloads.push_back(one.workloads[0]);
    now.lengths.insert(now.lengths.end(), one.lengths.begin(), one.lengths.end());
    now.delays.resize(now.lengths.size(), 0);
    open.clear();
    tokens = 0;
    if (now.workloads.size() < each) return;
    out.steps.push_back(std::exchange(now, {}));
  };
  for (std::size_t b = 0; b < batches.size(); ++b) {
    static_cast<void>(extent_of(batches[b]));
    for (auto const length : batches[b]) {
      require(length <= shape.capacity, [&] { return sentence("a document of ", length, " tokens exceeds capacity = ", shape.capacity); });
      if (tokens > shape.capacity - length) close();
      open.push_back({number++, length, 0});
      tokens += length;
    }
  }
  std::uint64_t trained = 0;
  for (auto const& s : out.steps) trained += s.lengths.size();
  number = 0;
  for (std::size_t b = 0; b < batches.size(); ++b)
    for (auto const length : batches[b])
      if (number++ >= trained) out.left.push_back({number - 1, length, b});
  return out;
}

/// @brief Thresholds, and what a replay gave with them.
struct tuned {
  std::vector<std::int64_t> thresholds;  ///< ascending
  std::int64_t imbalance = 0;            ///< mean of the largest workload over the mean, in millionths
  std::int64_t delay = 0;                ///< mean steps that a token waited, in millionths
  friend bool operator==(tuned const&, tuned const&) = default;
};

/// @brief Chooses the thresholds that balance a sample of the stream best, within a limit on the mean delay of a token.
///
/// All sets of at most `queues` candidates are replayed.
///
/// @tparam Cost  a `cost_model`
/// @param batches     a sample of the stream: some hundred global batches
/// @param shape       micro-batches and capacity; `thresholds` is not read
/// @param cost        work of a document
/// @param candidates  thresholds to try, ascending, at most 16
/// @param queues      most thresholds, at most 4
/// @param most_delay  largest mean delay of a token, in millionths of a step; the paper reports half a step
/// @return the best set; if every set exceeds the limit, the one with the least delay
/// @throws invalid_input for bad candidates, or as `packer`
/// @par Complexity
/// A replay for each set.
/// @par Determinism
/// A pure function of its arguments; of equal sets the one with fewer and lower thresholds.
template <cost_model Cost>
[[nodiscard]] tuned tune_thresholds(global_batches const& batches, options shape, Cost const& cost,
                                    std::vector<std::int64_t> const& candidates, std::uint32_t queues, std::int64_t most_delay = 500'000) {
  require(candidates.size() <= 16, [&] { return sentence(candidates.size(), " candidates: there may be 16"); });
  require(queues <= 4, [&] { return sentence("queues = ", queues, " must be at most 4"); });
  shape.thresholds = candidates;
  detail::require_valid(shape);
  tuned best;
  auto found = false;
  for (std::uint32_t size = 0; size <= queues; ++size)
    for (std::uint32_t set = 0; set < 1U << candidates.size(); ++set) {
      if (std::popcount(set) != static_cast<int>(size)) continue;
      shape.thresholds.clear();
      for (std::size_t c = 0; c < candidates.size(); ++c)
        if ((set >> c & 1U) != 0) shape.thresholds.push_back(candidates[c]);
      auto const run = replay(batches, shape, cost);
      tuned const now{shape.thresholds, run.imbalance(), run.delay()};
      auto const within = now.delay <= most_delay, best_within = best.delay <= most_delay;
      auto const better = within != best_within ? within : within ? now.imbalance < best.imbalance : now.delay < best.delay;
      if (!found || better) best = now;
      found = true;
    }
  return best;
}

}  // namespace ballast::inline v0_2::wlb
