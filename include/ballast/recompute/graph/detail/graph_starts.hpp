// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/recompute/graph/detail/graph_rewriter.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

// Estimates for the choice of tensors to drop: what each saves and costs, and where memory is short in program order.

namespace ballast::inline v0_2::detail {

// Bytes in use at each operator of a graph in program order.
template <class = when_called>
[[nodiscard]] std::vector<std::int64_t> bytes_in_order(graph const& g) {
  auto const uses = uses_of(g);
  auto const count = g.size();
  std::vector<std::size_t> first(g.tensors.size(), count), last(g.tensors.size());
  for (std::size_t t = 0; t < g.tensors.size(); ++t) {
    auto const root = uses.memory[t];
    auto const maker = uses.maker[t] == graph_uses::none ? 0 : uses.maker[t];
    first[root] = (std::min)(first[root], std::size_t{maker});
    last[root] = (std::max)(last[root], std::size_t{maker});
    if (!uses.readers[t].empty()) last[root] = (std::max)(last[root], std::size_t{uses.readers[t].back()});
    if (g.tensors[t].kept) last[root] = count;
  }
  std::vector<std::int64_t> change(count + 1);
  for (std::size_t t = 0; t < g.tensors.size(); ++t) {
    if (uses.memory[t] != t) continue;
    change[first[t]] += g.tensors[t].bytes;
    change[(std::min)(last[t] + 1, count)] -= g.tensors[t].bytes;
  }
  for (std::size_t v = 1; v < count; ++v) change[v] += change[v - 1];
  for (std::size_t v = 0; v < count; ++v) change[v] += g.operators[v].workspace;
  change.pop_back();
  return change;
}

// When a candidate that is kept is held for operators that are not of the forward pass.
struct idle_time {
  std::uint32_t from;  // last forward operator that makes or reads it
  std::uint32_t to;    // first other operator that reads it
};

// What candidates cost and when they are idle.
template <class = when_called>
class graph_costs {
 public:
  explicit graph_costs(graph_rewriter<> const& rewriter)
      : r_(rewriter), seen_(r_.original().size()), idle_(r_.original().tensors.size()), sure_(idle_.size()), share_(idle_.size()) {
    auto const& g = r_.original();
    auto const count = static_cast<std::uint32_t>(g.size());
    for (auto const c : r_.candidates()) idle_[c] = {r_.uses().maker[c], count};
    for (std::uint32_t t = 0; t < idle_.size(); ++t) {
      auto const root = r_.uses().memory[t];
      if (!r_.is_candidate(root)) continue;
      for (auto const v : r_.uses().readers[t]) {
        if (r_.is_forward(v))
          idle_[root].from = (std::max)(idle_[root].from, v);
        else
          idle_[root].to = (std::min)(idle_[root].to, v);
      }
    }
    // What runs again whenever a candidate is dropped: what makes the views of it that others read, as if all else were kept.
    std::vector<std::uint8_t> only(idle_.size());
    std::vector<std::int64_t> users(count);
    for (std::uint32_t t = 0; t < idle_.size(); ++t) {
      auto const root = r_.uses().memory[t];
      if (!r_.is_candidate(root)) continue;
      for (auto const v : r_.uses().readers[t])
        if (!r_.is_forward(v)) {
          only[root] = 1;
          collect(r_.uses().maker[t], only, {}, sure_[root]);
          only[root] = 0;
          break;
        }
    }
    for (auto const c : r_.candidates()) {
      std::sort(sure_[c].begin(), sure_[c].end());
      sure_[c].erase(std::unique(sure_[c].begin(), sure_[c].end()), sure_[c].end());
      for (auto const o : sure_[c]) ++users[o];
    }
    for (auto const c : r_.candidates())
      for (auto const o : sure_[c]) share_[c] += g.operators[o].time / users[o];
  }

  [[nodiscard]] idle_time idle(std::uint32_t c) const { return idle_[c]; }
  // Candidate c's share of the time of what surely runs again: the shares of a set of candidates never exceed its time.
  [[nodiscard]] std::int64_t share(std::uint32_t c) const { return share_[c]; }
  // The time of what surely runs again if candidate c is dropped.
  [[nodiscard]] std::int64_t alone(std::uint32_t c) const { return time_of(sure_[c]); }

