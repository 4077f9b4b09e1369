// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/config.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/core/wide.hpp>
#include <ballast/graph/dimension_basis.hpp>
#include <ballast/graph/graph.hpp>
#include <ballast/graph/symbolic.hpp>
#include <ballast/graph/symbolic_graph.hpp>
#include <ballast/memory/detail/order_problem.hpp>
#include <ballast/memory/detail/symbolic_list.hpp>
#include <ballast/memory/peak.hpp>
#include <ballast/memory/region_orders.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

// Symbolic execution of list scheduling: a tree of questions with an order at each leaf. Private.

namespace ballast::inline v0_2::detail {

template <class = when_called>
class region_planner {
 public:
  using point = std::vector<std::int64_t>;
  std::vector<std::vector<std::uint32_t>> orders;
  std::vector<region_node> nodes;
  bool complete = true;

  region_planner(basic_graph<symbolic> const& g, std::span<dimension const> ranges, std::vector<point> samples, std::size_t regions,
                 search_limits const& limits)
      : g_(g), list_(g, ranges), samples_(std::move(samples)), regions_(regions), budget_(limits) {
    part all{0, list_.begin(), {ranges.begin(), ranges.end()}, {}, {}};
    for (std::uint32_t s = 0; s < samples_.size(); ++s) all.samples.push_back(s);
    nodes.emplace_back();
    open_.push_back(std::move(all));
  }
  template <class Improve>
  void plan(Improve const& improve) {
    while (!open_.empty()) {
      auto const first = std::max_element(open_.begin(), open_.end(), [](part const& a, part const& b) {
        return a.samples.size() != b.samples.size() ? a.samples.size() < b.samples.size() : a.node > b.node;
      });
      auto next = std::move(*first);
      open_.erase(first);
      auto const more = budget_.allows() && leaves_ + open_.size() + 1 < regions_;
      if (!more || !divide(next)) close(next, improve);
    }
    complete = !budget_.interrupted();
    join();
  }

 private:
  /// A region whose list has not been made to its end.
  struct part {
    std::uint32_t node = 0;
    list_state state;
    std::vector<dimension> ranges;                        // enclose the region
    std::vector<std::pair<std::uint32_t, bool>> answers;  // which questions were answered on the way
    std::vector<std::uint32_t> samples;                   // in the region
    std::vector<std::int8_t> known{};                     // answer to each question: 1 negative, -1 not, 0 not known
  };

