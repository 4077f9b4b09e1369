// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/search_watch.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/recompute/graph/detail/graph_starts.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

// Chooses which tensors of a graph are dropped.

namespace ballast::inline v0_2::detail {

// A choice that keeps the budget.
struct graph_drop {
  drop_set dropped;
  std::int64_t time;
  std::int64_t peak;
};

template <class Peak, class Bound>
class graph_choice {
 public:
  graph_choice(graph_rewriter<> const& rewriter, std::int64_t budget, Peak const& peak, Bound const& bound,
               search_limits const& evaluations)
      : r_(rewriter), costs_(rewriter), budget_(budget), peak_(peak), bound_(bound), count_(evaluations) {}

  void run(std::uint64_t exact) {
    drop_set const nothing(r_.original().tensors.size());
    if (auto const kept = attempt(nothing); kept.fits || r_.candidates().empty()) {
      if (!kept.fits) lower_peak_ = bound_(r_.original());
      return;
    }
    auto all = nothing;
    for (auto const c : r_.candidates()) all[c] = 1;
    if (count_.allows()) lower_peak_ = bound_of(all);
    if (lower_peak_ > budget_) return;
    checkpoints();
    drop_where_short(nothing);
    thin();
    lower_time_ = cover_bound();
    if (r_.candidates().size() <= exact) {
      auto dropped = all;
      branch(0, dropped, nothing);
      searched_ = count_.allows();
      if (searched_) lower_time_ = found_.empty() ? 0 : found_.front().time;
    }
  }

  [[nodiscard]] graph_drop const* best() const { return found_.empty() ? nullptr : &found_.front(); }
  [[nodiscard]] std::int64_t lower_peak() const noexcept { return lower_peak_; }
  [[nodiscard]] std::int64_t lower_time() const noexcept { return lower_time_; }
  [[nodiscard]] bool searched() const noexcept { return searched_; }  // whether all sets of candidates were
  [[nodiscard]] bool stopped() const noexcept { return count_.interrupted(); }
  [[nodiscard]] std::uint64_t evaluations() const noexcept { return count_.spent(); }

 private:
  struct attempted {
    bool fits = false;
    std::int64_t time = 0, peak = 0;
    rewritten_graph graph{};  // without operators if it cannot be written
  };

  [[nodiscard]] std::int64_t bound_of(drop_set const& dropped) {
    count_.spend(1);
    return bound_(r_.relaxed(dropped));
  }
  attempted attempt(drop_set const& dropped) {
    attempted out;
    auto const repeated = r_.repeated(dropped);
    if (!repeated) return out;
    count_.spend(1);
    out.graph = r_.rewrite(dropped, *repeated, false);
    out.time = r_.time_of(*repeated);
    out.peak = peak_(std::as_const(out.graph.changed));
    out.fits = out.peak <= budget_;
    if (out.fits) keep({dropped, out.time, out.peak});
    return out;
  }
  // Keeps the three fastest, of equally fast ones the earliest.
  void keep(graph_drop drop) {
    auto const at = std::find_if(found_.begin(), found_.end(), [&](auto const& f) { return f.time > drop.time; });
    found_.insert(at, std::move(drop));
    if (found_.size() > 3) found_.pop_back();
  }

  void checkpoints() {
    checkpoint_sets<> const sets(r_, costs_);
    for (auto most = sets.total(); most > sets.total() / 256 && count_.allows(); most -= most / 16 + 1) attempt(sets.dropped(most));
  }

  // Drops what is idle where program order needs most memory, first what frees most bytes for its time, until the budget is kept.
  void drop_where_short(drop_set dropped) {
    while (count_.allows()) {
      auto const now = attempt(dropped);
      if (now.fits || now.graph.operator_of.empty()) return;
      auto const bytes = bytes_in_order(now.graph.changed);
      auto const at = static_cast<std::size_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
      if (!drop_idle(now.graph, at, now.peak - budget_, dropped)) return;
    }
  }
  [[nodiscard]] bool drop_idle(rewritten_graph const& now, std::size_t at, std::int64_t wanted, drop_set& dropped) {
    auto const& g = r_.original();
    std::vector<std::uint8_t> runs_again(g.size());
    std::vector<std::size_t> from(g.tensors.size()), to(g.tensors.size(), now.changed.size());
    for (std::size_t q = 0; q < now.changed.size(); ++q) {
      auto const o = now.operator_of[q];
      auto const other = now.changed.operators[q].kind != operator_kind::forward;
      if (other && r_.is_forward(o)) runs_again[o] = 1;
      for (auto const t : now.changed.inputs[q]) {
        if (t >= g.tensors.size()) continue;
        auto const root = r_.uses().memory[t];
        if (other)
          to[root] = (std::min)(to[root], q);
        else
          from[root] = q;
      }
      if (!other)
        for (auto const t : g.outputs[o]) from[r_.uses().memory[t]] = q;
    }
    struct idle_tensor {
      std::int64_t bytes, time;
      std::uint32_t tensor;
      [[nodiscard]] bool operator<(idle_tensor const& b) const {  // a heap has its largest in front
        auto const order = compare_products(bytes, b.time, b.bytes, time);
        return order != 0 ? order < 0 : tensor > b.tensor;
      }
    };
    std::vector<idle_tensor> heap;
    std::vector<std::uint32_t> added;
    auto const judged = [&](std::uint32_t c) {
      costs_.collect_added(c, dropped, runs_again, added);
      return idle_tensor{g.tensors[c].bytes, costs_.time_of(added), c};
    };
    for (auto const c : r_.candidates())
      if (!dropped[c] && g.tensors[c].bytes > 0 && from[c] < at && at < to[c]) heap.push_back(judged(c));
    if (heap.empty()) return false;
    std::make_heap(heap.begin(), heap.end());
    while (wanted > 0 && !heap.empty()) {
      std::pop_heap(heap.begin(), heap.end());
      auto const again = judged(heap.back().tensor);
      heap.pop_back();
      if (!heap.empty() && again < heap.front()) {  // it costs more by now
        heap.push_back(again);
        std::push_heap(heap.begin(), heap.end());
        continue;
      }
      dropped[again.tensor] = 1;
      for (auto const o : added) runs_again[o] = 1;
      wanted -= again.bytes;
    }
    return true;
  }

