// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/search/length_rest.hpp>
#include <ballast/packing/detail/search/pair_concentration.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace ballast::inline v0_2::detail {

/// Packs that waste most of what the duals say a pack can be worth are taken apart, with some others, and packed anew by a small dive.
class ruin_recreate {
 public:
  ruin_recreate(histogram const& lengths, std::int64_t capacity, std::vector<std::int64_t> natural_borders,
                std::vector<std::int64_t> const& worths, std::uint64_t seed)
      : lengths_(lengths), capacity_(capacity), natural_(std::move(natural_borders)), worths_(worths), generator_(seed) {}

  /// One trial: the packs get fewer, or as many with a poorer one among them, or stay as they are.
  /// With a `scale`, that many times as many packs are taken apart.
  void step(loose_packs& packs, search_budget& budget, std::size_t scale = 1) {
    auto const worst = scale * static_cast<std::size_t>(10 + uniform_below(11, generator_));
    auto const others = scale * static_cast<std::size_t>(15 + uniform_below(61, generator_));
    choose(packs, worst, others);
    histogram part;
    std::vector<std::uint32_t> of, all;
    for (auto const p : chosen_) all.insert(all.end(), packs[p].begin(), packs[p].end());
    std::sort(all.begin(), all.end());
    for (auto const c : all) {
      if (of.empty() || of.back() != c) {
        of.push_back(c);
        part.lengths.push_back(lengths_.lengths[c]);
        part.counts.push_back(0);
      }
      ++part.counts.back();
    }
    length_shape const shape{part, capacity_};
    length_dive dive(length_rest(shape), natural_, budget);
    auto const seed = generator_();
    auto const anew = loosen(dive.run(part.counts, {.groups = scale == 1 ? std::size_t{12} : std::size_t{96}, .seed = seed}), of);
    budget.spend(20 * all.size() + packs.size());
    auto poorest_before = worth(packs[chosen_.front()]), poorest = poorest_before;
    for (auto const p : chosen_) poorest_before = (std::min)(poorest_before, worth(packs[p]));
    poorest = anew.empty() ? 0 : worth(anew.front());
    for (auto const& pack : anew) poorest = (std::min)(poorest, worth(pack));
    if (anew.size() > chosen_.size() || (anew.size() == chosen_.size() && poorest >= poorest_before)) return;
    std::sort(chosen_.begin(), chosen_.end());
    for (std::size_t i = 0; i < anew.size(); ++i) packs[chosen_[i]] = anew[i];
    for (auto i = chosen_.size(); i-- > anew.size();) packs.erase(packs.begin() + static_cast<std::ptrdiff_t>(chosen_[i]));
  }

 private:
  [[nodiscard]] std::int64_t worth(std::vector<std::uint32_t> const& pack) const {
    std::int64_t sum = 0;
    for (auto const c : pack) sum += worths_[c];
    return sum;
  }
  [[nodiscard]] static loose_packs loosen(pack_patterns const& patterns, std::vector<std::uint32_t> const& of) {
    loose_packs out;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      std::vector<std::uint32_t> pack;
      for (auto const& [c, copies] : patterns[p]) pack.insert(pack.end(), copies, of[c]);
      out.insert(out.end(), static_cast<std::size_t>(patterns.repeats[p]), pack);
    }
    return out;
  }

  // Packs of which much is missing, each by a random share of it, then any.
  void choose(loose_packs const& packs, std::size_t worst, std::size_t others) {
    std::vector<std::pair<std::int64_t, std::size_t>> ranked(packs.size());
    for (std::size_t p = 0; p < packs.size(); ++p) {
      auto const missing = (std::max)(value_one + value_one / 1000 - worth(packs[p]), std::int64_t{1});
      ranked[p] = {-missing * static_cast<std::int64_t>(uniform_below(1024, generator_)), p};
    }
    auto const wanted = (std::min)(worst, ranked.size());
    std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(wanted), ranked.end());
    chosen_.clear();
    for (std::size_t i = 0; i < wanted; ++i) chosen_.push_back(ranked[i].second);
    auto const more = (std::min)(others, ranked.size() - wanted);
    for (std::size_t i = 0; i < more; ++i) {
      auto const left = ranked.size() - wanted - i;
      std::swap(ranked[wanted + i], ranked[wanted + i + static_cast<std::size_t>(uniform_below(left, generator_))]);
      chosen_.push_back(ranked[wanted + i].second);
    }
  }

  histogram const& lengths_;
  std::int64_t capacity_;
  std::vector<std::int64_t> natural_;
  std::vector<std::int64_t> const& worths_;
  splitmix64 generator_;
  std::vector<std::size_t> chosen_;
};

}  // namespace ballast::inline v0_2::detail
