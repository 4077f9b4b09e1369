// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/items.hpp>
#include <ballast/batching/detail/step_evener.hpp>
#include <ballast/core/keyed_item.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

// Fills empty places after all samples were placed, so that no rank is without work.

namespace ballast::inline v0_2::detail {

/// Fills empty places. First, packs are split within the step. Steps that still have empty slots are then merged, dissolved into room of
/// other steps, or dealt again together with a full step. If such a step remains, it becomes the last step: as `left_over` says, samples of
/// full steps move there, copies fill it, or it is dropped; otherwise its packs are spread evenly over the ranks and, if ranks must have
/// equal numbers of packs, split or merged.
template <index_type Index>
class place_filler : step_evener<Index> {
 public:
  place_filler(batching<Index>& b, weighed_samples const& items, batching_options const& o, mixing how)
      : step_evener<Index>(b, items, o, how) {}

  /// Returns whether anything changed.
  bool run() {
    for (std::size_t s = 0; s < b_.steps(); ++s)
      if (empty_slot(s) != none) lacking_.push_back(s);
    if (lacking_.empty()) return false;
    read_packs();
    for (auto s : lacking_) split_inside(s, o_.left_over == left_over::shorten && s + 1 == b_.steps());
    std::erase_if(lacking_, [&](std::size_t s) { return empty_slot(s) == none; });
    put_together();
    auto const mixed =
        mix_ && !lacking_.empty() && !has_shared(lacking_.front()) && (dissolve(lacking_.front()) || deal_with_neighbour(lacking_.front()));
    if (lacking_.size() > 1)  // the last step may have been split for its ranks alone
      for (auto s : lacking_)
        if (has_shared(s) || o_.left_over == left_over::shorten) split_inside(s, false);
    for (std::size_t k = 1; k < lacking_.size(); ++k) {
      take_from_others(lacking_[k]);
      even_out(lacking_[k]);
    }
    if (!lacking_.empty() && !mixed) settle(lacking_.front());
    write_back();
    return true;
  }

 private:
  using base = step_evener<Index>;
  using base::b_, base::items_, base::o_, base::ranks_, base::each_, base::contents_, base::bound_, base::mix_, base::none;
  using base::even_out, base::can_give, base::has_shared, base::new_pack, base::costs_more, base::movable, base::split_inside, base::spread;
  using base::read_packs, base::write_back, base::step, base::empty_slot, base::load, base::dissolve, base::deal_with_neighbour;
  using typename base::open_slots;

  /// Moves packs of later incomplete steps into empty slots of earlier incomplete steps, until one is left, or only steps with shared
  /// samples are.
  void put_together() {
    std::size_t from = lacking_.size(), next = 0;
    for (std::size_t to = 0; to + 1 < from; ++to)
      for (open_slots slots(*this, lacking_[to]); to + 1 < from && !slots.empty();) {
        auto const source = step(lacking_[from - 1]);
        while (next < source.size() && !movable(source[next])) ++next;
        if (next == source.size()) {
          --from;
          next = 0;
        } else {
          slots.fill(std::exchange(source[next], b_.none));
        }
      }
    std::erase_if(lacking_, [&](std::size_t s) {
      return empty_slot(s) == none || std::ranges::all_of(step(s), [&](Index p) { return p == b_.none; });
    });
    std::partition(lacking_.begin(), lacking_.end(), [&](std::size_t s) { return !has_shared(s); });
  }

