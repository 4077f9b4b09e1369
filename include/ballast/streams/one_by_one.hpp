// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/error.hpp>
#include <ballast/streams/stream_step.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

/// @file
/// @brief `one_by_one`: feeds a policy for streams with samples that arrive one at a time.

namespace ballast::inline v0_2 {

/// @brief Gathers samples that arrive one at a time into blocks, and pushes each block through a policy for streams.
///
/// A block is complete with the sample that brings it to `tokens` tokens. Ranks that push the same samples in the same order get the same
/// steps, however often they ask `ready()`.
///
/// @tparam Policy  a class with `push(lengths)`, which returns a `stream_step`, and `flush()`, which returns several: `outlier_stream`,
/// `wlb::packer`
template <class Policy>
class one_by_one {
 public:
  /// @brief Starts with a policy, which may have been resumed. @param policy the policy @param tokens tokens of a block, at least 1: those
  /// of a step @param measures measures of a sample, of which the last counts as tokens; at least 1 @param pending samples that were not
  /// popped: `pending()` of the stream that continues here
  /// @throws invalid_input if `tokens` or `measures` is not positive, or as `push`
  one_by_one(Policy policy, std::int64_t tokens, std::size_t measures = 1, std::span<std::int64_t const> pending = {})
      : policy_(std::move(policy)), tokens_(tokens), measures_(measures) {
    require(tokens > 0, [&] { return sentence("tokens = ", tokens, " must be positive"); });
    require(measures > 0, [&] { return sentence("measures = ", measures, " must be positive"); });
    require(pending.size() % measures == 0, [&] { return sentence(pending.size(), " measures are no multiple of ", measures); });
    for (std::size_t i = 0; i < pending.size(); i += measures) push(pending.subspan(i, measures));
  }

  /// @brief Takes a sample of one measure. @param length tokens, at least 1
  /// @throws invalid_input if the length is not positive or samples have several measures; the stream is then as before
  void push(std::int64_t length) {
    require(length > 0, [&] { return sentence("length = ", length, " must be positive"); });
    push(std::span<std::int64_t const>(&length, 1));
  }
  /// @brief Takes a sample. @param row its measures, not negative, of which the last counts as tokens
  /// @throws invalid_input if a measure is negative, or there is another number of them; the stream is then as before
  void push(std::span<std::int64_t const> row) {
    require(row.size() == measures_, [&] { return sentence("a sample of ", row.size(), " measures instead of ", measures_); });
    for (std::size_t k = 0; k < row.size(); ++k) require(row[k] >= 0, [&] { return entry("row", k, row[k]) + " must not be negative"; });
    pending_.insert(pending_.end(), row.begin(), row.end());
    missing_ = row.back() < missing_of_block() ? missing_of_block() - row.back() : 0;
    if (missing_ != 0) return;
    ends_.push_back(popped_ + pending().size());
  }
  /// @brief Whether a block is complete.
  [[nodiscard]] bool ready() const noexcept { return !ends_.empty(); }
  /// @brief Pushes the oldest complete block through the policy. @return the step
  /// @throws invalid_input unless `ready()`, or as `push` of the policy; the block then stays
  [[nodiscard]] stream_step pop() {
    require(ready(), [] { return "no block is complete: ask ready()"; });
    auto step = push_block(ends_.front() - popped_);
    ends_.pop_front();
    return step;
  }
  /// @brief Ends the stream: pushes complete blocks, then the rest as a block, and flushes the policy. @return the steps
  /// @throws invalid_input as `pop`
  [[nodiscard]] std::vector<stream_step> flush() {
    std::vector<stream_step> out;
    while (ready()) out.push_back(pop());
    if (!pending().empty()) out.push_back(push_block(pending().size()));
    missing_ = 0;
    for (auto& step : policy_.flush()) out.push_back(std::move(step));
    return out;
  }
  /// @brief Samples that were not popped, all measures of each one after another. With the state of the policy it is what a restart needs.
  /// @return a view, valid until the next `push`, `pop` or `flush`
  [[nodiscard]] std::span<std::int64_t const> pending() const& noexcept { return std::span(pending_).subspan(gone_); }
  void pending() const&& = delete;  ///< a view of a temporary would dangle
  /// @brief The policy, for its state and what waits in it.
  [[nodiscard]] Policy const& policy() const noexcept { return policy_; }

 private:
  [[nodiscard]] std::int64_t missing_of_block() const noexcept { return missing_ == 0 ? tokens_ : missing_; }
  [[nodiscard]] stream_step push_block(std::size_t size) {
    auto const first = pending_.begin() + static_cast<std::ptrdiff_t>(gone_);
    std::vector<std::int64_t> const block(first, first + static_cast<std::ptrdiff_t>(size));
    auto step = policy_.push(block);
    popped_ += size;
    gone_ += size;
    if (gone_ > pending_.size() / 2) {  // as many are moved as have left, so each pop takes constant time for a sample
      pending_.erase(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(gone_));
      gone_ = 0;
    }
    return step;
  }

  Policy policy_;
  std::int64_t tokens_;
  std::size_t measures_;
  std::int64_t missing_ = 0;  // tokens that the open block lacks; 0: no block is open
  std::vector<std::int64_t> pending_;
  std::size_t gone_ = 0;          // measures at the front of `pending_` that were popped
  std::size_t popped_ = 0;        // measures popped since the start
  std::deque<std::size_t> ends_;  // of the complete blocks, in measures since the start
};

}  // namespace ballast::inline v0_2