  // Keeps tensors again while the budget allows it, first those that take most time for their bytes.
  void thin() {
    auto const starts = found_;
    for (auto const& start : starts) {
      std::vector<std::uint32_t> list;
      for (auto const c : r_.candidates())
        if (start.dropped[c]) list.push_back(c);
      std::sort(list.begin(), list.end(), [&](auto a, auto b) {
        auto const order = compare_products(costs_.alone(a), size_of(b), costs_.alone(b), size_of(a));
        return order != 0 ? order > 0 : a < b;
      });
      auto dropped = start.dropped;
      auto time = start.time;
      std::size_t batch = 1;
      for (std::size_t i = 0; i < list.size() && count_.allows();) {
        auto const end = (std::min)(i + batch, list.size());
        auto next = dropped;
        for (auto k = i; k < end; ++k) next[list[k]] = 0;
        auto const now = attempt(next);
        auto const better = now.fits && now.time <= time;
        if (better) {
          dropped = std::move(next);
          time = now.time;
        }
        if (better || batch == 1) i = end;
        batch = better ? 2 * batch : (std::max)(batch / 2, std::size_t{1});
      }
    }
  }

  // A lower bound on the time: at some operators, candidates that are idle there must free what is too much.
  [[nodiscard]] std::int64_t cover_bound() {
    auto const& g = r_.original();
    auto const bytes = bytes_in_order(g);
    by_share_ = r_.candidates();
    std::sort(by_share_.begin(), by_share_.end(), [&](auto a, auto b) {
      auto const order = compare_products(costs_.share(a), size_of(b), costs_.share(b), size_of(a));
      return order != 0 ? order < 0 : a < b;
    });
    std::vector<std::pair<std::int64_t, std::size_t>> places;  // bound by program order, operator
    for (std::size_t v = 0; v < bytes.size(); ++v)
      if (bytes[v] > budget_) places.emplace_back(cover(v, bytes[v] - budget_), v);
    std::sort(places.begin(), places.end(),
              [](auto const& a, auto const& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
    std::int64_t best = 0;
    for (std::size_t k = 0; k < (std::min)(places.size(), std::size_t{8}) && places[k].first > best && count_.allows(); ++k) {
      drop_set rest(g.tensors.size());
      for (auto const c : r_.candidates()) rest[c] = idle_at(c, places[k].second) ? 0 : 1;
      best = (std::max)(best, cover(places[k].second, bound_of(rest) - budget_));
    }
    return best;
  }
  // Bytes of a tensor, at least 1: what costs time and frees nothing is the last choice.
  [[nodiscard]] std::int64_t size_of(std::uint32_t c) const { return (std::max)(r_.original().tensors[c].bytes, std::int64_t{1}); }
  [[nodiscard]] bool idle_at(std::uint32_t c, std::size_t v) const { return costs_.idle(c).from < v && v < costs_.idle(c).to; }
  // The least time, rounded up, of fractions of candidates that are idle at an operator and together free some bytes.
  [[nodiscard]] std::int64_t cover(std::size_t v, std::int64_t wanted) const {
    std::int64_t time = 0;
    for (auto const c : by_share_) {
      if (wanted <= 0) break;
      if (!idle_at(c, v)) continue;
      auto const part = static_cast<std::uint64_t>((std::min)(wanted, r_.original().tensors[c].bytes));
      auto const share = static_cast<std::uint64_t>(costs_.share(c)), size = static_cast<std::uint64_t>(size_of(c));
      time += static_cast<std::int64_t>(multiply_divide_up(share, part, size));
      wanted -= static_cast<std::int64_t>(part);
    }
    return time;
  }

  // Tries all sets of candidates that may keep the budget in less time. `possible` has what is dropped or undecided, `decided` what is
  // dropped.
  void branch(std::size_t k, drop_set& possible, drop_set decided) {
    auto const faster = [&] { return found_.empty() || costs_.least_time(decided) < found_.front().time; };
    if (!faster() || !count_.allows()) return;
    if (k == r_.candidates().size()) {
      attempt(decided);
      return;
    }
    auto const c = r_.candidates()[k];
    possible[c] = 0;
    if (bound_of(possible) <= budget_) branch(k + 1, possible, decided);
    possible[c] = 1;
    decided[c] = 1;
    branch(k + 1, possible, std::move(decided));
  }

  graph_rewriter<> const& r_;
  graph_costs<> costs_;
  std::int64_t budget_;
  Peak const& peak_;
  Bound const& bound_;
  search_budget count_;
  bool searched_ = false;
  std::int64_t lower_peak_ = 0, lower_time_ = 0;
  std::vector<std::uint32_t> by_share_;  // candidates, ascending in their share of time for a byte
  std::vector<graph_drop> found_;        // the three fastest
};

}  // namespace ballast::inline v0_2::detail