  /// Fills each empty slot with one sample, taken from a pack with several samples on the most loaded rank of each other step in turn. The
  /// sample whose cost is nearest to the mean is taken, so that the step resembles a random one.
  void take_from_others(std::size_t s) {
    open_slots slots(*this, s);
    auto const mean = items_.all_cost / static_cast<std::int64_t>(items_.size());
    auto const off = [&](Index i) { return items_.cost[i] > mean ? items_.cost[i] - mean : mean - items_.cost[i]; };
    std::map<Index, std::vector<Index>> free;  // samples that each giving pack can still give, the next one last
    std::vector<std::size_t> kept(items_.size(), 0);
    std::vector<std::size_t> given(contents_.size(), 0);
    auto const gives = [&](Index p) {
      if (p == b_.none || given[p] == 0) return can_give(p);
      return given[p] + 1 < contents_[p].size() && !free[p].empty();
    };
    using ranks_by_load = std::set<std::pair<std::int64_t, std::size_t>>;  // negative load, rank
    std::vector<std::optional<ranks_by_load>> donors(b_.steps());
    auto const giver_of = [&](std::size_t d, std::size_t r) {  // the first pack of the rank that can give a sample, or none
      auto const mine = step(d).subspan(r * each_, each_);
      auto const it = std::find_if(mine.begin(), mine.end(), gives);
      return it == mine.end() ? b_.none : *it;
    };
    std::size_t failed = 0;
    for (auto d = s; failed < b_.steps() && !slots.empty();) {
      d = (d + b_.steps() - 1) % b_.steps();
      ++failed;
      if (!donors[d]) {
        donors[d].emplace();
        for (std::size_t r = 0; d != s && empty_slot(d) == none && r < ranks_; ++r)
          if (giver_of(d, r) != b_.none) donors[d]->emplace(-load(d, r), r);
      }
      if (donors[d]->empty()) continue;
      failed = 0;
      auto const [negative, r] = *donors[d]->begin();
      donors[d]->erase(donors[d]->begin());
      auto const pack = giver_of(d, r);
      auto& nearest = free[pack];
      if (given[pack]++ == 0) {
        std::ranges::copy_if(contents_[pack], std::back_inserter(nearest), [&](Index i) { return bound_[i] == 0; });
        sort_by(nearest, [&](Index a, Index b) { return off(a) != off(b) ? off(a) > off(b) : a > b; });
      }
      auto const sample = nearest.back();
      nearest.pop_back();
      if (giver_of(d, r) != b_.none) donors[d]->emplace(negative + items_.cost[sample], r);
      slots.fill(new_pack());
      contents_.back().push_back(sample);
      given.push_back(0);
    }
    for (auto const& [pack, rest] : free) {  // a sample that is repeated may be in several packs: each keeps the rest of its own
      for (auto i : rest) ++kept[i];
      std::erase_if(contents_[pack], [&](Index i) {
        if (bound_[i] != 0 || kept[i] == 0) return bound_[i] == 0;
        --kept[i];
        return false;
      });
    }
  }

  /// Makes the incomplete step the last one, and applies `left_over` to it.
  void settle(std::size_t s) {
    auto const places = ranks_ * each_;
    std::rotate(b_.table.begin() + static_cast<std::ptrdiff_t>(s * places),
                b_.table.begin() + static_cast<std::ptrdiff_t>((s + 1) * places), b_.table.end());
    auto const last = b_.steps() - 1;
    for (auto& x : b_.shared) x.step = x.step == s ? last : x.step > s ? x.step - 1 : x.step;
    if (o_.left_over == left_over::drop) return drop(last);
    if (o_.left_over == left_over::split) take_from_others(last);
    if (o_.left_over == left_over::repeat) repeat(last);
    if (empty_slot(last) != none) spread(last);
    if (o_.left_over == left_over::shorten) split_inside(last, true);  // its packs may have moved to other steps
    even_out(last);
  }
  void drop(std::size_t s) {
    for (auto& p : step(s)) {
      if (p == b_.none) continue;
      b_.dropped.insert(b_.dropped.end(), contents_[p].begin(), contents_[p].end());
      contents_[p].clear();
      p = b_.none;
    }
    std::erase_if(b_.shared, [&](auto const& x) { return x.step == s; });
    std::sort(b_.dropped.begin(), b_.dropped.end());
    b_.dropped.erase(std::unique(b_.dropped.begin(), b_.dropped.end()), b_.dropped.end());
  }
  void repeat(std::size_t s) {
    repeat_budget budget(items_, o_);
    open_slots slots(*this, s);
    std::vector<Index> chosen(contents_.size(), b_.none);  // the cheapest sample of each pack that is not shared
    for (std::size_t p = 0; p < chosen.size(); ++p)
      for (auto i : contents_[p])
        if (bound_[i] == 0 && (chosen[p] == b_.none || costs_more(chosen[p], i))) chosen[p] = i;
    std::size_t failed = 0;
    for (std::size_t k = 0; !slots.empty() && failed < b_.table.size(); k = (k + 1) % b_.table.size()) {
      ++failed;
      if (b_.table[k] == b_.none || chosen[b_.table[k]] == b_.none) continue;
      auto const sample = chosen[b_.table[k]];
      budget.take(sample);
      failed = 0;
      slots.fill(new_pack());
      contents_.back().push_back(sample);
      chosen.push_back(sample);
      b_.repeated.push_back(sample);
    }
    std::sort(b_.repeated.begin(), b_.repeated.end());
  }
  std::vector<std::size_t> lacking_;
};

/// Fills empty places as far as samples and `left_over` allow; see `place_filler`.
template <index_type Index>
bool fill_places(batching<Index>& b, weighed_samples const& items, batching_options const& o, mixing how) {
  return b.packs.empty() ? false : place_filler<Index>(b, items, o, how).run();
}

}  // namespace ballast::inline v0_2::detail
