// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/classes.hpp>
#include <ballast/core/random.hpp>
#include <ballast/core/search_watch.hpp>
#include <ballast/packing/detail/pooled_memory.hpp>
#include <ballast/packing/detail/search/knapsack.hpp>
#include <ballast/packing/detail/search/pair_concentration.hpp>
#include <ballast/packing/detail/search/tuning.hpp>
#include <ballast/patterns/cutting_stock.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

namespace ballast::inline v0_2::detail {

/// Saves a pack among a few dozen: a block of packs that waste most is packed exactly into one pack fewer. If that is impossible, the
/// linear program of the block says what lengths are worth to it, and packs that are worth least join the block.
template <class = when_called>
class grown_block {
 public:
  grown_block(histogram const& lengths, std::int64_t capacity, pooled_vector<std::int64_t> const& worths, std::uint64_t seed,
              search_budget& budget, search_tuning const& tuning)
      : lengths_(lengths), capacity_(capacity), worths_(worths), generator_(seed), budget_(budget), tuning_(tuning) {}

  /// One block, until the work is `end`. Returns whether it saved a pack.
  [[nodiscard]] bool step(loose_packs& packs, std::uint64_t end) {
    begin(packs);
    pack_patterns start;
    while (chosen_.size() > 1 && budget_.allows(end)) {
      set_part(packs);
      auto const found =
          solve_stock(part_, {.capacity = capacity_, .packs = chosen_.size() - 1, .reduce = false, .most_rows = tuning_.most_rows}, budget_,
                      end, as_start(start));
      if (found.status == status::feasible) {
        replace(packs, found.patterns);
        return true;
      }
      if (found.status == status::unknown || samples_ > tuning_.most_block) return false;
      start = in_classes(found.basis);
      if (!grow(packs, found, start)) return false;
    }
    return false;
  }

