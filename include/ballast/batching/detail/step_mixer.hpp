// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_dealer.hpp>
#include <ballast/batching/detail/step_splitter.hpp>
#include <ballast/core/keyed_item.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Dissolves a step that lacks samples, or deals its samples again together with another step; so samples of different packs may share a
/// pack.
template <index_type Index>
class step_mixer : protected step_splitter<Index> {
 public:
  using step_splitter<Index>::step_splitter;

 protected:
  using base = step_splitter<Index>;
  using base::b_, base::items_, base::o_, base::ranks_, base::each_, base::width_, base::contents_, base::none;
  using base::has_shared, base::new_pack, base::split_inside, base::step, base::empty_slot, base::cost_of, base::tokens_of;

  /// Moves all samples of a step into packs of other steps that do not become slower, if there are any.
  [[nodiscard]] bool dissolve(std::size_t s) {
    auto samples = samples_of({s});
    sort_by(samples, [&](Index a, Index b) { return items_.tokens[a] != items_.tokens[b] ? items_.tokens[a] > items_.tokens[b] : a < b; });
    std::vector<std::pair<Index, Index>> moves;  // sample, pack
    step_slack slack(ranks_ * each_, ranks_);
    std::size_t next = 0;
    for (auto d = b_.steps(); d-- > 0 && next != samples.size();) {
      if (d == s) continue;
      measure(d, slack);
      for (std::size_t p = 0; p < slack.cost.size() && next != samples.size(); ++p) {
        auto const pack = step(d)[p];
        if (pack == b_.none) continue;
        auto room = o_.capacity - tokens_of(pack);
        auto& open = slack.open[p / each_];
        for (; next != samples.size(); ++next) {
          auto const i = samples[next];
          if (items_.tokens[i] > room || items_.cost[i] > open || items_.cost[i] > slack.most[p] - slack.cost[p]) break;
          moves.emplace_back(i, pack);
          room -= items_.tokens[i];
          open -= items_.cost[i];
          slack.cost[p] += items_.cost[i];
        }
      }
    }
    if (next != samples.size()) return false;
    for (auto const& [sample, pack] : moves) contents_[pack].push_back(sample);
    for (auto& p : step(s))
      if (p != b_.none) contents_[std::exchange(p, b_.none)].clear();
    return true;
  }

  /// Deals the samples of a step that lacks samples, and of the step before or after it, to both steps again. Afterwards `s` is the step
  /// that lacks samples.
  [[nodiscard]] bool deal_with_neighbour(std::size_t& s) {
    if (b_.steps() < 2 || width_ != 1) return false;
    auto const d = s > 0 ? s - 1 : s + 1;
    if (has_shared(d)) return false;
    auto const samples = samples_of({s, d});
    auto const places = ranks_ * each_;
    if (samples.size() < 2 * places) return false;
    constexpr std::array rules{deal_rule::longest_first, deal_rule::rate_mean};
    auto const rows = o_.synchronisation == synchronisation::per_micro_batch;  // places are then balanced as ranks are otherwise
    step_dealer<Index> deal(items_, rows ? 2 * places : 2 * ranks_, rows ? 1 : each_, o_.capacity);
    deal(samples, rules);
    if (!deal.left().empty()) return false;
    for (std::size_t k = 0; k < 2 * places; ++k) {
      auto const got = rows ? deal.place(k, 0) : deal.place(k / each_, k % each_);
      auto const at = (k < places ? d : s) * places + k % places;
      if (b_.table[at] != b_.none) contents_[b_.table[at]].clear();
      if (got.empty())
        b_.table[at] = b_.none;
      else if (b_.table[at] == b_.none)
        b_.table[at] = new_pack();
      if (!got.empty()) contents_[b_.table[at]].assign(got.begin(), got.end());
    }
    auto const both = std::array{s, d};
    for (auto which : both) {
      split_inside(which, false);
      if (empty_slot(which) != none) s = which;  // the other step has too many samples to lack any
    }
    return empty_slot(s) == none;
  }

 private:
  static constexpr auto infinite = (std::numeric_limits<std::int64_t>::max)();

  /// The cost that a step can take without becoming slower.
  struct step_slack {
    std::vector<std::int64_t> cost, most;  ///< for each place: its cost, and the cost up to which it does not slow the step by itself
    std::vector<std::int64_t> open;        ///< for each rank: the cost that can be added
    step_slack(std::size_t places, std::size_t ranks) : cost(places), most(places), open(ranks) {}
  };
  void measure(std::size_t d, step_slack& out) {
    auto const rows = o_.synchronisation == synchronisation::per_micro_batch;
    auto const warm_up = static_cast<std::int64_t>(width_ != 1 ? o_.stages - 1 : 0);
    std::ranges::transform(step(d), out.cost.begin(), [&](Index p) { return cost_of(p); });
    for (std::size_t r = 0; r < ranks_; ++r) {
      auto const mine = std::span(out.cost).subspan(r * each_, each_);
      auto const largest = *std::ranges::max_element(mine);
      out.open[r] = std::accumulate(mine.begin(), mine.end(), warm_up * largest);
      std::fill_n(out.most.begin() + static_cast<std::ptrdiff_t>(r * each_), each_, warm_up == 0 ? infinite : largest);
    }
    if (rows) {  // the largest cost of each row
      auto const& cost = out.cost;
      for (std::size_t p = 0; p < cost.size(); ++p) out.most[p] = p < each_ ? cost[p] : (std::max)(out.most[p - each_], cost[p]);
      for (auto p = cost.size() - each_; p-- > 0;) out.most[p] = out.most[p + each_];
    }
    auto const slowest = *std::ranges::max_element(out.open);
    for (auto& open : out.open) open = rows ? infinite : slowest - open;
  }
  [[nodiscard]] std::vector<Index> samples_of(std::initializer_list<std::size_t> steps) {
    std::vector<Index> samples;
    for (auto s : steps)
      for (auto p : step(s))
        if (p != b_.none) samples.insert(samples.end(), contents_[p].begin(), contents_[p].end());
    return samples;
  }
};

}  // namespace ballast::inline v0_2::detail
