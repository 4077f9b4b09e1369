// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast_test {

/// The least makespan of chains of micro-batches on a pipeline, by trying every active schedule (Giffler and Thompson 1960): at each step,
/// of the tasks that may be next, one ends first; the stage of that task does one of those that can begin before this end.
class least_chain_makespan {
 public:
  struct times {
    std::int64_t forward, backward, transfer;
  };

  /// `chains[c][i][s]`: the times of the i-th micro-batch of chain c on stage s.
  explicit least_chain_makespan(std::vector<std::vector<std::vector<times>>> chains) : chains_(std::move(chains)) {
    stages_ = chains_.front().front().size();
    clock_.assign(stages_, 0);
    left_.assign(stages_, 0);
    next_.assign(chains_.size(), std::vector<std::size_t>(stages_, 0));
    for (auto const& chain : chains_) {
      ends_.emplace_back(2 * chain.size(), std::vector<std::int64_t>(stages_, 0));
      for (auto const& micro : chain)
        for (std::size_t s = 0; s < stages_; ++s) left_[s] += micro[s].forward + micro[s].backward;
    }
    go();
  }
  [[nodiscard]] std::int64_t value() const { return best_; }

 private:
  struct choice {
    std::size_t chain, stage, at;
    std::int64_t start, time;
  };

  // Whether the next task of the chain on the stage has all it waits for. Tasks 0 … n - 1 are forwards, the others backwards in reverse.
  [[nodiscard]] bool ready(std::size_t c, std::size_t s, choice& out) const {
    auto const n = chains_[c].size(), at = next_[c][s];
    if (at == 2 * n) return false;
    auto const forward = at < n;
    auto const micro = forward ? at : 2 * n - 1 - at;
    auto const& t = chains_[c][micro];
    auto arrival = at == 0 ? 0 : ends_[c][at - 1][s];
    if (forward && s > 0) {
      if (next_[c][s - 1] <= at) return false;
      arrival = (std::max)(arrival, ends_[c][at][s - 1] + t[s - 1].transfer);
    }
    if (!forward && s + 1 < stages_) {
      if (next_[c][s + 1] <= at) return false;
      arrival = (std::max)(arrival, ends_[c][at][s + 1] + t[s].transfer);
    }
    out = {c, s, at, (std::max)(arrival, clock_[s]), forward ? t[s].forward : t[s].backward};
    return true;
  }

  void go() {
    std::int64_t least = 0;
    for (std::size_t s = 0; s < stages_; ++s) least = (std::max)(least, clock_[s] + left_[s]);
    if (least >= best_) return;
    std::vector<choice> choices;
    choice one{};
    for (std::size_t c = 0; c < chains_.size(); ++c)
      for (std::size_t s = 0; s < stages_; ++s)
        if (ready(c, s, one)) choices.push_back(one);
    if (choices.empty()) {
      best_ = least;
      return;
    }
    auto const first =
        *std::min_element(choices.begin(), choices.end(), [](auto const& a, auto const& b) { return a.start + a.time < b.start + b.time; });
    for (auto const& x : choices) {
      // A task without time may begin at the very end of the other and still come before it.
      if (x.stage != first.stage || x.start > first.start + first.time) continue;
      auto const clock = clock_[x.stage];
      clock_[x.stage] = ends_[x.chain][x.at][x.stage] = x.start + x.time;
      left_[x.stage] -= x.time;
      ++next_[x.chain][x.stage];
      go();
      --next_[x.chain][x.stage];
      left_[x.stage] += x.time;
      clock_[x.stage] = clock;
    }
  }

  std::vector<std::vector<std::vector<times>>> chains_;
  std::size_t stages_ = 0;
  std::vector<std::int64_t> clock_, left_;
  std::vector<std::vector<std::size_t>> next_;
  std::vector<std::vector<std::vector<std::int64_t>>> ends_;
  std::int64_t best_ = std::int64_t{1} << 60;
};

}  // namespace ballast_test