  // A lower bound on the time of what runs again if at least these candidates are dropped.
  [[nodiscard]] std::int64_t least_time(drop_set const& dropped) {
    std::vector<std::uint32_t> all;
    ++stamp_;
    for (auto const c : r_.candidates())
      if (dropped[c])
        for (auto const o : sure_[c])
          if (std::exchange(seen_[o], stamp_) != stamp_) all.push_back(o);
    return time_of(all);
  }
  // What runs again for candidate c if it is dropped too, beside what runs again already.
  void collect_added(std::uint32_t c, drop_set const& dropped, std::vector<std::uint8_t> const& runs_again,
                     std::vector<std::uint32_t>& out) {
    out.clear();
    collect(r_.uses().maker[c], dropped, runs_again, out);
  }
  [[nodiscard]] std::int64_t time_of(std::vector<std::uint32_t> const& operators) const {
    std::int64_t time = 0;
    for (auto const o : operators) time += r_.original().operators[o].time;
    return time;
  }

 private:
  // Appends an operator and all that must run again before it.
  void collect(std::uint32_t first, drop_set const& dropped, std::vector<std::uint8_t> const& runs_again, std::vector<std::uint32_t>& out) {
    ++stamp_;
    auto const add = [&](std::uint32_t o) {
      if ((runs_again.empty() || !runs_again[o]) && std::exchange(seen_[o], stamp_) != stamp_) out.push_back(o);
    };
    auto next = out.size();
    for (add(first); next < out.size(); ++next)
      for (auto const t : r_.original().inputs[out[next]])
        if (dropped[r_.uses().memory[t]] || r_.gone(t)) add(r_.uses().maker[t]);
  }

  graph_rewriter<> const& r_;
  std::vector<std::uint64_t> seen_;  // by operator
  std::uint64_t stamp_ = 0;
  std::vector<idle_time> idle_;                   // of each candidate
  std::vector<std::vector<std::uint32_t>> sure_;  // of each candidate
  std::vector<std::int64_t> share_;
};

// Sets that keep what forward operators hold across some cuts of the forward pass: checkpoints, at narrow places.
template <class = when_called>
class checkpoint_sets {
 public:
  checkpoint_sets(graph_rewriter<> const& rewriter, graph_costs<> const& costs) : r_(rewriter), costs_(costs) {
    auto const& g = r_.original();
    width_.assign(g.size() + 1, 0);
    made_.assign(g.size() + 1, 0);
    for (auto const c : r_.candidates()) {
      auto const bytes = g.tensors[c].bytes;
      width_[r_.uses().maker[c]] += bytes;
      width_[costs_.idle(c).from] -= bytes;
      made_[r_.uses().maker[c]] += bytes;
    }
    for (std::size_t v = 1; v < made_.size(); ++v) {
      width_[v] += width_[v - 1];
      made_[v] += made_[v - 1];
    }
  }

  [[nodiscard]] std::int64_t total() const { return made_.back(); }

  // All candidates but those that forward operators hold across a cut. There is a cut before a segment between two of them and what is kept
  // before it would together exceed `most` bytes: segments become shorter, because the backward pass frees the last ones first. It is at
  // the narrowest place of the second half of the segment.
  [[nodiscard]] drop_set dropped(std::int64_t most) const {
    auto const& g = r_.original();
    constexpr auto none = graph_rewriter<>::none;
    std::vector<std::uint32_t> cuts;  // after these operators
    std::int64_t kept = 0, start = 0;
    auto best = none;
    for (std::uint32_t v = 0; v < g.size(); ++v) {
      if (!r_.is_forward(v)) continue;
      if (best != none && kept + made_[v] - start > most) {
        cuts.push_back(best);
        kept += width_[best];
        start = made_[best];
        best = none;
      }
      if (2 * (made_[v] - start) >= most - kept && (best == none || width_[v] <= width_[best])) best = v;
    }
    drop_set out(g.tensors.size());
    for (auto const c : r_.candidates()) {
      auto const cut = std::lower_bound(cuts.begin(), cuts.end(), r_.uses().maker[c]);  // the first behind its maker
      out[c] = cut != cuts.end() && *cut < costs_.idle(c).from ? 0 : 1;
    }
    return out;
  }

 private:
  graph_rewriter<> const& r_;
  graph_costs<> const& costs_;
  std::vector<std::int64_t> width_, made_;  // bytes of candidates: held by forward operators after each operator; made by then
};

}  // namespace ballast::inline v0_2::detail
