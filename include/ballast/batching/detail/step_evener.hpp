// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/batching/detail/step_mixer.hpp>
#include <ballast/core/keyed_item.hpp>
#include <ballast/core/math.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Whether samples of different packs may share a pack.
enum class mixing : std::uint8_t { never, allowed };

/// Gives all ranks of an incomplete step the same number of packs.
template <index_type Index>
class step_evener : protected step_mixer<Index> {
 public:
  step_evener(batching<Index>& b, weighed_samples const& items, batching_options const& o, mixing how)
      : step_mixer<Index>(b, items, o), mix_(how == mixing::allowed) {}

 protected:
  using base = step_mixer<Index>;
  using base::b_, base::items_, base::o_, base::ranks_, base::level_, base::contents_, base::bound_, base::none;
  using base::has_shared, base::cost_of, base::tokens_of, base::step, base::taken, base::spread, base::split_inside;

  /// Splits packs until all ranks have the largest number of packs of any rank. If there are too few samples for that, packs are merged
  /// until one pack fewer for each rank is left; if they do not fit, the step stays unequal. In a step with shared samples, which keep
  /// their ranks, packs are only split.
  void even_out(std::size_t s) {
    if (!o_.equal_micro_batches) return;
    std::size_t packs = 0, samples = 0, most = 0;
    for (std::size_t r = 0; r < ranks_; ++r) most = (std::max)(most, taken(s, r));
    for (auto p : step(s))
      if (p != b_.none) {
        auto const bound = static_cast<std::size_t>(std::ranges::count_if(contents_[p], [&](Index i) { return bound_[i] != 0; }));
        ++packs;
        samples += contents_[p].size() - (bound > 1 ? bound - 1 : 0);
      }
    auto const held = has_shared(s);
    level_ = held ? most : divide_up(packs, ranks_);
    if (!held) spread(s);
    if (packs != level_ * ranks_ && samples >= level_ * ranks_) split_inside(s, false);
    if (packs != level_ * ranks_ && samples < level_ * ranks_ && !held && level_ > 1 && merge(s, packs - (level_ - 1) * ranks_)) {
      --level_;
      spread(s);
    }
    level_ = 0;
  }

  bool mix_;

 private:
  /// Merges packs, lightest first, until there are `count` fewer. Returns whether that was possible; otherwise nothing has changed.
  [[nodiscard]] bool merge(std::size_t s, std::size_t count) {
    struct pack {
      std::int64_t tokens, cost;
      Index number, into;
    };
    std::vector<keyed_item<Index>> lightest_first;
    for (auto p : step(s))
      if (p != b_.none) lightest_first.push_back({-tokens_of(p), p});
    std::sort(lightest_first.begin(), lightest_first.end());
    std::vector<pack> packs;
    for (auto const& [tokens, p] : lightest_first) packs.push_back({-tokens, cost_of(p), p, b_.none});
    std::vector<char> target(packs.size(), 0);
    for (std::size_t from = 0; from < packs.size() && count != 0; ++from) {
      if (target[from] != 0) continue;
      auto best = packs.size();
      for (std::size_t to = 0; to < packs.size(); ++to)
        if (to != from && packs[to].into == b_.none && packs[to].tokens + packs[from].tokens <= o_.capacity &&
            (mix_ || from_one_pack(packs[to].number, packs[from].number)) && (best == packs.size() || packs[to].cost < packs[best].cost))
          best = to;
      if (best == packs.size()) continue;
      packs[from].into = packs[best].number;
      packs[best].tokens += packs[from].tokens;
      packs[best].cost += packs[from].cost;
      target[best] = 1;
      --count;
    }
    if (count != 0) return false;
    for (auto& p : step(s))
      for (auto const& x : packs)
        if (x.number == p && x.into != b_.none) {
          auto const samples = std::exchange(contents_[p], {});
          contents_[x.into].insert(contents_[x.into].end(), samples.begin(), samples.end());
          p = b_.none;
          break;
        }
    return true;
  }
  /// Whether the samples of two packs were in one pack before packs were split.
  [[nodiscard]] bool from_one_pack(Index a, Index b) {
    if (origin_.empty()) {
      origin_.resize(items_.size());
      for (std::size_t p = 0; p < b_.packs.size(); ++p)
        for (auto i : b_.packs[p]) origin_[i] = static_cast<Index>(p);
    }
    auto const first = origin_[contents_[a].front()];
    auto const same = [&](Index i) { return origin_[i] == first; };
    return std::ranges::all_of(contents_[a], same) && std::ranges::all_of(contents_[b], same);
  }

  std::vector<Index> origin_;  ///< for each sample: its pack before packs were split
};

}  // namespace ballast::inline v0_2::detail
