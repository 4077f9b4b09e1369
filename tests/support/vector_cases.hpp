// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/core/random.hpp>
#include <ballast/packing/vector/capacities.hpp>
#include <ballast/packing/vector/measures.hpp>
#include <ballast/patterns/patterns.hpp>

#include "support/lengths.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace ballast_test {

/// Samples of several measures that own their columns, and capacities that every sample fits.
struct vector_case {
  std::vector<std::vector<std::int64_t>> columns;
  std::vector<std::int64_t> capacity;

  [[nodiscard]] std::size_t size() const { return columns[0].size(); }
  [[nodiscard]] std::size_t measures() const { return columns.size(); }
  [[nodiscard]] ballast::sample_measures samples() const {
    return ballast::sample_measures(std::vector<std::span<std::int64_t const>>(columns.begin(), columns.end()));
  }
  [[nodiscard]] ballast::measure_classes classes() const { return ballast::classify(samples()).classes; }
};

/// Samples in one of several shapes: anything; few kinds; tiles and tokens that rise with them; measures of which many are 0; large ones.
inline vector_case random_vector_case(std::size_t count, std::size_t measures, ballast::splitmix64& draw) {
  vector_case out;
  out.columns.assign(measures, std::vector<std::int64_t>(count));
  auto const shape = draw() % 5;
  for (std::size_t m = 0; m < measures; ++m) {
    std::int64_t const capacities[] = {between(1, 12, draw), between(20, 200, draw), between(1000, 9000, draw)};
    out.capacity.push_back(capacities[draw() % 3]);
  }
  auto const kinds = 1 + draw() % 4;
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t m = 0; m < measures; ++m) {
      auto const c = out.capacity[m];
      auto& v = out.columns[m][i];
      if (shape == 1 && i >= kinds)
        v = out.columns[m][i % kinds];
      else if (shape == 2 && m > 0)
        v = (std::min)(c, out.columns[0][i] * c / (2 * out.capacity[0]) + between(1, c / 8 + 1, draw));
      else if (shape == 3 && draw() % 2 == 0)
        v = 0;
      else
        v = between(shape == 4 ? c / 3 : 0, shape == 4 ? c : (c + 1) / 2, draw);
    }
    bool nothing = true;
    for (auto const& column : out.columns) nothing = nothing && column[i] == 0;
    if (nothing) out.columns[0][i] = 1;
  }
  return out;
}

/// The fixed input of the golden hashes: tiles, and tokens that rise with them.
inline vector_case golden_vector_case() {
  ballast::splitmix64 draw(2026);
  vector_case out{{{}, {}}, {9, 4096}};
  for (int i = 0; i < 5000; ++i) {
    std::int64_t const kinds[] = {1, 1, 1, 3, 4, 5};
    out.columns[0].push_back(kinds[draw() % 6]);
    auto const most = draw() % 8 == 0 ? 1500 : 300;
    out.columns[1].push_back(256 * out.columns[0].back() + between(1, most, draw));
  }
  return out;
}

/// The fewest packs for a handful of samples of several measures, by trying every way to share packs.
class fewest_vector_packs {
 public:
  explicit fewest_vector_packs(vector_case const& c, std::uint64_t max_samples = 0) : case_(c), most_(max_samples), best_(c.size()) {
    place(0);
  }
  [[nodiscard]] std::int64_t value() const { return static_cast<std::int64_t>(best_); }

 private:
  struct open_pack {
    std::vector<std::int64_t> room;
    std::uint64_t samples;
  };
  void place(std::size_t i) {
    if (packs_.size() >= best_) return;
    if (i == case_.size()) {
      best_ = packs_.size();
      return;
    }
    auto const put = [&](std::size_t g, std::int64_t sign) {
      for (std::size_t m = 0; m < case_.measures(); ++m) packs_[g].room[m] -= sign * case_.columns[m][i];
      packs_[g].samples += static_cast<std::uint64_t>(sign);
    };
    for (std::size_t g = 0; g < packs_.size(); ++g) {
      bool fits = most_ == 0 || packs_[g].samples < most_;
      for (std::size_t m = 0; m < case_.measures(); ++m) fits = fits && case_.columns[m][i] <= packs_[g].room[m];
      if (!fits) continue;
      put(g, 1);
      place(i + 1);
      put(g, -1);
    }
    packs_.push_back({case_.capacity, 0});
    put(packs_.size() - 1, 1);
    place(i + 1);
    packs_.pop_back();
  }
  vector_case const& case_;
  std::uint64_t most_;
  std::size_t best_;
  std::vector<open_pack> packs_;
};

/// What is wrong with patterns of these classes, in a word; empty if nothing is.
inline char const* fault_of(ballast::pack_patterns const& patterns, ballast::measure_classes const& classes,
                            std::span<std::int64_t const> capacity) {
  if (patterns.offsets.size() != patterns.size() + 1 || patterns.offsets.back() != patterns.items.size()) return "offsets";
  std::vector<std::uint64_t> placed(classes.size(), 0);
  for (std::size_t p = 0; p < patterns.size(); ++p) {
    if (patterns.repeats[p] == 0 || patterns[p].empty()) return "empty";
    std::vector<std::int64_t> load(classes.measures, 0);
    std::vector<std::uint32_t> seen;
    for (auto const& [c, copies] : patterns[p]) {
      if (copies == 0) return "no copies";
      if (std::find(seen.begin(), seen.end(), c) != seen.end()) return "class twice";
      seen.push_back(c);
      placed[c] += copies * patterns.repeats[p];
      for (std::size_t m = 0; m < load.size(); ++m) load[m] += classes[c][m] * std::int64_t{copies};
    }
    for (std::size_t m = 0; m < load.size(); ++m)
      if (load[m] > capacity[m]) return "overfull";
  }
  return placed == classes.counts ? "" : "counts";
}

}  // namespace ballast_test
