// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/length_rest.hpp>
#include <ballast/packing/detail/search/pair_concentration.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Ruin and recreate: packs the samples of packs that waste most value under the dual values, and of some others, by a small dive.
template <class = when_called>
class ruin_recreate {
 public:
  ruin_recreate(histogram const& lengths, std::int64_t capacity, pooled_vector<std::int64_t> natural_borders,
                pooled_vector<std::int64_t> const& worths, std::uint64_t seed, search_budget& budget, search_tuning const& tuning)
      : lengths_(lengths),
        worths_(worths),
        generator_(seed),
        budget_(budget),
        tuning_(tuning),
        shape_{part_, capacity},
        dive_(length_rest<>(shape_), std::move(natural_borders), budget) {}
  ruin_recreate(ruin_recreate const&) = delete;  // it refers to its own part
  ruin_recreate& operator=(ruin_recreate const&) = delete;

  /// Makes one trial: there are fewer packs afterwards, or as many with a poorer pack among them, or the packs are unchanged. `scale`
  /// multiplies the number of packs that are dissolved.
  void step(loose_packs& packs, std::size_t scale = 1) {
    auto const worst = scale * static_cast<std::size_t>(tuning_.worst_packs + uniform_below(tuning_.more_worst, generator_));
    auto const others = scale * static_cast<std::size_t>(tuning_.other_packs + uniform_below(tuning_.more_others, generator_));
    choose(packs, worst, others);
    pooled_vector<std::uint32_t> of, all;
    part_.clear();
    for (auto const p : chosen_) all.insert(all.end(), packs[p].begin(), packs[p].end());
    std::sort(all.begin(), all.end());
    for (auto const c : all) {
      if (of.empty() || of.back() != c) {
        of.push_back(c);
        part_.lengths.push_back(lengths_.lengths[c]);
        part_.counts.push_back(0);
      }
      ++part_.counts.back();
    }
    dive_.restart();
    auto const seed = generator_();
    auto const anew =
        loosen(dive_.run(part_.counts, {.bands = scale == 1 ? tuning_.ruin_bands : tuning_.large_ruin_bands, .seed = seed}), of);
    budget_.spend(20 * all.size() + packs.size());
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
  [[nodiscard]] std::int64_t worth(pooled_vector<std::uint32_t> const& pack) const {
    std::int64_t sum = 0;
    for (auto const c : pack) sum += worths_[c];
    return sum;
  }
  [[nodiscard]] static loose_packs loosen(pooled_patterns const& patterns, pooled_vector<std::uint32_t> const& of) {
    loose_packs out;
    for (std::size_t p = 0; p < patterns.size(); ++p) {
      pooled_vector<std::uint32_t> pack;
      for (auto const& [c, copies] : patterns[p]) pack.insert(pack.end(), copies, of[c]);
      out.insert(out.end(), static_cast<std::size_t>(patterns.repeats[p]), pack);
    }
    return out;
  }

  // Chooses packs that waste much, each with a random factor, then any packs.
  void choose(loose_packs const& packs, std::size_t worst, std::size_t others) {
    pooled_vector<std::pair<std::int64_t, std::size_t>> ranked(packs.size());
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
  pooled_vector<std::int64_t> const& worths_;
  splitmix64 generator_;
  search_budget& budget_;
  search_tuning const& tuning_;
  histogram part_;  // the samples that are packed again
  length_shape shape_;
  length_dive dive_;
  pooled_vector<std::size_t> chosen_;
};

}  // namespace ballast::inline v0_2::detail