  [[nodiscard]] std::optional<bool> answer(part& p, std::uint32_t question) {
    if (p.known.size() <= question) p.known.resize((std::max)(list_.questions(), std::size_t{question} + 1), 0);
    auto& known = p.known[question];
    if (known == 0) {
      budget_.spend(500);
      auto const range = list_.question(question).bounds(p.ranges);
      if (range.high < 0) known = 1;
      if (range.low >= 0) known = -1;
    }
    if (known == 0) return std::nullopt;
    return known > 0;
  }
  // Makes the list until a question has two answers within the region, and divides the region there. False if the list was made to its end.
  bool divide(part& p) {
    constexpr auto least = (std::numeric_limits<std::int64_t>::min)(), most = (std::numeric_limits<std::int64_t>::max)();
    for (;;) {
      auto const before = p.state.order.size();
      auto const asked = list_.run(p.state, [&](std::uint32_t q) { return answer(p, q); });
      budget_.spend(200 * (p.state.order.size() - before));
      if (!asked) return false;
      auto const& question = list_.question(*asked);
      auto negative = p.ranges, other = p.ranges;
      auto const may_be_negative = narrow_dimensions(question, {least, -1}, negative);
      auto const may_be_other = narrow_dimensions(question, {0, most}, other);
      budget_.spend(2000 + 50 * p.samples.size());
      if (may_be_negative && may_be_other) {
        split(std::move(p), *asked, std::move(negative), std::move(other));
        return true;
      }
      p.known[*asked] = may_be_negative ? std::int8_t{1} : std::int8_t{-1};
    }
  }
  void split(part p, std::uint32_t asked, std::vector<dimension> negative, std::vector<dimension> other) {
    auto const at = p.node;
    part sides[2];
    sides[0].ranges = std::move(negative);
    sides[1].ranges = std::move(other);
    for (auto const is_negative : {true, false}) {
      auto& side = sides[is_negative ? 0 : 1];
      side.answers = p.answers;
      side.answers.emplace_back(asked, is_negative);
      for (auto const s : p.samples)
        if ((list_.question(asked)(samples_[s]) < 0) == is_negative) side.samples.push_back(s);
      if (side.samples.empty()) find_sample(side);
    }
    nodes[at].question = list_.question(asked);
    for (auto* const side : {&sides[0], &sides[1]}) {
      auto const next = side->samples.empty() ? region_node::none : static_cast<std::uint32_t>(nodes.size());
      (side == &sides[0] ? nodes[at].negative : nodes[at].other) = next;
      if (next == region_node::none) continue;
      nodes.emplace_back();
      side->node = next;
      side->state = p.state;
      side->known.resize(list_.questions(), 0);
      for (auto const& [q, is_negative] : side->answers) side->known[q] = is_negative ? std::int8_t{1} : std::int8_t{-1};
      open_.push_back(std::move(*side));
    }
  }
  // Looks for a point of a region without samples at the corners and in the middle of the ranges that enclose it.
  void find_sample(part& side) {
    for (int kind = 0; kind < 3; ++kind) {
      point at;
      for (auto const& d : side.ranges) at.push_back(kind == 0 ? d.low : kind == 1 ? d.high : d.low + (d.high - d.low) / 2);
      auto const inside = std::all_of(side.answers.begin(), side.answers.end(),
                                      [&](auto const& a) { return (list_.question(a.first)(at) < 0) == a.second; });
      if (!inside) continue;
      side.samples.push_back(static_cast<std::uint32_t>(samples_.size()));
      samples_.push_back(std::move(at));
      return;
    }
  }
  // Makes the list of a region to its end. What is not known is answered by the sample in the middle.
  template <class Improve>
  void close(part& p, Improve const& improve) {
    auto const& middle = samples_[p.samples[p.samples.size() / 2]];
    bool decided = true;
    list_.run(p.state, [&](std::uint32_t q) -> std::optional<bool> {
      if (auto const known = answer(p, q)) return known;
      decided = false;
      return list_.question(q)(middle) < 0;
    });
    auto order = std::move(p.state.order);
    if constexpr (!std::is_null_pointer_v<Improve>) {
      std::vector<std::vector<std::uint32_t>> candidates{std::move(order)};
      auto const last = p.samples.size() - 1;
      for (auto const s : {last / 2, last / 8, last - last / 8})
        if (candidates.size() == 1 || p.samples.size() > 2) candidates.push_back(improve(graph_at(g_, samples_[p.samples[s]])));
      order = std::move(candidates[best_of(p, candidates)]);
    }
    auto const [at, is_new] = numbers_.try_emplace(order, static_cast<std::uint32_t>(orders.size()));
    if (is_new) orders.push_back(std::move(order));
    nodes[p.node].order = at->second;
    nodes[p.node].decided = decided;
    ++leaves_;
  }
  // The order whose peaks are the least, relative to the least peak of each sample, for up to eight samples of a region together.
  [[nodiscard]] std::size_t best_of(part const& p, std::vector<std::vector<std::uint32_t>> const& candidates) const {
    std::vector<std::uint64_t> sums(candidates.size(), 0);
    auto const step = p.samples.size() / 8 + 1;
    for (auto s = (p.samples.size() - 1) % step / 2; s < p.samples.size(); s += step) {
      auto const problem = order_lowering<>(graph_at(g_, samples_[p.samples[s]])).lower();
      std::vector<std::uint64_t> peaks;
      for (auto const& o : candidates) {
        static_cast<void>(require_order(problem, o));
        peaks.push_back(static_cast<std::uint64_t>(profile_of(problem, o).peak));
      }
      auto const least = (std::max)(std::uint64_t{1}, *std::min_element(peaks.begin(), peaks.end()));
      constexpr std::uint64_t unit = 1U << 20, most = 1024;  // ratios in parts of 2^-20, cut at 1024
      for (std::size_t i = 0; i < candidates.size(); ++i)
        sums[i] += peaks[i] / least >= most ? most * unit : multiply_divide_up(peaks[i], unit, least);
    }
    return static_cast<std::size_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
  }
  // Makes a question whose answers lead to the same order a leaf, and leaves out nodes that nothing leads to.
  void join() {
    for (auto at = nodes.size(); at-- > 0;) {  // nodes follow the node that leads to them
      auto& n = nodes[at];
      if (n.negative == region_node::none || n.other == region_node::none) continue;
      auto const &a = nodes[n.negative], &b = nodes[n.other];
      if (a.order == region_node::none || a.order != b.order || a.decided != b.decided) continue;
      n = region_node{{}, region_node::none, region_node::none, a.order, a.decided};
    }
    std::vector<region_node> kept{std::move(nodes[0])};
    for (std::size_t at = 0; at < kept.size(); ++at)
      for (auto const next : {&region_node::negative, &region_node::other}) {
        if (kept[at].*next == region_node::none) continue;
        kept.push_back(std::move(nodes[kept[at].*next]));
        kept[at].*next = static_cast<std::uint32_t>(kept.size() - 1);
      }
    nodes = std::move(kept);
  }
  basic_graph<symbolic> const& g_;
  symbolic_list<> list_;
  std::vector<point> samples_;
  std::size_t regions_;
  search_budget budget_;
  std::vector<part> open_;
  std::map<std::vector<std::uint32_t>, std::uint32_t> numbers_;
  std::size_t leaves_ = 0;
};

}  // namespace ballast::inline v0_2::detail
