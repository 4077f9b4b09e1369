// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ballast/balance/detail/pair_bound.hpp>
#include <ballast/balance/phases.hpp>
#include <ballast/core/math.hpp>
#include <ballast/core/sort.hpp>
#include <ballast/core/version.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

// The micro-batches of ranks that wait for each other after both phases of each micro-batch, improved by moves and exchanges.

namespace ballast::inline v0_2::detail {

/// Where a sample is: its rank, and its micro-batch in each phase.
struct deferred_place {
  std::uint32_t rank = 0;
  std::array<std::uint32_t, 2> slot{};
  friend bool operator==(deferred_place const&, deferred_place const&) = default;
};

/// What is placed: times and sizes of each sample in both phases.
struct deferred_items {
  std::array<std::vector<std::int64_t>, 2> cost{}, size{};
  std::array<std::int64_t, 2> capacity{};  // 0 = no limit
  std::size_t ranks = 1, micro_batches = 1;
  std::array<std::int64_t, 2> all_sizes{};
  [[nodiscard]] std::size_t count() const { return cost[0].size(); }
  [[nodiscard]] std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> all(count());
    std::iota(all.begin(), all.end(), std::uint32_t{0});
    return all;
  }
  /// The times of a sample by its number.
  [[nodiscard]] auto costs() const {
    return [this](std::int64_t i) { return std::array{cost[0][static_cast<std::size_t>(i)], cost[1][static_cast<std::size_t>(i)]}; };
  }
  /// The micro-batches that a rank needs at least, all without a capacity; more than any number if a sample has no room.
  /// @pre there are samples
  [[nodiscard]] std::size_t fewest_rows() const {
    auto rows = capacity[0] > 0 || capacity[1] > 0 ? std::size_t{1} : micro_batches;
    for (std::size_t p = 0; p < 2; ++p) {
      if (capacity[p] == 0) continue;
      if (*std::max_element(size[p].begin(), size[p].end()) > capacity[p]) return (std::numeric_limits<std::size_t>::max)();
      rows = (std::max)(rows, divide_up(static_cast<std::size_t>(divide_up(all_sizes[p], capacity[p])), ranks));
    }
    return rows;
  }
  /// A lower bound on the time of every plan.
  [[nodiscard]] std::int64_t bound() const {
    std::vector<std::int64_t> flat(2 * count());
    for (std::size_t i = 0; i < flat.size(); ++i) flat[i] = cost[i % 2][i / 2];
    auto const first = phase_bound(cost[0], 1, ranks), second = phase_bound(cost[1], 1, ranks);
    return (std::max)({phase_bound(flat, 2, ranks), pair_bound(cost[0], cost[1], ranks).lower(first, second),
                       pair_bound(cost[1], cost[0], ranks).lower(second, first)});
  }
};

class deferral_search {
 public:
  using places = std::vector<deferred_place>;

  deferral_search(deferred_items const& items, std::int64_t work) : of_(&items), work_(work) {}

  places at{};            ///< of each sample
  std::int64_t time = 0;  ///< sum over micro-batches and phases of the slowest rank

  /// Takes a plan over. Returns whether it keeps to the capacities.
  bool start(places from) {
    at = std::move(from);
    time = 0;
    for (std::size_t p = 0; p < 2; ++p) {
      load_[p].assign(of_->micro_batches * of_->ranks, 0);
      held_[p] = load_[p];
      peaks_[p].assign(of_->micro_batches, {});
    }
    auto fits = true;
    for (std::size_t i = 0; i < at.size(); ++i) add(i, 1);
    for (std::size_t p = 0; p < 2; ++p) {
      for (std::uint32_t m = 0; m < of_->micro_batches; ++m) {
        rank_loads(p, m);
        time += peaks_[p][m][0].load;
      }
      if (of_->capacity[p] > 0) fits = fits && *std::max_element(held_[p].begin(), held_[p].end()) <= of_->capacity[p];
    }
    return fits;
  }
  /// Moves and exchanges samples of the slowest ranks until none of these saves time. `defers`: each phase by itself, too.
  void improve(bool defers) {
    for (auto better = true; better && work_ > 0;) {
      better = false;
      for (std::size_t p = 0; p < 2; ++p)
        for (std::uint32_t m = 0; m < of_->micro_batches; ++m) better = relieve(p, m, defers) || better;
    }
  }

