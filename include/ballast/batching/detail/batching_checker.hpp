// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/fault.hpp>
#include <ballast/batching/options.hpp>
#include <ballast/batching/result.hpp>
#include <ballast/core/check.hpp>
#include <ballast/core/checked.hpp>
#include <ballast/core/concepts.hpp>
#include <ballast/core/error.hpp>
#include <ballast/core/lengths.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/verdict.hpp>
#include <ballast/core/weigh.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// The rules of a plan of steps, one after the other. It shares no code with the planners.
template <index_type Index, length_range R, cost_model Cost>
class batching_checker {
 public:
  batching_checker(batching<Index> const& plan, R const& lengths, batching_options const& o, Cost const& cost, std::uint32_t share_overhead,
                   std::span<std::uint64_t const> keys)
      : plan_(plan),
        n_(std::ranges::size(lengths)),
        length_(read_by_position(lengths)),
        o_(o),
        cost_(cost),
        overhead_(share_overhead),
        keys_(keys) {
    require(keys_.empty() || keys_.size() == n_, [&] { return sentence("keys has ", keys_.size(), " entries for ", n_, " samples"); });
  }

  [[nodiscard]] verdict run() {
    using rule = verdict (batching_checker::*)();
    for (rule const next : {&batching_checker::shape, &batching_checker::packs, &batching_checker::shared, &batching_checker::steps,
                            &batching_checker::lists, &batching_checker::places, &batching_checker::figures})
      if (auto const v = (this->*next)(); !v.valid()) return v;
    return {};
  }

 private:
  using broken = batching_fault;

  verdict shape() {
    if (plan_.ranks == 0 || plan_.ranks != o_.ranks || plan_.micro_batches == 0 ||
        plan_.micro_batches > (std::uint64_t{1} << 60) / plan_.ranks || plan_.table.size() % (plan_.ranks * plan_.micro_batches) != 0)
      return {broken::wrong_shape, 0};
    return {};
  }

  verdict packs() {
    auto const& [offsets, members] = plan_.packs;
    if (offsets.empty()) return {broken::bad_offsets, 0, 0, members.size()};
    if (auto const v = check_offsets(offsets, members.size()); !v.valid()) return v;
    for (std::size_t p = 1; p < offsets.size(); ++p)
      if (offsets[p] == offsets[p - 1]) return {broken::empty_pack, p - 1};
    for (std::size_t m = 0; m < members.size(); ++m)
      if (members[m] >= n_) return {broken::member_out_of_range, m, members[m], n_};
    std::vector<char> used(plan_.packs.size(), 0);
    for (std::size_t at = 0; at < plan_.table.size(); ++at) {
      auto const p = plan_.table[at];
      if (p == plan_.none) continue;
      if (p >= used.size()) return {broken::pack_out_of_range, at};
      if (used[p]++) return {broken::pack_twice, at};
    }
    return {};
  }

  verdict shared() {
    degree_.assign(n_, 1);
    for (std::size_t j = 0; j < plan_.shared.size(); ++j) {
      auto const& s = plan_.shared[j];
      if (s.sample >= n_ || s.ranks < 2 || !std::has_single_bit(s.ranks) || s.first_rank % s.ranks != 0 || s.ranks > plan_.ranks ||
          s.first_rank > plan_.ranks - s.ranks || s.step >= plan_.steps() || degree_[s.sample] != 1)
        return {broken::wrong_shared, j};
      degree_[s.sample] = s.ranks;
      auto const in = [&](std::uint64_t r, std::uint64_t m) {
        auto const p = plan_.at(s.step, r, m);
        return p != plan_.none && std::ranges::count(plan_.packs[p], s.sample) == 1;
      };
      std::uint64_t together = 0;
      for (std::uint64_t m = 0; m < plan_.micro_batches; ++m) {
        std::uint64_t on = 0;
        for (auto r = s.first_rank; r < s.first_rank + s.ranks; ++r) on += std::uint64_t{in(r, m)};
        together = (std::max)(together, on);
      }
      if (together != s.ranks) return {broken::wrong_shared, j};
    }
    return {};
  }

  /// The larger of two figures; `none` if one is.
  [[nodiscard]] static checked larger(checked a, checked b) noexcept { return !a.fits() || (b.fits() && b.value < a.value) ? a : b; }

  /// A figure as a verdict has it: the greatest integer if none holds it.
  [[nodiscard]] static std::int64_t shown(checked figure) noexcept { return figure.fits() ? figure.value : checked::most; }

