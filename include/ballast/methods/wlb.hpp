// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/weigh.hpp>
#include <ballast/streams/stream_step.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief WLB-LLM (Wang et al., arXiv 2503.17924): micro-batches of balanced work from a stream of documents, in which long ones wait for
/// each other.

namespace ballast::inline v0_2::wlb {

/// @brief A document of a stream.
using document = stream_sample;
/// @brief The micro-batches of one step.
using step = stream_step;

/// @brief Shape of a step. Only `thresholds` may stay as it is.
struct options {
  std::uint64_t micro_batches = 0;       ///< micro-batches of a step over all data-parallel ranks, at least 1
  std::int64_t capacity = 0;             ///< most tokens of a micro-batch, at least 1; no document is longer
  std::vector<std::int64_t> thresholds;  ///< ascending: queue i has the documents from `thresholds[i]` tokens on; none: nothing waits
};

namespace detail {

inline void require_valid(options const& o) {
  require(o.micro_batches > 0 && o.micro_batches < 1U << 20,
          [&] { return sentence("micro_batches = ", o.micro_batches, " must be in 1 ... 2^20 - 1"); });
  require(o.capacity > 0, [&] { return sentence("capacity = ", o.capacity, " must be positive"); });
  for (std::size_t i = 0; i < o.thresholds.size(); ++i)
    require(o.thresholds[i] > (i == 0 ? 0 : o.thresholds[i - 1]),
            [&] { return entry("thresholds", i, o.thresholds[i]) + " must be positive and above the one before"; });
}

/// Fills the micro-batches of a step with documents in the given order: each goes to the micro-batch with the least work if it fits there,
/// otherwise to the one with the fewest tokens if it fits there. Returns those that fit in neither.
template <cost_model Cost>
std::vector<document> fill(std::span<document const> documents, std::uint64_t now, options const& o, Cost const& cost, step& out) {
  auto const count = static_cast<std::size_t>(o.micro_batches);
  using entry = std::pair<std::int64_t, std::size_t>;  // load and micro-batch; of equal loads the lower number
  std::priority_queue<entry, std::vector<entry>, std::greater<>> by_work, by_tokens;
  std::vector<std::int64_t> work(count, 0), tokens(count, 0);
  for (std::size_t m = 0; m < count; ++m) {
    by_work.emplace(0, m);
    by_tokens.emplace(0, m);
  }
  auto const least = [](auto& heap, auto const& now_is) {
    while (heap.top().first != now_is[heap.top().second]) heap.pop();
    return heap.top().second;
  };
  std::vector<std::vector<document>> in(count);
  std::vector<document> left;
  for (auto const& d : documents) {
    auto m = least(by_work, work);
    if (tokens[m] > o.capacity - d.length) m = least(by_tokens, tokens);
    if (tokens[m] > o.capacity - d.length) {
      left.push_back(d);
      continue;
    }
    in[m].push_back(d);
    auto const name = [&] { return sentence("document ", d.number, " of ", d.length, " tokens"); };
    auto const more = checked_cost(d.length, cost, "cost", name);
    require(more < (std::int64_t{1} << 62) / static_cast<std::int64_t>(count) - work[m],
            [&] { return name() + " brings the work to 2^62"; });
    work[m] += more;
    tokens[m] += d.length;
    if (more > 0) by_work.push({work[m], m});
    by_tokens.push({tokens[m], m});
  }
  for (auto const& micro_batch : in) {
    for (auto const& d : micro_batch) {
      out.micro_batches.members.push_back(d.number);
      out.lengths.push_back(d.length);
      out.delays.push_back(now - d.arrived);
    }
    out.micro_batches.offsets.push_back(out.micro_batches.members.size());
  }
  out.workloads = std::move(work);
  return left;
}

/// Longest first; of equal lengths the older.
inline void sort_descending(std::vector<document>::iterator first, std::vector<document>::iterator last) {
  std::sort(first, last,
            [](document const& a, document const& b) { return a.length != b.length ? a.length > b.length : a.number < b.number; });
}

}  // namespace detail

/// @brief What a restart of a `packer` needs beside the options, in plain members for any file format.
struct packer_state {
  std::uint64_t documents = 0;                ///< number of documents pushed so far
  std::uint64_t steps = 0;                    ///< number of steps made so far
  std::vector<std::vector<document>> queues;  ///< waiting documents of each threshold, oldest first
  std::vector<document> left;                 ///< documents that fit in no micro-batch of the last step
  friend bool operator==(packer_state const&, packer_state const&) = default;
};

/// @brief Makes one step of every global batch of a stream of documents (algorithm 1 of the paper).
///
/// Documents of `thresholds[0]` tokens or more wait in queues, first in, first out. A queue with as many documents as there are
/// micro-batches hands out that many, one for each. The step has what was left of the step before, then these and the short documents,
/// longest first. Each document goes to the micro-batch with the least work; if it does not fit there, to the one with the fewest tokens;
/// and if it does not fit there either, it is left for the next step.
///
/// Ranks that push the same batches get the same steps.
///
/// @tparam Cost  a `cost_model`
template <cost_model Cost>
class packer {
 public:
  /// @brief Starts a stream. @param shape micro-batches, capacity and thresholds @param cost work of a document by its length: attention
  /// and everything else. @throws invalid_input for a bad option
  packer(options shape, Cost const& cost) : options_(std::move(shape)), cost_(cost) {
    detail::require_valid(options_);
    state_.queues.resize(options_.thresholds.size());
  }
  /// @brief Continues a stream from its state. @param shape as before @param cost as before @param state from `state()`
  /// @throws invalid_input as the overload above, or if the state is not one of a stream with these options
  packer(options shape, Cost const& cost, packer_state state) : packer(std::move(shape), cost) {
    require(state.queues.size() == state_.queues.size(),
            [&] { return sentence("a state of ", state.queues.size(), " queues for ", state_.queues.size(), " thresholds"); });
    state_ = std::move(state);
    auto const all = waiting();
    for (std::size_t i = 0; i < all.size(); ++i) {
      auto const& d = all[i];
      require(d.number < state_.documents && (i == 0 || d.number > all[i - 1].number) && d.arrived < state_.steps && d.length > 0 &&
                  d.length <= options_.capacity,
              [&] {
                return sentence("the state is damaged: document ", d.number, " of ", d.length, " tokens from step ", d.arrived, " waits");
              });
    }
  }