 private:
  [[nodiscard]] std::size_t cell(std::uint32_t rank, std::uint32_t slot) const { return slot * of_->ranks + rank; }
  void add(std::size_t i, std::int64_t sign) {
    for (std::size_t p = 0; p < 2; ++p) {
      auto const c = cell(at[i].rank, at[i].slot[p]);
      load_[p][c] += sign * of_->cost[p][i];
      held_[p][c] += sign * of_->size[p][i];
    }
  }
  struct rank_load {
    std::int64_t load = -1;
    std::uint32_t rank = 0;
  };
  /// Finds the three slowest ranks of a micro-batch.
  void rank_loads(std::size_t p, std::uint32_t m) {
    work_ -= static_cast<std::int64_t>(of_->ranks);
    auto& top = peaks_[p][m];
    top = {};
    for (std::uint32_t r = 0; r < of_->ranks; ++r) {
      rank_load next{load_[p][cell(r, m)], r};
      for (auto& known : top)
        if (next.load > known.load) std::swap(next, known);
    }
  }
  /// The load of the slowest rank if only those of two ranks have changed since.
  [[nodiscard]] std::int64_t slowest(std::size_t p, std::uint32_t m, std::uint32_t a, std::uint32_t b) {
    --work_;
    auto most = (std::max)(load_[p][cell(a, m)], load_[p][cell(b, m)]);
    for (auto const& known : peaks_[p][m])
      if (known.rank != a && known.rank != b) return (std::max)(most, known.load);
    return most;
  }
  [[nodiscard]] bool full(deferred_place const& to) const {
    for (std::size_t p = 0; p < 2; ++p)
      if (of_->capacity[p] > 0 && held_[p][cell(to.rank, to.slot[p])] > of_->capacity[p]) return true;
    return false;
  }
  /// Puts samples elsewhere if that saves time; `j == i` moves one.
  bool put(std::size_t i, deferred_place to, std::size_t j, deferred_place other) {
    if (to.slot[0] > to.slot[1] || other.slot[0] > other.slot[1]) return false;
    auto const was = std::array{at[i], at[j]};
    auto const set = [&](deferred_place const& a, deferred_place const& b) {
      add(i, -1);
      if (j != i) add(j, -1);
      at[i] = a;
      if (j != i) at[j] = b;
      add(i, 1);
      if (j != i) add(j, 1);
    };
    if (to == was[0] && other == was[1]) return false;
    set(to, other);
    if (!full(to) && !full(other)) {
      std::int64_t saved = 0;
      auto const a = was[0].rank, b = to.rank != a ? to.rank : was[1].rank;  // no others change
      std::array<std::array<std::uint32_t, 4>, 2> slots;
      for (std::size_t p = 0; p < 2; ++p) {
        slots[p] = {was[0].slot[p], was[1].slot[p], to.slot[p], other.slot[p]};
        std::sort(slots[p].begin(), slots[p].end());
        for (std::size_t k = 0; k < 4; ++k)
          if (k == 0 || slots[p][k] != slots[p][k - 1]) saved += peaks_[p][slots[p][k]][0].load - slowest(p, slots[p][k], a, b);
      }
      if (saved > 0) {
        time -= saved;
        for (std::size_t p = 0; p < 2; ++p)
          for (auto const m : slots[p]) rank_loads(p, m);
        return true;
      }
    }
    set(was[0], was[1]);
    return false;
  }
  /// Takes work from the slowest rank of a micro-batch of a phase. Returns whether time is saved.
  bool relieve(std::size_t p, std::uint32_t m, bool defers) {
    auto const r = peaks_[p][m][0].rank;
    auto better = false;
    for (std::size_t i = 0; i < at.size() && work_ > 0; ++i)
      if (at[i].rank == r && at[i].slot[p] == m && of_->cost[p][i] > 0) better = move(i, p, defers) || exchange(i, p, defers) || better;
    return better;
  }
  bool move(std::size_t i, std::size_t p, bool defers) {
    auto const here = at[i];
    for (std::uint32_t m = 0; defers && m < of_->micro_batches; ++m) {
      auto to = here;
      to.slot[p] = m;
      if (put(i, to, i, to)) return true;
    }
    for (std::uint32_t r = 0; r < of_->ranks && work_ > 0; ++r) {
      deferred_place to{.rank = r, .slot = here.slot};
      if (put(i, to, i, to)) return true;
      for (std::uint32_t m = 0; m < of_->micro_batches; ++m) {
        to.slot = {m, m};
        if (put(i, to, i, to)) return true;
      }
    }
    return false;
  }
  /// With a sample of another place in this phase: the places, the micro-batches of this phase, or the ranks.
  bool exchange(std::size_t i, std::size_t p, bool defers) {
    auto const here = at[i];
    for (std::size_t j = 0; j < at.size() && work_ > 0; ++j) {
      auto const there = at[j];
      if (there.rank == here.rank && there.slot[p] == here.slot[p]) continue;
      if (put(i, there, j, here)) return true;
      if (!defers) continue;
      auto to = here, back = there;
      if (there.rank == here.rank)
        std::swap(to.slot[p], back.slot[p]);
      else
        std::swap(to.rank, back.rank);
      if (put(i, to, j, back)) return true;
    }
    return false;
  }

  deferred_items const* of_;
  std::int64_t work_;
  std::array<std::vector<std::int64_t>, 2> load_{}, held_{};      // of each rank in each micro-batch
  std::array<std::vector<std::array<rank_load, 3>>, 2> peaks_{};  // the slowest ranks of each micro-batch
};

}  // namespace ballast::inline v0_2::detail