 private:
  void choose(loose_packs const& packs, std::size_t p) {
    inside_[p] = 1;
    chosen_.push_back(p);
    samples_ += packs[p].size();
  }
  // The packs that waste most, each with a random factor, which together lack more than a pack.
  void begin(loose_packs const& packs) {
    chosen_.clear();
    samples_ = 0;
    inside_.assign(packs.size(), 0);
    ranked_.resize(packs.size());
    auto const missing = [&](std::size_t p) {
      auto left = std::int64_t{value_one};
      for (auto const c : packs[p]) left -= worths_[c];
      return left;
    };
    for (std::size_t p = 0; p < packs.size(); ++p)
      ranked_[p] = {-(missing(p) + value_one / 10'000) * static_cast<std::int64_t>(300 + uniform_below(1000, generator_)), p};
    std::sort(ranked_.begin(), ranked_.end());
    budget_.spend(20 * packs.size());
    std::int64_t lack = 0;
    for (auto const& [rank, p] : ranked_) {
      choose(packs, p);
      lack += missing(p);
      if (samples_ >= (lack > value_one ? tuning_.least_block : 4 * tuning_.least_block)) break;
    }
  }
  // The samples of the block, and of_: the class of each of its lengths.
  void set_part(loose_packs const& packs) {
    pooled_vector<std::uint32_t> all;
    for (auto const p : chosen_) all.insert(all.end(), packs[p].begin(), packs[p].end());
    std::sort(all.begin(), all.end());
    part_.clear();
    of_.clear();
    for (auto const c : all) {
      if (of_.empty() || of_.back() != c) of_.push_back(c);
      part_.append(lengths_.lengths[c], 1);
    }
  }
  [[nodiscard]] pack_patterns in_classes(pack_patterns patterns) const {
    for (auto& item : patterns.items) item.item_class = of_[item.item_class];
    return patterns;
  }
  [[nodiscard]] pack_patterns as_start(pack_patterns patterns) const {
    for (auto& item : patterns.items)
      item.item_class = static_cast<std::uint32_t>(std::lower_bound(of_.begin(), of_.end(), item.item_class) - of_.begin());
    return patterns;
  }

  // Adds the packs that are worth least to the program of the block, until its values no longer prove that it is impossible, and tells the
  // next program of them. False if there are too few of them.
  [[nodiscard]] bool grow(loose_packs const& packs, cutting_stock const& found, pack_patterns& start) {
    auto const value_of_pack = set_values(found);
    auto const worth = [&](std::size_t p) {
      return std::accumulate(packs[p].begin(), packs[p].end(), std::int64_t{0}, [&](auto sum, auto c) { return sum + value_[c]; });
    };
    auto missing = value_of_pack;
    for (auto const p : chosen_) missing += worth(p) - value_of_pack;
    ranked_.clear();
    for (std::size_t p = 0; p < packs.size(); ++p)
      if (inside_[p] == 0)
        ranked_.emplace_back(
            worth(p) + static_cast<std::int64_t>(uniform_below(static_cast<std::uint64_t>(value_of_pack / 50 + 1), generator_)), p);
    std::sort(ranked_.begin(), ranked_.end());
    budget_.spend(20 * packs.size() + value_.size());
    auto const wanted = samples_ + (std::max)(tuning_.least_block / 2, samples_ / 4);
    pooled_vector<pattern_item> scratch;
    for (auto const& [rank, p] : ranked_) {
      auto const lack = value_of_pack - worth(p);
      if (samples_ >= wanted && (missing <= 0 || lack <= 0)) break;
      choose(packs, p);
      missing -= lack;
      auto pack = packs[p];
      std::sort(pack.begin(), pack.end());
      push_classes(start, pack, 1, scratch);
    }
    return missing <= 0;
  }
  // The values of all lengths: between two lengths of the block they are linear. If volume alone made the block impossible, they are the
  // lengths. Returns the value of a pack.
  std::int64_t set_values(cutting_stock const& found) {
    value_.assign(lengths_.lengths.begin(), lengths_.lengths.end());
    if (found.values.empty()) return capacity_;
    std::size_t above = 0;
    for (std::size_t c = 0; c < value_.size(); ++c) {
      while (above < of_.size() && of_[above] < c) ++above;
      auto const low = above == 0 ? 0 : part_.lengths[above - 1];
      auto const low_value = above == 0 ? 0 : std::int64_t{found.values[above - 1]};
      value_[c] = above == of_.size()
                      ? low_value
                      : low_value + (found.values[above] - low_value) * (lengths_.lengths[c] - low) / (part_.lengths[above] - low);
    }
    return found.value_of_pack;
  }
  void replace(loose_packs& packs, pack_patterns const& found) {
    std::sort(chosen_.begin(), chosen_.end());
    std::size_t next = 0;
    for (std::size_t p = 0; p < found.size(); ++p)
      for (std::uint64_t k = 0; k < found.repeats[p]; ++k) {
        auto& pack = packs[chosen_[next++]];
        pack.clear();
        for (auto const& [c, copies] : found[p]) pack.insert(pack.end(), copies, of_[c]);
        std::sort(pack.begin(), pack.end(), [](auto a, auto b) { return a > b; });
      }
    for (auto i = chosen_.size(); i-- > next;) packs.erase(packs.begin() + static_cast<std::ptrdiff_t>(chosen_[i]));
  }

  histogram const& lengths_;
  std::int64_t capacity_;
  pooled_vector<std::int64_t> const& worths_;
  splitmix64 generator_;
  search_budget& budget_;
  search_tuning const& tuning_;
  histogram part_;
  pooled_vector<std::uint32_t> of_;
  pooled_vector<std::size_t> chosen_;
  pooled_vector<char> inside_;
  pooled_vector<std::pair<std::int64_t, std::size_t>> ranked_;
  pooled_vector<std::int64_t> value_;
  std::size_t samples_ = 0;
};

}  // namespace ballast::inline v0_2::detail