  /// @brief Takes the documents of the next global batch and makes a step.
  /// @tparam R  range of integers
  /// @param lengths  tokens of each document
  /// @return the step, with documents of this batch and earlier ones
  /// @throws invalid_input if a length is not positive or exceeds the capacity, or work reaches 2^62
  /// @par Complexity
  /// O(n log n + n log micro-batches).
  template <length_range R>
  [[nodiscard]] step push(R const& lengths) {
    auto const longest = extent_of(lengths).longest;
    require(longest <= options_.capacity,
            [&] { return sentence("a document of ", longest, " tokens exceeds capacity = ", options_.capacity); });
    auto now = std::move(state_.left);
    auto const old = static_cast<std::ptrdiff_t>(now.size());
    auto const at = read_by_position(lengths);
    for (std::size_t i = 0; i < static_cast<std::size_t>(std::ranges::size(lengths)); ++i) {
      document const d{state_.documents++, static_cast<std::int64_t>(at[i]), state_.steps};
      auto const& above = options_.thresholds;
      auto const queue = std::upper_bound(above.begin(), above.end(), d.length) - above.begin();
      (queue == 0 ? now : state_.queues[static_cast<std::size_t>(queue) - 1]).push_back(d);
    }
    auto const count = static_cast<std::ptrdiff_t>(options_.micro_batches);
    for (auto& queue : state_.queues) {
      if (std::ssize(queue) < count) continue;
      now.insert(now.end(), queue.begin(), queue.begin() + count);
      queue.erase(queue.begin(), queue.begin() + count);
    }
    return fill(now, old);
  }
  /// @brief Ends the stream: makes steps of all that waits. @return the steps; none if nothing waits
  [[nodiscard]] std::vector<step> flush() {
    std::vector<step> out;
    auto now = std::move(state_.left);
    auto old = static_cast<std::ptrdiff_t>(now.size());
    for (auto& queue : state_.queues) {
      now.insert(now.end(), queue.begin(), queue.end());
      queue.clear();
    }
    while (!now.empty()) {
      out.push_back(fill(now, old));
      now = std::move(state_.left);
      old = std::ssize(now);
    }
    state_.left.clear();
    return out;
  }
  /// @brief The documents that wait. @return by number
  [[nodiscard]] std::vector<document> waiting() const {
    auto out = state_.left;
    for (auto const& queue : state_.queues) out.insert(out.end(), queue.begin(), queue.end());
    std::sort(out.begin(), out.end(), [](document const& a, document const& b) { return a.number < b.number; });
    return out;
  }
  /// @brief What a restart needs.
  [[nodiscard]] packer_state const& state() const noexcept { return state_; }

 private:
  /// Makes the step of these documents, of which the first `old` keep their places.
  [[nodiscard]] step fill(std::vector<document>& now, std::ptrdiff_t old) {
    detail::sort_descending(now.begin() + old, now.end());
    step out;
    state_.left = detail::fill(now, state_.steps++, options_, cost_, out);
    return out;
  }

  options options_;
  Cost cost_;
  packer_state state_;
};

}  // namespace ballast::inline v0_2::wlb
