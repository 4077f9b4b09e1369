// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/checked.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/math.hpp>
#include <ballast/pipeline/tasks.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

// One step of ranks whose pipelines wait for each other. Private.

namespace ballast::inline v0_2::detail {

/// All ranks do their tasks in one order. Ranks that run a micro-batch together begin each of its tasks together, and take as long as the
/// slowest of them. The weight part of a split backward follows its input part at once.
template <class = when_called>
class joint_timeline {
 public:
  /// `first[rank * places + m]` is the first of the ranks that run micro-batch m together with a rank.
  joint_timeline(pipeline_order const& order, std::span<std::uint32_t const> first, std::size_t ranks)
      : order_(order),
        first_(first),
        ranks_(ranks),
        places_(first.size() / ranks),
        count_(static_cast<std::size_t>(order.micro_batches)),
        chunks_(order.stage_of.size()),
        lasts_(ranks * count_ * chunks_),
        forward_(lasts_.size(), -1),
        gradient_(lasts_.size(), -1),
        free_(ranks * order.stages(), 0) {}

  /// Adds the works of a rank's micro-batch, one for each virtual stage.
  void add(std::size_t rank, std::size_t micro_batch, std::span<stage_work const> works) {
    for (std::size_t k = 0; k < chunks_; ++k) {
      auto& most = lasts_[place(first(rank, micro_batch), micro_batch, k)];
      auto const& w = works[k];
      for (auto const time : {sum(w), w.transfer, w.transfer}) add_checked(all_, time, "works", k);
      if (chunks_ == 1) {  // a pass lasts as long as the slowest, whichever of its parts is slow
        if (sum(w) > sum(most)) most = w;
        continue;
      }
      most.forward = (std::max)(most.forward, w.forward);
      most.backward = (std::max)(most.backward, w.backward);
      most.weight = (std::max)(most.weight, w.weight);
      most.recompute = (std::max)(most.recompute, w.recompute);
      most.transfer = (std::max)(most.transfer, w.transfer);
    }
  }

  /// The time until the last rank is done.
  [[nodiscard]] std::int64_t makespan() {
    std::vector<std::uint64_t> next(order_.offsets.begin(), order_.offsets.end() - 1);
    for (auto again = true; std::exchange(again, false);)
      for (std::size_t s = 0; s < next.size(); ++s)
        for (; next[s] < order_.offsets[s + 1] && ready(order_.tasks[static_cast<std::size_t>(next[s])]); ++next[s]) {
          run(order_.tasks[static_cast<std::size_t>(next[s])], s);
          again = true;
        }
    return *std::max_element(free_.begin(), free_.end());
  }

 private:
  [[nodiscard]] static std::int64_t sum(stage_work const& w) { return w.forward + w.backward + w.weight + w.recompute; }
  [[nodiscard]] std::size_t place(std::size_t rank, std::size_t micro_batch, std::size_t k) const {
    return (rank * count_ + micro_batch) * chunks_ + k;
  }
  [[nodiscard]] std::size_t first(std::size_t rank, std::size_t micro_batch) const {
    return micro_batch < places_ ? first_[rank * places_ + micro_batch] : rank;  // an interleaved order may have more
  }
  /// Whether the inputs of a task are computed. Ranks do not differ in this.
  [[nodiscard]] bool ready(pipeline_task const& t) const {
    auto const at = place(0, t.micro_batch, t.virtual_stage);
    if (t.pass == pipeline_pass::forward) return t.virtual_stage == 0 || forward_[at - 1] >= 0;
    return forward_[at] >= 0 && (t.virtual_stage + std::size_t{1} == chunks_ || gradient_[at + 1] >= 0);
  }
  void run(pipeline_task const& t, std::size_t stage) {
    std::size_t const k = t.virtual_stage, m = t.micro_batch;
    auto const is_forward = t.pass == pipeline_pass::forward;
    auto const crossed = [&](std::size_t rank, std::size_t from) {  // between the virtual stages `from` and `from + 1`
      return order_.stage_of[from] == order_.stage_of[from + 1] ? 0 : lasts_[place(first(rank, m), m, from)].transfer;
    };
    auto& ends = is_forward ? forward_ : gradient_;
    start_.assign(ranks_, 0);
    for (std::size_t r = 0; r < ranks_; ++r) {
      auto begin = free_[r * order_.stages() + stage];
      if (is_forward && k > 0) begin = (std::max)(begin, forward_[place(r, m, k - 1)] + crossed(r, k - 1));
      if (!is_forward && k + 1 < chunks_) begin = (std::max)(begin, gradient_[place(r, m, k + 1)] + crossed(r, k));
      auto& together = start_[first(r, m)];
      together = (std::max)(together, begin);
    }
    for (std::size_t r = 0; r < ranks_; ++r) {
      auto const& w = lasts_[place(first(r, m), m, k)];
      auto const end = start_[first(r, m)] + (is_forward ? w.forward : w.recompute + w.backward);
      ends[place(r, m, k)] = end;
      free_[r * order_.stages() + stage] = end + (is_forward ? 0 : w.weight);
    }
  }

  pipeline_order const& order_;
  std::span<std::uint32_t const> first_;
  std::size_t ranks_, places_, count_, chunks_;
  std::vector<stage_work> lasts_;  // of the ranks that run a micro-batch together, at the first of them
  std::vector<std::int64_t> forward_, gradient_, free_, start_;
  std::int64_t all_ = 0;
};

}  // namespace ballast::inline v0_2::detail