  /// Sums the tokens and costs of the steps, and checks the capacity. A sum that no integer holds is no figure of a plan.
  verdict steps() {
    occurs_.assign(n_, 0);
    checked const nothing(0), step_cost(o_.cost_per_step), warm_up(static_cast<std::int64_t>(o_.stages - 1));
    auto const by_row = o_.synchronisation == synchronisation::per_micro_batch, piped = o_.synchronisation == synchronisation::pipeline;
    for (std::size_t s = 0; s < plan_.steps(); ++s) {
      std::vector<checked> of_row(static_cast<std::size_t>(plan_.micro_batches), nothing);
      auto slowest = nothing;
      for (std::size_t r = 0; r < plan_.ranks; ++r) {
        auto all = nothing, most = nothing;
        for (std::size_t m = 0; m < plan_.micro_batches; ++m) {
          auto const p = plan_.at(s, r, m);
          if (p == plan_.none) continue;
          auto const [held, c] = add_pack(p);
          if (!held.fits() || held.value > o_.capacity) return {broken::overfull_pack, p, shown(held), o_.capacity};
          all = all + c;
          most = larger(most, c);
          of_row[m] = larger(of_row[m], c);
        }
        sum_ = sum_ + all;
        slowest = larger(slowest, piped ? all + warm_up * most : all);
      }
      if (by_row) {
        for (auto const row : of_row) value_ = value_ + row;
      } else {
        value_ = value_ + slowest;
      }
      value_ = value_ + step_cost;
      sum_ = sum_ + step_cost * checked(static_cast<std::int64_t>(plan_.ranks));
    }
    return {};
  }
  struct pack_total {
    checked tokens, cost;
  };
  pack_total add_pack(Index p) {
    pack_total sum{checked(0), checked(o_.cost_per_micro_batch)};
    for (auto i : plan_.packs[p]) {
      sum.tokens = sum.tokens + checked(divide_up(length(i), static_cast<std::int64_t>(degree_[i])));
      sum.cost = sum.cost + charge(i);
      ++occurs_[i];
    }
    tokens_ = tokens_ + sum.tokens;
    return sum;
  }
  [[nodiscard]] std::int64_t length(Index i) const { return static_cast<std::int64_t>(length_[static_cast<std::size_t>(i)]); }
  [[nodiscard]] checked charge(Index i) const {
    auto const whole = static_cast<std::int64_t>(cost_of_sample{cost_, static_cast<std::size_t>(i)}(length(i)));
    if (degree_[i] == 1 || whole < 0) return checked(whole);
    auto const parts = static_cast<std::int64_t>(1000 * degree_[i]), factor = 1000 + std::int64_t{overhead_};
    return checked(whole / parts) * checked(factor) + checked(divide_up(whole % parts * factor, parts));  // whole * factor could overflow
  }

  verdict lists() {
    std::vector<std::uint64_t> expected(degree_);
    for (auto const* list : {&plan_.dropped, &plan_.repeated})
      for (std::size_t k = 0; k < list->size(); ++k) {
        auto const i = (*list)[k];
        if (i >= n_ || (k > 0 && (*list)[k - 1] > i)) return {broken::wrong_list, k};
        if (list == &plan_.repeated) {
          ++expected[i];
        } else {
          if (expected[i] == 0) return {broken::wrong_list, k};
          expected[i] = 0;
        }
      }
    for (std::size_t i = 0; i < n_; ++i)
      if (occurs_[i] < expected[i]) return {broken::sample_missing, i};
    for (std::size_t i = 0; i < n_; ++i)
      if (occurs_[i] > expected[i]) return {broken::sample_twice, i};
    return {};
  }

  verdict places() {
    auto const may_split = [&](Index p) { return splits(p); };
    auto const places = plan_.ranks * plan_.micro_batches;
    auto const last = plan_.steps() - (plan_.table.empty() ? 0 : 1);
    auto const all_thin = std::ranges::find(plan_.table, plan_.none) != plan_.table.end() &&
                          std::ranges::none_of(std::span(plan_.table).first(last * places), may_split) &&
                          (std::ranges::none_of(plan_.step(last), may_split) || as_many_as_can_be_equal(last));
    auto const rank_counts = o_.synchronisation == synchronisation::pipeline;  // replicas may have empty places
    for (std::size_t s = 0; s < plan_.steps(); ++s) {
      auto const gap = gap_of(s, rank_counts);
      auto const held = std::ranges::any_of(plan_.shared, [&](auto const& x) { return x.step == s; });  // shared samples keep their ranks
      if (gap.place != places && !(held && all_thin)) {
        auto const thin = o_.left_over == left_over::split     ? all_thin
                          : o_.left_over == left_over::shorten ? gap.fewest != 0 || std::ranges::none_of(plan_.step(s), may_split)
                                                               : false;
        if (s != last || !thin) return {broken::empty_place, s * places + gap.place};
        if (gap.most > gap.fewest + 1 && !held && (!rank_counts || gap.fewest == 0)) return {broken::uneven_step, s * places + gap.place};
      }
      if (o_.equal_micro_batches && gap.fewest != gap.most && ((s != last && !held) || samples_of(s) >= gap.most * plan_.ranks))
        return {broken::unequal_micro_batches, s * places + gap.first};
    }
    return {};
  }
  /// Whether the ranks of a step have equal numbers of micro-batches, and too few samples for one more.
  [[nodiscard]] bool as_many_as_can_be_equal(std::size_t s) const {
    auto const gap = gap_of(s, false);
    return o_.equal_micro_batches && gap.fewest == gap.most && samples_of(s) < (gap.most + 1) * plan_.ranks;
  }
  /// The most packs that the samples of a step could make on their own: samples with one key, or shared in one pack, stay together.
  [[nodiscard]] std::uint64_t samples_of(std::size_t s) const {
    std::uint64_t sum = 0;
    for (auto p : plan_.step(s)) {
      if (p == plan_.none) continue;
      std::set<std::uint64_t> units;
      for (auto i : plan_.packs[p]) units.insert(degree_[i] != 1 ? n_ : keys_.empty() ? std::uint64_t{i} : keys_[i]);
      sum += units.size();
    }
    return sum;
  }
  /// Whether a pack could give a sample to an empty place.
  [[nodiscard]] bool splits(Index p) const {
    if (p == plan_.none) return false;
    auto const pack = plan_.packs[p];
    auto const other = [&](Index i) { return keys_.empty() ? i != pack[0] : keys_[i] != keys_[pack[0]]; };
    return std::ranges::any_of(pack, other) && std::ranges::any_of(pack, [&](Index i) { return degree_[i] == 1; });
  }
  struct step_gap {
    std::uint64_t place;         ///< the first empty place that is a fault, or the number of places
    std::uint64_t fewest, most;  ///< micro-batches of a rank
    std::uint64_t first;         ///< the first empty place of a rank with fewest
  };
  [[nodiscard]] step_gap gap_of(std::size_t s, bool rank_counts) const {
    auto const each = plan_.micro_batches;
    step_gap gap{plan_.ranks * each, each, 0, plan_.ranks * each};
    for (auto r = plan_.ranks; r-- > 0;) {
      auto const mine = plan_.step(s, static_cast<std::size_t>(r));
      auto const has = each - static_cast<std::uint64_t>(std::ranges::count(mine, plan_.none));
      auto const empty = r * each + static_cast<std::uint64_t>(std::ranges::find(mine, plan_.none) - mine.begin());
      if (has <= gap.fewest) gap.first = empty;
      gap.fewest = (std::min)(gap.fewest, has);
      gap.most = (std::max)(gap.most, has);
      if (has == 0 || (has < each && !rank_counts)) gap.place = empty;
    }
    return gap;
  }

  verdict figures() {
    if (!tokens_.fits() || tokens_.value != plan_.tokens) return {broken::wrong_tokens, 0, plan_.tokens, shown(tokens_)};
    if (!sum_.fits() || sum_.value != plan_.cost) return {broken::wrong_cost, 0};
    if (!value_.fits()) return {broken::wrong_value, 0, plan_.slowest.value, checked::most};
    return check_certificate(plan_.slowest, value_.value);
  }

  batching<Index> const& plan_;
  std::size_t n_;
  decltype(read_by_position(std::declval<R const&>())) length_;
  batching_options const& o_;
  Cost const& cost_;
  std::uint32_t overhead_;
  std::span<std::uint64_t const> keys_;
  std::vector<std::uint64_t> degree_, occurs_;  ///< for each sample: number of ranks that share it, number of places that hold it
  checked tokens_{0}, sum_{0}, value_{0};
};

}  // namespace ballast::inline v0_2::detail
